// A Core ML network as an ONNX graph that computes what Apple documents of its layers (coremltools, mlmodel/format): for comparisons
// where Apple's runtime is not. Weights are expanded to float32, and all values are float32, as they are in a network.
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { decodeElements } from '../../tensors/elements.ts'
import { type GraphBuilder, graphBuilder } from '../onnx/graph-builder.ts'
import {
  type Attribute,
  elementCount,
  float,
  int,
  ints,
  numberOfElementType,
  type OnnxModel,
  text,
} from '../onnx/model.ts'
import { tensorOf } from '../onnx/tensors.ts'
import { decodeMessage } from '../protobuf/message.ts'
import { coremlModel, type Message } from './schema.ts'

/** What outputs of the ONNX model are, for users. */
export const COREML_COMPUTED =
  "computed by onnxruntime from the layers as Apple documents them; Apple's runtime not involved"

type Attributes = Readonly<Record<string, Attribute>>

/** A layer to be written as nodes: its parameters, and the values that it takes. */
interface Layer {
  readonly p: Message
  readonly x: string
  readonly inputs: readonly string[]
  /** As the file has them; empty where it does not. */
  readonly ranks: readonly number[]
  readonly outputs: number
  /** A node with one output. */
  op(type: string, inputs: readonly string[], attributes?: Attributes): string
  /** A node with several. */
  ops(type: string, inputs: readonly string[], count: number, attributes?: Attributes): string[]
  f32(values: ArrayLike<number>, shape: readonly number[]): string
  i64(values: readonly number[]): string
}

type Rule = (layer: Layer) => string | readonly string[]

const list = (value: unknown): number[] => ((value ?? []) as readonly unknown[]).map(Number)
const part = (value: unknown): Message => (value ?? {}) as Message
const num = (value: unknown, absent = 0): number => Number(value ?? absent)

/** Numbers from the highest bits of each byte on. */
const unpack = (bytes: Uint8Array, bits: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, at) => {
    const first = at * bits
    const word = (bytes[first >> 3]! << 8) | (bytes[(first >> 3) + 1] ?? 0)
    return (word >> (16 - bits - (first & 7))) & (2 ** bits - 1)
  })

const numbersOf = (value: unknown, count: number): Float32Array => {
  const { floatValue, float16Value, rawValue, quantization } = part(value)
  const fitting = (numbers: Float32Array): Float32Array => {
    if (numbers.length === count) return numbers
    throw badRequest(`it has ${numbers.length} weights, and its sizes take ${count}`)
  }
  if (floatValue !== undefined) return fitting(decodeElements(floatValue as Uint8Array, 'f32') as Float32Array)
  if (float16Value !== undefined) return fitting(decodeElements(float16Value as Uint8Array, 'f16') as Float32Array)
  const { numberOfBits, linearQuantization, lookupTableQuantization } = part(quantization)
  const bits = num(numberOfBits)
  const raw = rawValue as Uint8Array | undefined
  if (raw === undefined || bits < 1 || bits > 8 || raw.length !== Math.ceil((count * bits) / 8)) {
    throw badRequest('its weights are of a kind that is not read here')
  }
  const numbers = unpack(raw, bits, count)
  const table = list(part(lookupTableQuantization).floatValue)
  if (table.length > 0) return numbers.map((index) => table[index] ?? Number.NaN)
  const { scale, bias } = part(linearQuantization)
  const [scales, biases] = [list(scale), list(bias)]
  const row = count / scales.length
  return numbers.map((value, at) => value * scales[Math.floor(at / row)]! + num(biases[Math.floor(at / row)]))
}

const weight = (layer: Layer, value: unknown, shape: readonly number[]): string =>
  layer.f32(numbersOf(value, elementCount(shape)), shape)

const scalar = (layer: Layer, value: number): string => layer.f32([value], [])
const bool = ({ op }: Layer, value: string): string => op('Cast', [value], { to: int(numberOfElementType('bool')) })
const real = ({ op }: Layer, value: string): string => op('Cast', [value], { to: int(numberOfElementType('f32')) })
const index = ({ op }: Layer, value: string): string => op('Cast', [value], { to: int(numberOfElementType('i64')) })

const node =
  (type: string, attributes: (p: Message) => Attributes = () => ({})): Rule =>
  ({ op, inputs, p }) =>
    op(type, inputs, attributes(p))
const compared =
  (type: string): Rule =>
  (layer) =>
    real(layer, layer.op(type, layer.inputs))
const logical =
  (type: string): Rule =>
  (layer) =>
    real(
      layer,
      layer.op(
        type,
        layer.inputs.map((value) => bool(layer, value)),
      ),
    )
const axisOf = ({ axis }: Message): Attributes => ({ axis: int(num(axis)) })
const nodes = (kinds: string, rule: (type: string) => Rule): Record<string, Rule> =>
  Object.fromEntries(
    kinds
      .split(' ')
      .map((pair) => pair.split(':') as [string, string])
      .map(([kind, type]) => [kind, rule(type)]),
  )

const ACTIVATIONS: Readonly<Record<string, (layer: Layer, q: Message) => string>> = {
  linear: (layer, { alpha, beta }) =>
    layer.op('Add', [layer.op('Mul', [layer.x, scalar(layer, num(alpha))]), scalar(layer, num(beta))]),
  ReLU: ({ op, x }) => op('Relu', [x]),
  leakyReLU: ({ op, x }, { alpha }) => op('LeakyRelu', [x], { alpha: float(num(alpha)) }),
  thresholdedReLU: ({ op, x }, { alpha }) => op('ThresholdedRelu', [x], { alpha: float(num(alpha)) }),
  tanh: ({ op, x }) => op('Tanh', [x]),
  sigmoid: ({ op, x }) => op('Sigmoid', [x]),
  sigmoidHard: ({ op, x }, { alpha, beta }) =>
    op('HardSigmoid', [x], { alpha: float(num(alpha)), beta: float(num(beta)) }),
  ELU: ({ op, x }, { alpha }) => op('Elu', [x], { alpha: float(num(alpha)) }),
  softsign: ({ op, x }) => op('Softsign', [x]),
  softplus: ({ op, x }) => op('Softplus', [x]),
}

const activation: Rule = (layer) => {
  const kind = Object.keys(ACTIVATIONS).find((name) => layer.p[name] !== undefined)
  if (kind === undefined) throw badRequest('its activation is of a type that is not computed here')
  return ACTIVATIONS[kind]!(layer, part(layer.p[kind]))
}

/** UnaryFunctionLayerParams.Operation. */
const UNARY: Readonly<Record<number, string>> = { 0: 'Sqrt', 4: 'Exp', 5: 'Log', 6: 'Abs' }

const unary: Rule = ({ op, x, p }) => {
  const type = UNARY[num(p.type)]
  if (type === undefined) throw badRequest(`its function has the number ${num(p.type)}, which is not computed here`)
  return op(type, [x])
}

/** [[before, after], …] of the last dimensions. */
const bordersOf = (amounts: unknown): number[][] => {
  const { borderAmounts } = part(amounts)
  const given = (borderAmounts ?? []) as readonly Message[]
  return given.map(({ startEdgeSize, endEdgeSize }) => [num(startEdgeSize), num(endEdgeSize)])
}

const padsOf = ({ valid }: Message): Attributes => {
  if (valid === undefined) throw badRequest('its padding is not given in numbers, which is not computed here')
  const borders = bordersOf(part(valid).paddingAmounts)
  return {
    pads: ints(borders.length === 0 ? [0, 0, 0, 0] : [0, 1].flatMap((end) => borders.map((sizes) => sizes[end]!))),
  }
}

const sizesOf = (value: unknown, absent: number): Attribute => {
  const sizes = list(value)
  return ints(sizes.length === 0 ? [absent, absent] : sizes)
}

const convolution: Rule = (layer) => {
  const { p, x, op, inputs } = layer
  if (inputs.length > 1) throw badRequest('its weights are computed, which is not supported here')
  const [outer, inner, group] = [num(p.outputChannels), num(p.kernelChannels), num(p.nGroups, 1) || 1]
  const kernel = list(p.kernelSize)
  const channels = p.isDeconvolution ? [inner, outer / group] : [outer, inner]
  const given = [x, weight(layer, p.weights, [...channels, ...kernel])]
  if (p.hasBias) given.push(weight(layer, p.bias, [outer]))
  return op(p.isDeconvolution ? 'ConvTranspose' : 'Conv', given, {
    kernel_shape: ints(kernel),
    group: int(group),
    strides: sizesOf(p.stride, 1),
    dilations: sizesOf(p.dilationFactor, 1),
    ...padsOf(p),
  })
}

const pooling: Rule = ({ p, x, op, i64 }) => {
  const type = num(p.type)
  if (type > 1) throw badRequest('L2 pools are not computed here')
  if (p.globalPooling) return op(type === 0 ? 'ReduceMax' : 'ReduceMean', [x, i64([-2, -1])], { keepdims: int(1) })
  const attributes = { kernel_shape: sizesOf(p.kernelSize, 3), strides: sizesOf(p.stride, 1), ...padsOf(p) }
  if (type === 0) return op('MaxPool', [x], attributes)
  return op('AveragePool', [x], { ...attributes, count_include_pad: int(p.avgPoolExcludePadding ? 0 : 1) })
}

const withBias = (layer: Layer, product: string, size: number, values: unknown = layer.p.bias): string =>
  layer.p.hasBias ? layer.op('Add', [product, weight(layer, values, [size])]) : product

const product = (layer: Layer, outer: number, inner: number): string => {
  const matrix = layer.op('Transpose', [weight(layer, layer.p.weights, [outer, inner])], { perm: ints([1, 0]) })
  return withBias(layer, layer.op('MatMul', [layer.x, matrix]), outer)
}

const batchedMatmul: Rule = (layer) => {
  const { p, inputs, ranks, op } = layer
  if (inputs.length === 1) return product(layer, num(p.weightMatrixSecondDimension), num(p.weightMatrixFirstDimension))
  const sides = inputs.map((value, at) => {
    if (!(at === 0 ? p.transposeA : p.transposeB)) return value
    const axes = Array.from({ length: ranks[at] ?? 2 }, (_, axis) => axis)
    return op('Transpose', [value], { perm: ints([...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!]) })
  })
  return op('MatMul', sides)
}

const batchnorm: Rule = (layer) => {
  const { p, x, op, f32 } = layer
  const channels = num(p.channels)
  const [gamma, beta] = [p.gamma, p.beta].map((values) => numbersOf(values, channels))
  const epsilon = num(p.epsilon, 1e-5)
  if (p.computeMeanVar && p.instanceNormalization) {
    return op('InstanceNormalization', [x, f32(gamma!, [channels]), f32(beta!, [channels])], {
      epsilon: float(epsilon),
    })
  }
  if (p.computeMeanVar) throw badRequest('it computes the mean of a batch, which is not computed here')
  const [mean, variance] = [p.mean, p.variance].map((values) => numbersOf(values, channels))
  const factors = gamma!.map((value, at) => value / Math.sqrt(variance![at]! + epsilon))
  const offsets = beta!.map((value, at) => value - mean![at]! * factors[at]!)
  return op('Add', [op('Mul', [x, f32(factors, [channels, 1, 1])]), f32(offsets, [channels, 1, 1])])
}

const padding: Rule = (layer) => {
  const { p, x, op, i64 } = layer
  const borders = bordersOf(p.paddingAmounts)
  const mode = p.reflection ? 'reflect' : p.replication ? 'edge' : 'constant'
  const pads = i64([0, 1].flatMap((end) => borders.map((sizes) => sizes[end]!)))
  return op('Pad', [x, pads, scalar(layer, num(part(p.constant).value)), i64([-2, -1])], { mode: text(mode) })
}

const constantPad: Rule = (layer) => {
  const amounts = list(layer.p.padAmounts)
  const pads = [0, 1].flatMap((end) => amounts.filter((_, at) => at % 2 === end))
  return layer.op('Pad', [layer.x, layer.i64(pads), scalar(layer, num(layer.p.value))])
}

const upsample: Rule = ({ p, x, op, f32 }) => {
  const scales = f32([1, 1, ...list(p.scalingFactor)], [4])
  const isNearest = num(p.mode) === 0
  const places = isNearest ? 'asymmetric' : num(p.linearUpsampleMode) === 1 ? 'align_corners' : 'half_pixel'
  return op('Resize', [x, '', scales], {
    mode: text(isNearest ? 'nearest' : 'linear'),
    coordinate_transformation_mode: text(places),
    nearest_mode: text('floor'),
  })
}

const reorganize: Rule = ({ p, x, op }) => {
  const blocksize = int(num(p.blockSize))
  if (num(p.mode) === 0) return op('SpaceToDepth', [x], { blocksize })
  return op('DepthToSpace', [x], { blocksize, mode: text(num(p.mode) === 2 ? 'CRD' : 'DCR') })
}

const gelu: Rule = (layer) => {
  const { p, x, op } = layer
  const times = (value: string, factor: number): string => op('Mul', [value, scalar(layer, factor)])
  const half = (inner: string): string => times(op('Mul', [x, op('Add', [inner, scalar(layer, 1)])]), 0.5)
  if (num(p.mode) === 0) return half(op('Erf', [times(x, Math.SQRT1_2)]))
  if (num(p.mode) === 2) return op('Mul', [x, op('Sigmoid', [times(x, 1.702)])])
  const cube = op('Mul', [op('Mul', [x, x]), x])
  return half(op('Tanh', [times(op('Add', [x, times(cube, 0.044715)]), Math.sqrt(2 / Math.PI))]))
}

const LAST = 2 ** 31 - 1

const sliceStatic: Rule = ({ p, x, op, i64 }) => {
  const strides = list(p.strides)
  const masked = (ids: unknown, masks: unknown, isEnd: boolean): number[] => {
    const isMasked = (masks ?? []) as readonly boolean[]
    return list(ids).map((id, at) => (!isMasked[at] ? id : strides[at]! > 0 === isEnd ? LAST : isEnd ? -LAST : 0))
  }
  const ranges = [masked(p.beginIds, p.beginMasks, false), masked(p.endIds, p.endMasks, true)]
  const cut = op('Slice', [x, ...ranges.map(i64), i64([...strides.keys()]), i64(strides)])
  const squeezed = ((p.squeezeMasks ?? []) as readonly boolean[]).flatMap((is, axis) => (is ? [axis] : []))
  return squeezed.length === 0 ? cut : op('Squeeze', [cut, i64(squeezed)])
}

const embedding: Rule = (layer) => {
  const { p, x, op, f32, i64 } = layer
  const [rows, width] = [num(p.vocabSize), num(p.embeddingSize)]
  const columns = numbersOf(p.weights, rows * width)
  // Stored column by column.
  const table = Float32Array.from(columns, (_, at) => columns[(at % width) * rows + Math.floor(at / width)]!)
  return withBias(layer, op('Gather', [f32(table, [rows, width]), index(layer, op('Squeeze', [x, i64([-1])]))]), width)
}

/** Core ML has the gates in the order input, forget, block, output; ONNX input, output, forget, block. */
const GATES = ['inputGate', 'outputGate', 'forgetGate', 'blockInput']

const lstm: Rule = (layer) => {
  const { p, inputs, op, ops, i64, f32 } = layer
  const [size, units] = [num(p.inputVectorSize), num(p.outputVectorSize)]
  const { sequenceOutput, hasBiasVectors, forgetBias, hasPeepholeVectors, coupledInputAndForgetGate } = part(p.params)
  const names = ((p.activations ?? []) as readonly Message[]).map((each) => Object.keys(each).join())
  if (hasPeepholeVectors || coupledInputAndForgetGate || forgetBias || names.join() !== 'sigmoid,tanh,tanh') {
    throw badRequest('LSTM with peepholes, coupled gates, or others than sigmoid, tanh, tanh is not computed here')
  }
  const matrices = part(p.weightParams)
  const joined = (ending: string, shape: readonly number[]): Float32Array => {
    const parts = GATES.map((gate) => numbersOf(matrices[`${gate}${ending}`], elementCount(shape)))
    return Float32Array.from(parts.flatMap((numbers) => [...numbers]))
  }
  const bias = new Float32Array(8 * units)
  if (hasBiasVectors) bias.set(joined('BiasVector', [units]))
  const flat = inputs.map((value) => op('Squeeze', [value, i64([3, 4])]))
  const weights = [
    f32(joined('WeightMatrix', [units, size]), [1, 4 * units, size]),
    f32(joined('RecursionMatrix', [units, units]), [1, 4 * units, units]),
    f32(bias, [1, 8 * units]),
  ]
  const [all, hidden, cell] = ops('LSTM', [flat[0]!, ...weights, '', ...flat.slice(1)], 3, {
    hidden_size: int(units),
    direction: text(p.reverseInput ? 'reverse' : 'forward'),
  })
  const sequence = sequenceOutput ? op('Squeeze', [all!, i64([1])]) : hidden!
  return [sequence, hidden!, cell!].map((value) => op('Unsqueeze', [value, i64([3, 4])]))
}

const reduced =
  (type: string): Rule =>
  ({ p, x, op, i64 }) =>
    op(type, p.reduceAll ? [x] : [x, i64(list(p.axes))], { keepdims: int(p.keepDims ? 1 : 0) })

const argument =
  (type: string): Rule =>
  (layer) =>
    real(layer, layer.op(type, [layer.x], { ...axisOf(layer.p), keepdims: int(layer.p.removeDim ? 0 : 1) }))

const RULES: Readonly<Record<string, Rule>> = {
  activation,
  unary,
  convolution,
  pooling,
  batchedMatmul,
  batchnorm,
  padding,
  constantPad,
  upsample,
  gelu,
  sliceStatic,
  reorganizeData: reorganize,
  embeddingND: embedding,
  uniDirectionalLSTM: lstm,
  innerProduct: (layer) => product(layer, num(layer.p.outputChannels), num(layer.p.inputChannels)),
  lrn: node('LRN', ({ alpha, beta, localSize, k }) => ({
    alpha: float(num(alpha)),
    beta: float(num(beta)),
    size: int(num(localSize)),
    bias: float(num(k)),
  })),
  clip: (layer) => layer.op('Clip', [layer.x, scalar(layer, num(layer.p.minVal)), scalar(layer, num(layer.p.maxVal))]),
  layerNormalization: (layer) => {
    const { p, x, op } = layer
    const shape = list(p.normalizedShape)
    const parameters = [weight(layer, p.gamma, shape), weight(layer, p.beta, shape)]
    return op('LayerNormalization', [x, ...parameters], { axis: int(-shape.length), epsilon: float(num(p.eps)) })
  },
  whereBroadcastable: (layer) => layer.op('Where', [bool(layer, layer.x), ...layer.inputs.slice(1)]),
  // The sign of the divisor, as the operator has it for whole numbers.
  modBroadcastable: ({ op, inputs: [a, b] }) => op('Sub', [a!, op('Mul', [op('Floor', [op('Div', [a!, b!])]), b!])]),
  gather: (layer) => layer.op('Gather', [layer.x, index(layer, layer.inputs[1]!)], axisOf(layer.p)),
  gatherAlongAxis: (layer) => layer.op('GatherElements', [layer.x, index(layer, layer.inputs[1]!)], axisOf(layer.p)),
  softmaxND: node('Softmax', axisOf),
  concatND: node('Concat', axisOf),
  transpose: node('Transpose', ({ axes }) => ({ perm: ints(list(axes)) })),
  cumSum: ({ p, x, op, i64 }) =>
    op('CumSum', [x, i64([num(p.axis)])], {
      exclusive: int(p.excludeFinalSum ? 1 : 0),
      reverse: int(p.reverse ? 1 : 0),
    }),
  splitND: ({ p, x, ops, i64, outputs }) => {
    const sizes = list(p.splitSizes)
    if (sizes.length > 0) return ops('Split', [x, i64(sizes)], outputs, axisOf(p))
    return ops('Split', [x], outputs, { ...axisOf(p), num_outputs: int(outputs) })
  },
  topK: (layer) => {
    const { p, x, ops, i64 } = layer
    const attributes = { ...axisOf(p), largest: int(p.useBottomK ? 0 : 1) }
    const [values, places] = ops('TopK', [x, i64([num(p.K)])], 2, attributes)
    return [values!, real(layer, places!)]
  },
  argMax: argument('ArgMax'),
  argMin: argument('ArgMin'),
  loadConstantND: (layer) => weight(layer, layer.p.data, list(layer.p.shape)),
  tile: ({ p, x, op, i64 }) => op('Tile', [x, i64(list(p.reps))]),
  broadcastToStatic: ({ p, x, op, i64 }) => op('Expand', [x, i64(list(p.targetShape))]),
  reshapeStatic: ({ p, x, op, i64 }) => op('Reshape', [x, i64(list(p.targetShape))]),
  expandDims: ({ p, x, op, i64 }) => op('Unsqueeze', [x, i64(list(p.axes))]),
  squeeze: ({ p, x, op, i64 }) => op('Squeeze', p.squeezeAll ? [x] : [x, i64(list(p.axes))]),
  flattenTo2D: node('Flatten', axisOf),
  logicalNot: logical('Not'),
  ...nodes('logicalOr:Or logicalXor:Xor logicalAnd:And', logical),
  ...nodes('equal:Equal lessThan:Less lessEqual:LessOrEqual greaterThan:Greater greaterEqual:GreaterOrEqual', compared),
  ...nodes(
    'addBroadcastable:Add subtractBroadcastable:Sub multiplyBroadcastable:Mul divideBroadcastable:Div powBroadcastable:Pow ' +
      'minBroadcastable:Min maxBroadcastable:Max ceil:Ceil floor:Floor sign:Sign round:Round sin:Sin cos:Cos tan:Tan asin:Asin ' +
      'acos:Acos atan:Atan sinh:Sinh cosh:Cosh tanh:Tanh asinh:Asinh acosh:Acosh atanh:Atanh erf:Erf',
    node,
  ),
  ...Object.fromEntries(
    'L1 L2 Max Min Sum Prod Mean LogSum SumSquare LogSumExp'
      .split(' ')
      .map((name) => [`reduce${name}`, reduced(`Reduce${name}`)]),
  ),
}

const addLayer = (layer: Message, values: Map<string, string>, graph: GraphBuilder): void => {
  const [given, made] = [layer.input, layer.output].map((names) => (names ?? []) as readonly string[])
  const kind = Object.keys(RULES).find((name) => layer[name] !== undefined)
  if (kind === undefined) throw badRequest('it is of a type that is not computed here')
  const inputs = given!.map((name) => {
    const value = values.get(name)
    if (value === undefined) throw badRequest(`its input '${name}' is not computed before it`)
    return value
  })
  const ops: Layer['ops'] = (type, from, count, attributes = {}) =>
    graph.nodes(
      type,
      from,
      Array.from({ length: count }, () => `#${type}`),
      attributes,
    )
  const results = RULES[kind]!({
    p: part(layer[kind]),
    x: inputs[0] ?? '',
    inputs,
    ranks: ((layer.inputTensor ?? []) as readonly Message[]).map(({ rank }) => num(rank)),
    outputs: made!.length,
    ops,
    op: (type, from, attributes) => ops(type, from, 1, attributes)[0]!,
    f32: (numbers, shape) => graph.constant('#constant', tensorOf('f32', shape, numbers)),
    i64: (numbers) => graph.constant('#list', tensorOf('i64', [numbers.length], numbers)),
  })
  for (const [at, value] of [results].flat().entries()) if (made![at] !== undefined) values.set(made![at], value)
}

const EXACT_ARRAY_MAPPING = 1
const INT32 = 131104

interface Feature {
  readonly name: string
  readonly isInteger: boolean
  readonly shape: readonly number[]
}

const featuresOf = (features: unknown): Feature[] =>
  ((features ?? []) as readonly Message[]).flatMap(({ name, type }) => {
    const array = part(type).multiArrayType as Message | undefined
    if (array === undefined) return []
    return [{ name: String(name), isInteger: num(array.dataType) === INT32, shape: list(array.shape) }]
  })

/**
 * The network of a .mlmodel as an ONNX model with the same inputs and outputs; whole numbers are int32. Throws bad_request with the
 * name of the layer that is not computed here, and for ML programs, pipelines, images, and networks of the older shape mapping.
 */
export const coremlToOnnx = (bytes: Uint8Array): OnnxModel => {
  const { description, neuralNetwork, neuralNetworkClassifier } = decodeMessage(coremlModel, bytes) as Message
  const network = (neuralNetwork ?? neuralNetworkClassifier) as Message | undefined
  if (network === undefined) throw badRequest('The Core ML model has no neural network, which alone is computed here.')
  if (num(network.arrayInputShapeMapping) !== EXACT_ARRAY_MAPPING) {
    throw badRequest('The Core ML network has the five dimensions of older versions, which are not computed here.')
  }
  const { input, output } = part(description)
  const graph = graphBuilder('coreml')
  const values = new Map<string, string>()
  const inputs = featuresOf(input)
  if (inputs.length !== ((input ?? []) as unknown[]).length) {
    throw badRequest('The Core ML network has inputs that are no arrays, which are not computed here.')
  }
  for (const { name, isInteger, shape } of inputs) {
    const value = graph.input(name, isInteger ? 'i32' : 'f32', shape)
    values.set(name, isInteger ? graph.node('Cast', [value], { to: int(1) }, { output: '#Cast' }) : value)
  }
  for (const layer of network.layers as readonly Message[]) {
    try {
      addLayer(layer, values, graph)
    } catch (error) {
      const reason = error instanceof ServiceError ? error.message : 'it is damaged'
      throw badRequest(`Layer '${String(layer.name ?? '')}' of the Core ML network: ${reason}.`)
    }
  }
  for (const { name, isInteger, shape } of featuresOf(output)) {
    const value = values.get(name)
    if (value === undefined) throw badRequest(`Nothing computes the output '${name}' of the Core ML network.`)
    const whole = isInteger ? graph.node('Cast', [value], { to: int(6) }, { output: '#Cast' }) : value
    graph.output(name, whole, isInteger ? 'i32' : 'f32', shape.length === 0 ? null : shape)
  }
  return graph.build()
}
