import { transposeTensor } from '../../onnx/constants.ts'
import { int, ints, type OnnxTensor } from '../../onnx/model.ts'
import { numbersOf } from '../../onnx/tensors.ts'
import type { Layer, LayerCall, Value } from '../layer-call.ts'
import { activated } from './activations.ts'
import { placed, spatialResult, type Window } from './windows.ts'

const windowOf = (call: LayerCall, axes: number): Window => ({
  kernel: call.sizes('kernel_size', axes),
  strides: call.sizes('strides', axes, 1),
  dilations: call.sizes('dilation_rate', axes, 1),
})

const biasInputs = (call: LayerCall): string[] => {
  const bias = call.optionalWeight('bias')
  return bias === undefined ? [] : [call.vector('bias', numbersOf(bias))]
}

const finished = (call: LayerCall, value: Value): Value => activated(call, value, call.config.activation)

const range = (count: number): number[] => [...Array(count).keys()]

/** Transposes a kernel [...window, channels, results] to [results, channels, ...window]. */
const turned = (kernel: OnnxTensor, axes: number): OnnxTensor =>
  transposeTensor(kernel, [axes + 1, axes, ...range(axes)])

/** Transposes a kernel [...window, channels, multiplier] to [channels · multiplier, 1, ...window]. */
const depthwiseKernel = (kernel: OnnxTensor, axes: number): OnnxTensor => {
  const order = transposeTensor(kernel, [axes, axes + 1, ...range(axes)])
  const [channels = 1, multiplier = 1, ...sizes] = order.shape
  return { ...order, shape: [channels * multiplier, 1, ...sizes] }
}

/** A convolution of all channels (`plain`), of each separately (`depthwise`), or both in sequence (`separable`). */
export const convolution =
  (kind: 'plain' | 'depthwise' | 'separable') =>
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const name = kind === 'plain' ? 'kernel' : 'depthwise_kernel'
    const kernel = call.weightOfRank(name, axes + 2)
    const weight = kind === 'plain' ? turned(kernel, axes) : depthwiseKernel(kernel, axes)
    const { attributes, sizes } = placed(call, value, windowOf(call, axes))
    const group = int(kind === 'plain' ? call.number('groups', 1) : kernel.shape[axes]!)
    const inputs = [call.first(value), call.constant(name, weight)]
    const convolve = (last: readonly string[]) => call.emit('Conv', [...inputs, ...last], { ...attributes, group })
    if (kind !== 'separable')
      return finished(call, spatialResult(call, value, convolve(biasInputs(call)), sizes, weight.shape[0]!))
    const points = turned(call.weightOfRank('pointwise_kernel', axes + 2), axes)
    const all = call.emit('Conv', [convolve([]), call.constant('pointwise_kernel', points), ...biasInputs(call)])
    return finished(call, spatialResult(call, value, all, sizes, points.shape[0]!))
  }

/** Transposes a kernel [...window, results, channels] to [channels, results, ...window]. */
export const transposedConvolution =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const weight = turned(call.weightOfRank('kernel', axes + 2), axes)
    const { kernel, strides, dilations } = windowOf(call, axes)
    const requested = (call.config.output_padding ?? null) === null ? null : call.sizes('output_padding', axes)
    const isSame = call.text('padding', 'valid') === 'same'
    const spans = kernel.map((size, axis) => dilations[axis]! * (size - 1) + 1)
    // Without output_padding, the result has n · stride elements (same), or those that all windows cover.
    const lengths = spans.map((span, axis) => {
      const stride = strides[axis]!
      if (requested === null) return isSame ? stride : Math.max(span, stride)
      return span - (isSame ? 2 * Math.floor(span / 2) : 0) + requested[axis]!
    })
    const before = spans.map((span, axis) => (isSame ? Math.floor(Math.max(0, span - lengths[axis]!) / 2) : 0))
    // The result has (n - 1) · stride + length elements; in ONNX, (n - 1) · stride + span - pads + output_padding.
    const after = spans.map((span, axis) => span - before[axis]! - lengths[axis]!)
    const name = call.emit('ConvTranspose', [call.first(value), call.constant('kernel', weight), ...biasInputs(call)], {
      kernel_shape: ints(kernel),
      strides: ints(strides),
      dilations: ints(dilations),
      pads: ints([...before, ...after.map((size) => Math.max(0, size))]),
      output_padding: ints(after.map((size) => Math.max(0, -size))),
    })
    const spatial = value.shape.slice(1, -1)
    const sizes = spatial.map((size, axis) => call.sized(size, (n) => (n - 1) * strides[axis]! + lengths[axis]!))
    return finished(call, spatialResult(call, value, name, sizes, weight.shape[1]!))
  }
