// The Core ML layers that can be converted to ONNX nodes. Source: coremltools, mlmodel/format/NeuralNetwork.proto.
import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { float, int, ints } from '../onnx/model.ts'
import {
  axisOf,
  bool,
  compared,
  index,
  type Layer,
  list,
  logical,
  node,
  nodes,
  num,
  part,
  type Rule,
  real,
  scalar,
  weight,
} from './layer-rule.ts'
import type { Message } from './schema-fields.ts'
import {
  batchedMatmul,
  batchnorm,
  constantPad,
  convolution,
  embedding,
  gelu,
  lstm,
  padding,
  pooling,
  product,
  reorganize,
  sliceStatic,
  upsample,
} from './window-rules.ts'

const ACTIVATIONS: Readonly<Record<string, (layer: Layer, q: Message) => string>> = {
  linear: (layer, { alpha, beta }) =>
    layer.emit('Add', [layer.emit('Mul', [layer.x, scalar(layer, num(alpha))]), scalar(layer, num(beta))]),
  ReLU: ({ emit, x }) => emit('Relu', [x]),
  leakyReLU: ({ emit, x }, { alpha }) => emit('LeakyRelu', [x], { alpha: float(num(alpha)) }),
  thresholdedReLU: ({ emit, x }, { alpha }) => emit('ThresholdedRelu', [x], { alpha: float(num(alpha)) }),
  tanh: ({ emit, x }) => emit('Tanh', [x]),
  sigmoid: ({ emit, x }) => emit('Sigmoid', [x]),
  sigmoidHard: ({ emit, x }, { alpha, beta }) =>
    emit('HardSigmoid', [x], { alpha: float(num(alpha)), beta: float(num(beta)) }),
  ELU: ({ emit, x }, { alpha }) => emit('Elu', [x], { alpha: float(num(alpha)) }),
  softsign: ({ emit, x }) => emit('Softsign', [x]),
  softplus: ({ emit, x }) => emit('Softplus', [x]),
}

const activation: Rule = (layer) => {
  const kind = Object.keys(ACTIVATIONS).find((name) => layer.p[name] !== undefined)
  if (kind === undefined) throw badRequest('its activation is of a type that is not computed here')
  return ownEntry(ACTIVATIONS, kind)!(layer, part(layer.p[kind]))
}

/** UnaryFunctionLayerParams.Operation. */
const UNARY: Readonly<Record<number, string>> = { 0: 'Sqrt', 4: 'Exp', 5: 'Log', 6: 'Abs' }

const unary: Rule = ({ emit, x, p }) => {
  const type = UNARY[num(p.type)]
  if (type === undefined) throw badRequest(`its function has the number ${num(p.type)}, which is not computed here`)
  return emit(type, [x])
}

const reduced =
  (type: string): Rule =>
  ({ p, x, emit, integers }) =>
    emit(type, p.reduceAll ? [x] : [x, integers(list(p.axes))], { keepdims: int(p.keepDims ? 1 : 0) })

const argument =
  (type: string): Rule =>
  (layer) =>
    real(layer, layer.emit(type, [layer.x], { ...axisOf(layer.p), keepdims: int(layer.p.removeDim ? 0 : 1) }))

/** By the field name of the layer. */
export const LAYER_RULES: Readonly<Record<string, Rule>> = {
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
  clip: (layer) =>
    layer.emit('Clip', [layer.x, scalar(layer, num(layer.p.minVal)), scalar(layer, num(layer.p.maxVal))]),
  layerNormalization: (layer) => {
    const { p, x, emit } = layer
    const shape = list(p.normalizedShape)
    const parameters = [weight(layer, p.gamma, shape), weight(layer, p.beta, shape)]
    return emit('LayerNormalization', [x, ...parameters], { axis: int(-shape.length), epsilon: float(num(p.eps)) })
  },
  whereBroadcastable: (layer) => layer.emit('Where', [bool(layer, layer.x), ...layer.inputs.slice(1)]),
  // The result has the sign of the divisor, like the operator for integers.
  modBroadcastable: ({ emit, inputs: [a, b] }) =>
    emit('Sub', [a!, emit('Mul', [emit('Floor', [emit('Div', [a!, b!])]), b!])]),
  gather: (layer) => layer.emit('Gather', [layer.x, index(layer, layer.inputs[1]!)], axisOf(layer.p)),
  gatherAlongAxis: (layer) => layer.emit('GatherElements', [layer.x, index(layer, layer.inputs[1]!)], axisOf(layer.p)),
  softmaxND: node('Softmax', axisOf),
  concatND: node('Concat', axisOf),
  transpose: node('Transpose', ({ axes }) => ({ perm: ints(list(axes)) })),
  cumSum: ({ p, x, emit, integers }) =>
    emit('CumSum', [x, integers([num(p.axis)])], {
      exclusive: int(p.excludeFinalSum ? 1 : 0),
      reverse: int(p.reverse ? 1 : 0),
    }),
  splitND: ({ p, x, emitSeveral, integers, outputs }) => {
    const sizes = list(p.splitSizes)
    if (sizes.length > 0) return emitSeveral('Split', [x, integers(sizes)], outputs, axisOf(p))
    return emitSeveral('Split', [x], outputs, { ...axisOf(p), num_outputs: int(outputs) })
  },
  topK: (layer) => {
    const { p, x, emitSeveral, integers } = layer
    const attributes = { ...axisOf(p), largest: int(p.useBottomK ? 0 : 1) }
    const [values, places] = emitSeveral('TopK', [x, integers([num(p.K)])], 2, attributes)
    return [values!, real(layer, places!)]
  },
  argMax: argument('ArgMax'),
  argMin: argument('ArgMin'),
  loadConstantND: (layer) => weight(layer, layer.p.data, list(layer.p.shape)),
  tile: ({ p, x, emit, integers }) => emit('Tile', [x, integers(list(p.reps))]),
  broadcastToStatic: ({ p, x, emit, integers }) => emit('Expand', [x, integers(list(p.targetShape))]),
  reshapeStatic: ({ p, x, emit, integers }) => emit('Reshape', [x, integers(list(p.targetShape))]),
  expandDims: ({ p, x, emit, integers }) => emit('Unsqueeze', [x, integers(list(p.axes))]),
  squeeze: ({ p, x, emit, integers }) => emit('Squeeze', p.squeezeAll ? [x] : [x, integers(list(p.axes))]),
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
