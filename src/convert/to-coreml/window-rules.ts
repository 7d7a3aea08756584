// Core ML layers with weights, windows, or choices, as ONNX nodes. Source: coremltools, mlmodel/format/NeuralNetwork.proto.
import { badRequest } from '../../domain/errors.ts'
import { type Attribute, elementCount, float, int, ints, text } from '../onnx/model.ts'
import {
  type Attributes,
  index,
  type Layer,
  list,
  num,
  numbersOf,
  part,
  type Rule,
  scalar,
  weight,
} from './layer-rule.ts'
import type { Message } from './schema-fields.ts'

/** [[before, after], …] for the last dimensions. */
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

export const convolution: Rule = (layer) => {
  const { p, x, emit, inputs } = layer
  if (inputs.length > 1) throw badRequest('its weights are computed, which is not supported here')
  const [outer, inner, group] = [num(p.outputChannels), num(p.kernelChannels), num(p.nGroups, 1) || 1]
  const kernel = list(p.kernelSize)
  const channels = p.isDeconvolution ? [inner, outer / group] : [outer, inner]
  const given = [x, weight(layer, p.weights, [...channels, ...kernel])]
  if (p.hasBias) given.push(weight(layer, p.bias, [outer]))
  return emit(p.isDeconvolution ? 'ConvTranspose' : 'Conv', given, {
    kernel_shape: ints(kernel),
    group: int(group),
    strides: sizesOf(p.stride, 1),
    dilations: sizesOf(p.dilationFactor, 1),
    ...padsOf(p),
  })
}

export const pooling: Rule = ({ p, x, emit, integers }) => {
  const type = num(p.type)
  if (type > 1) throw badRequest('L2 pools are not computed here')
  if (p.globalPooling)
    return emit(type === 0 ? 'ReduceMax' : 'ReduceMean', [x, integers([-2, -1])], { keepdims: int(1) })
  const attributes = { kernel_shape: sizesOf(p.kernelSize, 3), strides: sizesOf(p.stride, 1), ...padsOf(p) }
  if (type === 0) return emit('MaxPool', [x], attributes)
  return emit('AveragePool', [x], { ...attributes, count_include_pad: int(p.avgPoolExcludePadding ? 0 : 1) })
}

const withBias = (layer: Layer, product: string, size: number): string =>
  layer.p.hasBias ? layer.emit('Add', [product, weight(layer, layer.p.bias, [size])]) : product

export const product = (layer: Layer, outer: number, inner: number): string => {
  const matrix = layer.emit('Transpose', [weight(layer, layer.p.weights, [outer, inner])], { perm: ints([1, 0]) })
  return withBias(layer, layer.emit('MatMul', [layer.x, matrix]), outer)
}

export const batchedMatmul: Rule = (layer) => {
  const { p, inputs, ranks, emit } = layer
  if (inputs.length === 1) return product(layer, num(p.weightMatrixSecondDimension), num(p.weightMatrixFirstDimension))
  const sides = inputs.map((value, at) => {
    if (!(at === 0 ? p.transposeA : p.transposeB)) return value
    const axes = Array.from({ length: ranks[at] ?? 2 }, (_, axis) => axis)
    return emit('Transpose', [value], { perm: ints([...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!]) })
  })
  return emit('MatMul', sides)
}

export const batchnorm: Rule = (layer) => {
  const { p, x, emit, f32 } = layer
  const channels = num(p.channels)
  const [gamma, beta] = [p.gamma, p.beta].map((values) => numbersOf(values, channels))
  const epsilon = num(p.epsilon, 1e-5)
  if (p.computeMeanVar && p.instanceNormalization) {
    return emit('InstanceNormalization', [x, f32(gamma!, [channels]), f32(beta!, [channels])], {
      epsilon: float(epsilon),
    })
  }
  if (p.computeMeanVar) throw badRequest('it computes the mean of a batch, which is not computed here')
  const [mean, variance] = [p.mean, p.variance].map((values) => numbersOf(values, channels))
  const factors = gamma!.map((value, at) => value / Math.sqrt(variance![at]! + epsilon))
  const offsets = beta!.map((value, at) => value - mean![at]! * factors[at]!)
  return emit('Add', [emit('Mul', [x, f32(factors, [channels, 1, 1])]), f32(offsets, [channels, 1, 1])])
}

export const padding: Rule = (layer) => {
  const { p, x, emit, integers } = layer
  const borders = bordersOf(p.paddingAmounts)
  const mode = p.reflection ? 'reflect' : p.replication ? 'edge' : 'constant'
  const pads = integers([0, 1].flatMap((end) => borders.map((sizes) => sizes[end]!)))
  return emit('Pad', [x, pads, scalar(layer, num(part(p.constant).value)), integers([-2, -1])], { mode: text(mode) })
}

export const constantPad: Rule = (layer) => {
  const amounts = list(layer.p.padAmounts)
  const pads = [0, 1].flatMap((end) => amounts.filter((_, at) => at % 2 === end))
  return layer.emit('Pad', [layer.x, layer.integers(pads), scalar(layer, num(layer.p.value))])
}

export const upsample: Rule = ({ p, x, emit, f32 }) => {
  const scales = f32([1, 1, ...list(p.scalingFactor)], [4])
  const isNearest = num(p.mode) === 0
  const places = isNearest ? 'asymmetric' : num(p.linearUpsampleMode) === 1 ? 'align_corners' : 'half_pixel'
  return emit('Resize', [x, '', scales], {
    mode: text(isNearest ? 'nearest' : 'linear'),
    coordinate_transformation_mode: text(places),
    nearest_mode: text('floor'),
  })
}

export const reorganize: Rule = ({ p, x, emit }) => {
  const blocksize = int(num(p.blockSize))
  if (num(p.mode) === 0) return emit('SpaceToDepth', [x], { blocksize })
  return emit('DepthToSpace', [x], { blocksize, mode: text(num(p.mode) === 2 ? 'CRD' : 'DCR') })
}

export const gelu: Rule = (layer) => {
  const { p, x, emit } = layer
  const times = (value: string, factor: number): string => emit('Mul', [value, scalar(layer, factor)])
  const half = (inner: string): string => times(emit('Mul', [x, emit('Add', [inner, scalar(layer, 1)])]), 0.5)
  if (num(p.mode) === 0) return half(emit('Erf', [times(x, Math.SQRT1_2)]))
  if (num(p.mode) === 2) return emit('Mul', [x, emit('Sigmoid', [times(x, 1.702)])])
  const cube = emit('Mul', [emit('Mul', [x, x]), x])
  return half(emit('Tanh', [times(emit('Add', [x, times(cube, 0.044715)]), Math.sqrt(2 / Math.PI))]))
}

const LAST = 2 ** 31 - 1

export const sliceStatic: Rule = ({ p, x, emit, integers }) => {
  const strides = list(p.strides)
  const masked = (ids: unknown, masks: unknown, isEnd: boolean): number[] => {
    const isMasked = (masks ?? []) as readonly boolean[]
    return list(ids).map((id, at) => (!isMasked[at] ? id : strides[at]! > 0 === isEnd ? LAST : isEnd ? -LAST : 0))
  }
  const ranges = [masked(p.beginIds, p.beginMasks, false), masked(p.endIds, p.endMasks, true)]
  const cut = emit('Slice', [x, ...ranges.map(integers), integers([...strides.keys()]), integers(strides)])
  const squeezed = ((p.squeezeMasks ?? []) as readonly boolean[]).flatMap((is, axis) => (is ? [axis] : []))
  return squeezed.length === 0 ? cut : emit('Squeeze', [cut, integers(squeezed)])
}

export const embedding: Rule = (layer) => {
  const { p, x, emit, f32, integers } = layer
  const [rows, width] = [num(p.vocabSize), num(p.embeddingSize)]
  const columns = numbersOf(p.weights, rows * width)
  // Stored column by column.
  const table = Float32Array.from(columns, (_, at) => columns[(at % width) * rows + Math.floor(at / width)]!)
  return withBias(
    layer,
    emit('Gather', [f32(table, [rows, width]), index(layer, emit('Squeeze', [x, integers([-1])]))]),
    width,
  )
}

/** Core ML orders gates as input, forget, block, output; ONNX as input, output, forget, block. */
const GATES = ['inputGate', 'outputGate', 'forgetGate', 'blockInput']

export const lstm: Rule = (layer) => {
  const { p, inputs, emit, emitSeveral, integers, f32 } = layer
  const [size, units] = [num(p.inputVectorSize), num(p.outputVectorSize)]
  const { sequenceOutput, hasBiasVectors, forgetBias, hasPeepholeVectors, coupledInputAndForgetGate } = part(p.params)
  const names = ((p.activations ?? []) as readonly Message[]).map((each) => Object.keys(each).join())
  if (hasPeepholeVectors || coupledInputAndForgetGate || forgetBias || names.join() !== 'sigmoid,tanh,tanh') {
    throw badRequest(
      'an LSTM with peepholes, coupled gates, or activations other than sigmoid, tanh, tanh is not computed here',
    )
  }
  const matrices = part(p.weightParams)
  const joined = (ending: string, shape: readonly number[]): Float32Array => {
    const parts = GATES.map((gate) => numbersOf(matrices[`${gate}${ending}`], elementCount(shape)))
    return Float32Array.from(parts.flatMap((numbers) => [...numbers]))
  }
  const weights = [
    f32(joined('WeightMatrix', [units, size]), [1, 4 * units, size]),
    f32(joined('RecursionMatrix', [units, units]), [1, 4 * units, units]),
  ]
  const bias = new Float32Array(8 * units)
  if (hasBiasVectors) bias.set(joined('BiasVector', [units]))
  const flat = inputs.map((value) => emit('Squeeze', [value, integers([3, 4])]))
  const given = [flat[0]!, ...weights, f32(bias, [1, 8 * units]), '', ...flat.slice(1)]
  const [all, hidden, cell] = emitSeveral('LSTM', given, 3, {
    hidden_size: int(units),
    direction: text(p.reverseInput ? 'reverse' : 'forward'),
  })
  const sequence = sequenceOutput ? emit('Squeeze', [all!, integers([1])]) : hidden!
  return [sequence, hidden!, cell!].map((value) => emit('Unsqueeze', [value, integers([3, 4])]))
}
