// Convolutions, pools, products and normalizations.
import { badRequest } from '../../domain/errors.ts'
import type { Constant } from '../onnx/constants.ts'
import { convTransposeWindow, convWindow, poolWindow, type Window } from '../onnx/window-shapes.ts'
import { requireConstant, type Shape, weightsOf } from './network.ts'
import type { Message } from './schema.ts'
import { type Rule, reshaped, type Step } from './step.ts'

const bordersOf = (before: readonly number[], after: readonly number[]): Message => ({
  paddingAmounts: {
    borderAmounts: before.map((startEdgeSize, at) => ({ startEdgeSize, endEdgeSize: after[at]! })),
  },
})

/** Two spatial dimensions: one gets a second of size 1 in front. */
const two = (sizes: readonly number[], fill: number): number[] => (sizes.length === 1 ? [fill, sizes[0]!] : [...sizes])
const spatial = (shape: Shape): Shape => (shape.length === 3 ? [shape[0]!, shape[1]!, 1, shape[2]!] : shape)

/** Runs a layer of two spatial dimensions on one or two. */
const onImages = (step: Step, what: string, kind: string, params: Message): void => {
  const rank = step.shape(0).length
  if (rank !== 3 && rank !== 4) {
    throw badRequest(`${what} over ${rank - 2} spatial dimensions is not supported in Core ML; one and two are.`)
  }
  if (rank === 4) {
    step.emit(kind, params, [step.value(0)])
    return
  }
  const image = reshaped(step, step.value(0), spatial(step.shape(0)))
  const result = step.net.add(kind, params, [image], spatial(step.result))
  reshaped(step, result, step.result, step.output)
}

const finiteNumbers = ({ values }: Constant): Float32Array => Float32Array.from(values, Number)

const biasOf = ({ context }: Step): Message =>
  context.has(2)
    ? { hasBias: true, bias: weightsOf(finiteNumbers(requireConstant(context.constant(2), 'The bias'))) }
    : { hasBias: false }

const windowParams = ({ kernel, strides, dilations }: Window): Message => ({
  kernelSize: two(kernel, 1),
  stride: two(strides, 1),
  dilationFactor: two(dilations, 1),
})

const convolution: Rule = (step) => {
  const { context } = step
  const window = convWindow(context)
  const weights = requireConstant(context.constant(1), 'The weights of a convolution')
  const [outputChannels, kernelChannels] = weights.shape as [number, number]
  onImages(step, 'Conv', 'convolution', {
    outputChannels,
    kernelChannels,
    nGroups: context.int('group', 1),
    ...windowParams(window),
    valid: bordersOf(two(window.before, 0), two(window.after, 0)),
    isDeconvolution: false,
    weights: weightsOf(finiteNumbers(weights)),
    ...biasOf(step),
  })
}

/** What the padding cuts off at the end is less by the output padding. */
const deconvolution: Rule = (step) => {
  const { context } = step
  const window = convTransposeWindow(context)
  const weights = requireConstant(context.constant(1), 'The weights of a transposed convolution')
  const [kernelChannels, perGroup] = weights.shape as [number, number]
  const nGroups = context.int('group', 1)
  const sizes = step.shape(0).slice(2)
  const after = window.kernel.map((size, at) => {
    const full = window.strides[at]! * (sizes[at]! - 1) + (size - 1) * window.dilations[at]! + 1
    return full - window.before[at]! - window.output[at]!
  })
  if ([...window.before, ...after].some((size) => size < 0))
    throw badRequest('Its output padding is larger than its padding, which Core ML cannot express.')
  onImages(step, 'ConvTranspose', 'convolution', {
    outputChannels: perGroup * nGroups,
    kernelChannels,
    nGroups,
    ...windowParams(window),
    valid: bordersOf(two(window.before, 0), two(after, 0)),
    isDeconvolution: true,
    weights: weightsOf(finiteNumbers(weights)),
    ...biasOf(step),
  })
}

const pool =
  (type: 0 | 1): Rule =>
  (step) => {
    const { context, outputs } = step
    if (outputs.length > 1) throw badRequest('The indices of a pool have no layer in Core ML.')
    const window = poolWindow(context)
    if (window.dilations.some((size) => size !== 1)) throw badRequest('Dilated pools have no layer in Core ML.')
    const sizes = step.shape(0).slice(2)
    const reached = window.output.map((count, at) => (count - 1) * window.strides[at]! + window.kernel[at]!)
    const after = reached.map((end, at) => Math.max(0, end - sizes[at]! - window.before[at]!))
    const includesPadding = context.int('count_include_pad') !== 0
    if (type === 1 && includesPadding && after.some((size, at) => size > window.after[at]!)) {
      throw badRequest('An average pool with ceil_mode=1 and count_include_pad=1 has no layer in Core ML.')
    }
    const { kernelSize, stride } = windowParams(window)
    onImages(step, context.node.type, 'pooling', {
      type,
      kernelSize,
      stride,
      valid: bordersOf(two(window.before, 0), two(includesPadding ? window.after : after, 0)),
      avgPoolExcludePadding: !includesPadding,
    })
  }

const globalPool =
  (kind: string): Rule =>
  (step) => {
    const axes = step.shape(0).flatMap((_, axis) => (axis < 2 ? [] : [axis]))
    step.emit(kind, { axes, keepDims: true }, [step.value(0)])
  }

const transposed = ({ values, shape }: Constant): Float32Array => {
  const [rows, columns] = shape as [number, number]
  const result = new Float32Array(rows * columns)
  for (let row = 0; row < rows; row++)
    for (let at = 0; at < columns; at++) result[at * rows + row] = Number(values[row * columns + at])
  return result
}

const matMul: Rule = (step) => {
  const { context, net } = step
  const right = context.constant(1)
  if (right !== undefined && right.shape.length === 2) {
    const [rows, columns] = right.shape as [number, number]
    // Stored column by column.
    const params = {
      weightMatrixFirstDimension: rows,
      weightMatrixSecondDimension: columns,
      hasBias: false,
      weights: weightsOf(transposed(right)),
    }
    return step.emit('batchedMatmul', params, [step.value(0)])
  }
  const [a, b] = [step.shape(0), step.shape(1)]
  const left = a.length === 1 ? reshaped(step, step.value(0), [1, ...a]) : step.value(0)
  const second = b.length === 1 ? reshaped(step, step.value(1), [...b, 1]) : step.value(1)
  const batch = step.result.slice(0, step.result.length - (a.length === 1 ? 0 : 1) - (b.length === 1 ? 0 : 1))
  const rows = a.length === 1 ? 1 : a.at(-2)!
  const columns = b.length === 1 ? 1 : b.at(-1)!
  const inserted = [...(a.length === 1 && b.length === 1 ? [] : batch), rows, columns]
  const product = net.add('batchedMatmul', { transposeA: false, transposeB: false }, [left, second], inserted)
  reshaped(step, product, step.result, step.output)
}

const gemm: Rule = (step) => {
  const { context } = step
  const [alpha, beta] = [context.float('alpha', 1), context.float('beta', 1)]
  const [transposeA, transposeB] = [context.int('transA') !== 0, context.int('transB') !== 0]
  const weights = context.constant(1)
  const bias = context.has(2) ? context.constant(2) : undefined
  const [inner, outer] = transposeB ? [1, 0] : [0, 1]
  const isVector = !context.has(2) || (bias !== undefined && bias.values.length === weights?.shape[outer])
  if (weights !== undefined && !transposeA && isVector) {
    const matrix = transposeB ? finiteNumbers(weights) : transposed(weights)
    const params = {
      inputChannels: weights.shape[inner]!,
      outputChannels: weights.shape[outer]!,
      weights: weightsOf(alpha === 1 ? matrix : matrix.map((weight) => weight * alpha)),
      hasBias: bias !== undefined,
      ...(bias !== undefined && { bias: weightsOf(finiteNumbers(bias).map((value) => value * beta)) }),
    }
    return step.emit('innerProduct', params, [step.value(0)])
  }
  const product = step.add('batchedMatmul', { transposeA, transposeB }, [step.value(0), step.value(1)])
  const scaled = step.add('activation', { linear: { alpha, beta: 0 } }, [product])
  if (!context.has(2)) return void reshaped(step, scaled, step.result, step.output)
  const addend = step.net.add('activation', { linear: { alpha: beta, beta: 0 } }, [step.value(2)], step.shape(2))
  step.emit('addBroadcastable', {}, [scaled, addend])
}

/** As x · factor + offset, which takes any number of dimensions. */
const batchNormalization: Rule = (step) => {
  const { context, net } = step
  if (context.int('training_mode') !== 0)
    throw badRequest('It is exported for training. Export the model for inference.')
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((at) =>
    finiteNumbers(requireConstant(context.constant(at), 'The parameters of a BatchNormalization')),
  )
  const epsilon = context.float('epsilon', 1e-5)
  const factors = scale!.map((value, at) => value / Math.sqrt(variance![at]! + epsilon))
  const offsets = bias!.map((value, at) => value - mean![at]! * factors[at]!)
  const shape = [
    factors.length,
    ...step
      .shape(0)
      .slice(2)
      .map(() => 1),
  ]
  const scaled = step.add('multiplyBroadcastable', {}, [step.value(0), net.constant(factors, shape)])
  step.emit('addBroadcastable', {}, [scaled, net.constant(offsets, shape)])
}

const instanceNormalization: Rule = (step) => {
  const { context } = step
  const [gamma, beta] = [1, 2].map((at) => finiteNumbers(requireConstant(context.constant(at), 'Scale and bias')))
  const channels = gamma!.length
  const ones = weightsOf(new Float32Array(channels).fill(1))
  onImages(step, 'InstanceNormalization', 'batchnorm', {
    channels,
    computeMeanVar: true,
    instanceNormalization: true,
    epsilon: context.float('epsilon', 1e-5),
    gamma: weightsOf(gamma!),
    beta: weightsOf(beta!),
    mean: weightsOf(new Float32Array(channels)),
    variance: ones,
  })
}

const layerNormalization: Rule = (step) => {
  const { context } = step
  if (step.outputs.length > 1) throw badRequest('Its second and third outputs have no layer in Core ML.')
  const normalizedShape = step.shape(0).slice(context.axis('axis', -1))
  const size = normalizedShape.reduce((product, one) => product * one, 1)
  const gamma = finiteNumbers(requireConstant(context.constant(1), 'The scale'))
  const beta = context.has(2) ? finiteNumbers(requireConstant(context.constant(2), 'The bias')) : new Float32Array(size)
  if (gamma.length !== size || beta.length !== size)
    throw badRequest('Its scale and bias must have the normalized shape.')
  const params = {
    normalizedShape: [...normalizedShape],
    eps: context.float('epsilon', 1e-5),
    gamma: weightsOf(gamma),
    beta: weightsOf(beta),
  }
  step.emit('layerNormalization', params, [step.value(0)])
}

const lrn: Rule = ({ context, emit, value }) =>
  emit(
    'lrn',
    {
      alpha: context.float('alpha', 1e-4),
      beta: context.float('beta', 0.75),
      localSize: context.int('size'),
      k: context.float('bias', 1),
    },
    [value(0)],
  )

/** Before operator set 13 all dimensions from the axis on are one. */
const softmax =
  (isLog: boolean): Rule =>
  (step) => {
    const { context, net } = step
    const shape = step.shape(0)
    const isOld = context.opset < 13
    const axis = context.axis('axis', isOld ? 1 : -1)
    const merged =
      isOld && axis < shape.length - 1 ? [...shape.slice(0, axis), shape.slice(axis).reduce((a, b) => a * b, 1)] : shape
    const x = merged === shape ? step.value(0) : reshaped(step, step.value(0), merged)
    const soft = net.add('softmaxND', { axis }, [x], merged)
    reshaped(step, isLog ? net.add('unary', { type: 5 }, [soft], merged) : soft, step.result, step.output)
  }

const resize: Rule = (step) => {
  const { context } = step
  const from = step.shape(0)
  const factors = step.result.map((size, axis) => size / from[axis]!)
  const scalingFactor = factors.slice(-2)
  if (
    from.length !== 4 ||
    factors[0] !== 1 ||
    factors[1] !== 1 ||
    scalingFactor.some((factor) => !Number.isInteger(factor))
  ) {
    throw badRequest('It is supported for the last two of four dimensions, by whole factors.')
  }
  const mode = context.text('mode', 'nearest')
  const places =
    context.node.type === 'Upsample' || context.opset < 11
      ? 'asymmetric'
      : context.text('coordinate_transformation_mode', 'half_pixel')
  if (mode === 'nearest') {
    const rounding = context.text('nearest_mode', 'round_prefer_floor')
    // Whole factors repeat each element where places between two are rounded like this.
    const isRepeat =
      places === 'asymmetric' ? rounding === 'floor' : rounding.startsWith('round') && places !== 'align_corners'
    if (!isRepeat && context.opset >= 11 && context.node.type === 'Resize') {
      throw badRequest(
        `The mode nearest with ${places} and ${rounding} has no layer in Core ML; asymmetric with floor has.`,
      )
    }
    return step.emit('upsample', { scalingFactor, mode: 0 }, [step.value(0)])
  }
  const linear = { align_corners: 1, half_pixel: 2, pytorch_half_pixel: 2 }[places]
  if (mode !== 'linear' || linear === undefined)
    throw badRequest(`The mode ${mode} with ${places} has no layer in Core ML.`)
  step.emit('upsample', { scalingFactor, mode: 1, linearUpsampleMode: linear }, [step.value(0)])
}

export const LAYERS: Readonly<Record<string, Rule>> = {
  Conv: convolution,
  ConvTranspose: deconvolution,
  MaxPool: pool(0),
  AveragePool: pool(1),
  GlobalAveragePool: globalPool('reduceMean'),
  GlobalMaxPool: globalPool('reduceMax'),
  MatMul: matMul,
  Gemm: gemm,
  BatchNormalization: batchNormalization,
  InstanceNormalization: instanceNormalization,
  LayerNormalization: layerNormalization,
  LRN: lrn,
  Softmax: softmax(false),
  LogSoftmax: softmax(true),
  Resize: resize,
  Upsample: resize,
}
