// The messages of the Core ML layers that are written and quantized here, with Apple's names and numbers (coremltools,
// mlmodel/format/NeuralNetwork.proto, specification version 4).
import { type MessageType, many, one } from '../protobuf/message.ts'
import { count, counts, empty, flag, integers, type Message, message, real } from './schema-fields.ts'
import { weights } from './weight-schema.ts'

const alpha = message('Alpha', { alpha: real(1) })
const alphaBeta = message('AlphaBeta', { alpha: real(1), beta: real(2) })
const activation = message('ActivationParams', {
  linear: one(5, () => alphaBeta),
  ReLU: one(10, () => empty),
  leakyReLU: one(15, () => alpha),
  thresholdedReLU: one(20, () => alpha),
  tanh: one(30, () => empty),
  sigmoid: one(40, () => empty),
  sigmoidHard: one(41, () => alphaBeta),
  ELU: one(50, () => alpha),
  softsign: one(60, () => empty),
  softplus: one(70, () => empty),
})

const edge = message('EdgeSizes', { startEdgeSize: count(1), endEdgeSize: count(2) })
const borders = message('BorderAmounts', { borderAmounts: many(10, () => edge) })
const validPadding = message('ValidPadding', { paddingAmounts: one(1, () => borders) })
const convolution = message('ConvolutionLayerParams', {
  outputChannels: count(1),
  kernelChannels: count(2),
  nGroups: count(10),
  kernelSize: counts(20),
  stride: counts(30),
  dilationFactor: counts(40),
  valid: one(50, () => validPadding),
  isDeconvolution: flag(60),
  hasBias: flag(70),
  weights: weights(90),
  bias: weights(91),
})
const pooling = message('PoolingLayerParams', {
  type: one(1, 'int32'),
  kernelSize: counts(10),
  stride: counts(20),
  valid: one(30, () => validPadding),
  avgPoolExcludePadding: flag(50),
  globalPooling: flag(60),
})
const innerProduct = message('InnerProductLayerParams', {
  inputChannels: count(1),
  outputChannels: count(2),
  hasBias: flag(10),
  weights: weights(20),
  bias: weights(21),
})
const batchnorm = message('BatchnormLayerParams', {
  channels: count(1),
  computeMeanVar: flag(5),
  instanceNormalization: flag(6),
  epsilon: real(10),
  gamma: weights(15),
  beta: weights(16),
  mean: weights(17),
  variance: weights(18),
})
const lrn = message('LRNLayerParams', { alpha: real(1), beta: real(2), localSize: count(3), k: real(4) })
const paddingConstant = message('PaddingConstant', { value: real(1) })
const padding = message('PaddingLayerParams', {
  constant: one(1, () => paddingConstant),
  reflection: one(2, () => empty),
  replication: one(3, () => empty),
  paddingAmounts: one(10, () => borders),
})
const upsample = message('UpsampleLayerParams', {
  scalingFactor: counts(1),
  mode: one(5, 'int32'),
  linearUpsampleMode: one(6, 'int32'),
})
const unary = message('UnaryFunctionLayerParams', { type: one(1, 'int32'), alpha: real(2), epsilon: real(3) })
const reorganize = message('ReorganizeDataLayerParams', { mode: one(1, 'int32'), blockSize: count(2) })
const clip = message('ClipLayerParams', { minVal: real(1), maxVal: real(2) })
const gelu = message('GeluLayerParams', { mode: one(1, 'int32') })
const axes = message('Axes', { axes: integers(1), squeezeAll: flag(2) })
const axis = message('Axis', { axis: one(1, 'int64') })
const argument = message('ArgMaxLayerParams', { axis: one(1, 'int64'), removeDim: flag(2) })
const splitND = message('SplitNDLayerParams', { axis: one(1, 'int64'), numSplits: count(2), splitSizes: counts(3) })
const transpose = message('TransposeLayerParams', { axes: counts(1) })
const sliceStatic = message('SliceStaticLayerParams', {
  beginIds: integers(1),
  beginMasks: many(2, 'bool'),
  endIds: integers(3),
  endMasks: many(4, 'bool'),
  strides: integers(5),
  squeezeMasks: many(6, 'bool'),
})
const tile = message('TileLayerParams', { reps: counts(1) })
const topK = message('TopKLayerParams', { axis: one(1, 'int64'), K: count(2), useBottomK: flag(3) })
const embeddingND = message('EmbeddingNDLayerParams', {
  vocabSize: count(1),
  embeddingSize: count(2),
  hasBias: flag(3),
  weights: weights(20),
  bias: weights(21),
})
const batchedMatmul = message('BatchedMatMulLayerParams', {
  transposeA: flag(1),
  transposeB: flag(2),
  weightMatrixFirstDimension: count(5),
  weightMatrixSecondDimension: count(6),
  hasBias: flag(7),
  weights: weights(8),
  bias: weights(9),
})
const loadConstant = message('LoadConstantNDLayerParams', { shape: counts(1), data: weights(2) })
const broadcastTo = message('BroadcastToStaticLayerParams', { targetShape: counts(1) })
const reshapeStatic = message('ReshapeStaticLayerParams', { targetShape: integers(1) })
const constantPad = message('ConstantPaddingLayerParams', { value: real(1), padAmounts: counts(2) })
const reduce = message('ReduceLayerParams', { axes: integers(1), keepDims: flag(2), reduceAll: flag(3) })
const layerNormalization = message('LayerNormalizationLayerParams', {
  normalizedShape: integers(1),
  eps: real(2),
  gamma: weights(3),
  beta: weights(4),
})
const cumSum = message('CumSumLayerParams', { axis: one(1, 'int64'), excludeFinalSum: flag(2), reverse: flag(3) })

const LSTM_WEIGHTS = [
  ...['inputGateWeightMatrix', 'forgetGateWeightMatrix', 'blockInputWeightMatrix', 'outputGateWeightMatrix'],
  ...[
    'inputGateRecursionMatrix',
    'forgetGateRecursionMatrix',
    'blockInputRecursionMatrix',
    'outputGateRecursionMatrix',
  ],
  ...['inputGateBiasVector', 'forgetGateBiasVector', 'blockInputBiasVector', 'outputGateBiasVector'],
]
const lstmWeights = message(
  'LSTMWeightParams',
  Object.fromEntries(LSTM_WEIGHTS.map((name, at) => [name, weights([1, 20, 40][Math.floor(at / 4)]! + (at % 4))])),
)
const lstmParams = message('LSTMParams', {
  sequenceOutput: flag(10),
  hasBiasVectors: flag(20),
  forgetBias: flag(30),
  hasPeepholeVectors: flag(40),
  coupledInputAndForgetGate: flag(50),
})
const lstm = message('UniDirectionalLSTMLayerParams', {
  inputVectorSize: count(1),
  outputVectorSize: count(2),
  activations: many(10, () => activation),
  params: one(15, () => lstmParams),
  weightParams: one(20, () => lstmWeights),
  reverseInput: flag(100),
})

/** Several layers with the same parameters, as `name:number`. */
const layers = (text: string, type: MessageType<Message>) =>
  Object.fromEntries(
    text
      .trim()
      .split(/\s+/)
      .map((pair) => pair.split(':') as [string, string])
      .map(([name, number]) => [name, [Number(number), type] as const]),
  )

/** The layers by field name. Those without parameters here use only default parameters. */
export const LAYERS: Readonly<Record<string, readonly [number, MessageType<Message>]>> = {
  convolution: [100, convolution],
  pooling: [120, pooling],
  activation: [130, activation],
  innerProduct: [140, innerProduct],
  batchnorm: [160, batchnorm],
  lrn: [180, lrn],
  padding: [200, padding],
  upsample: [210, upsample],
  unary: [220, unary],
  reorganizeData: [345, reorganize],
  uniDirectionalLSTM: [420, lstm],
  clip: [660, clip],
  gelu: [795, gelu],
  tile: [920, tile],
  gather: [930, axis],
  gatherAlongAxis: [952, axis],
  softmaxND: [950, axis],
  splitND: [975, splitND],
  concatND: [980, axis],
  transpose: [985, transpose],
  sliceStatic: [995, sliceStatic],
  topK: [1015, topK],
  argMin: [1020, argument],
  argMax: [1025, argument],
  embeddingND: [1040, embeddingND],
  batchedMatmul: [1045, batchedMatmul],
  loadConstantND: [1070, loadConstant],
  broadcastToStatic: [1105, broadcastTo],
  squeeze: [1120, axes],
  expandDims: [1125, axes],
  flattenTo2D: [1130, axis],
  reshapeStatic: [1140, reshapeStatic],
  constantPad: [1155, constantPad],
  layerNormalization: [1350, layerNormalization],
  cumSum: [1455, cumSum],
  ...layers(
    `
    reduceL1:1250 reduceL2:1255 reduceMax:1260 reduceMin:1265 reduceSum:1270 reduceProd:1275 reduceMean:1280
    reduceLogSum:1285 reduceSumSquare:1290 reduceLogSumExp:1295
    `,
    reduce,
  ),
  ...layers(
    `
    ceil:665 floor:670 sign:680 round:685 sin:710 cos:715 tan:720 asin:730 acos:735 atan:740 sinh:750 cosh:755
    tanh:760 asinh:770 acosh:775 atanh:780 erf:790 equal:815 lessThan:825 lessEqual:827 greaterThan:830
    greaterEqual:832 logicalOr:840 logicalXor:845 logicalNot:850 logicalAnd:855 modBroadcastable:865
    minBroadcastable:870 maxBroadcastable:875 addBroadcastable:880 powBroadcastable:885
    divideBroadcastable:890 multiplyBroadcastable:900 subtractBroadcastable:905 whereBroadcastable:1330
    `,
    empty,
  ),
}
