// Layers with sliding windows over an image: convolutions and pools.
import { badRequest } from '../../domain/errors.ts'
import { convTransposeWindow, convWindow, poolWindow, type Window } from '../onnx/window-shapes.ts'
import { finiteNumbers, requireConstant, type Shape, weightsOf } from './network.ts'
import type { Message } from './schema-fields.ts'
import { type Rule, reshaped, type Step } from './step.ts'

const bordersOf = (before: readonly number[], after: readonly number[]): Message => ({
  paddingAmounts: {
    borderAmounts: before.map((startEdgeSize, at) => ({ startEdgeSize, endEdgeSize: after[at]! })),
  },
})

/** Pads to two spatial dimensions: a single one gets another of size 1 in front. */
const two = (sizes: readonly number[], fill: number): number[] => (sizes.length === 1 ? [fill, sizes[0]!] : [...sizes])
const spatial = (shape: Shape): Shape => (shape.length === 3 ? [shape[0]!, shape[1]!, 1, shape[2]!] : shape)

/** Runs a layer for two spatial dimensions on one or two. */
export const onImages = (step: Step, what: string, kind: string, params: Message): void => {
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

const biasOf = ({ context }: Step): Message =>
  context.has(2)
    ? { hasBias: true, bias: weightsOf(finiteNumbers(requireConstant(context.constant(2), 'The bias'))) }
    : { hasBias: false }

const windowParams = ({ kernel, strides, dilations }: Window): Message => ({
  kernelSize: two(kernel, 1),
  stride: two(strides, 1),
  dilationFactor: two(dilations, 1),
})

export const convolution: Rule = (step) => {
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

/** The output padding reduces what the padding cuts off at the end. */
export const deconvolution: Rule = (step) => {
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

export const pool =
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

export const globalPool =
  (kind: string): Rule =>
  (step) => {
    const axes = step.shape(0).flatMap((_, axis) => (axis < 2 ? [] : [axis]))
    step.emit(kind, { axes, keepDims: true }, [step.value(0)])
  }
