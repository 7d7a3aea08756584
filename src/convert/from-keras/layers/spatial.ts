// Convolutions, pooling, padding and resizing. Channels are last in Keras and first in ONNX.
import { type Attribute, int, ints, type OnnxTensor, text } from '../../onnx/model.ts'
import { numbersOf, tensorOf } from '../../onnx/tensors.ts'
import { type Layer, type LayerCall, permuted, type Size, type Value } from '../layer-call.ts'
import { activated } from './activations.ts'

interface Window {
  readonly kernel: readonly number[]
  readonly strides: readonly number[]
  readonly dilations: readonly number[]
}

interface Placed {
  readonly attributes: Record<string, Attribute>
  /** Spatial sizes of the result. */
  readonly sizes: Size[]
}

/** Where windows lie: `same` gives ⌈n / stride⌉ of them, `valid` those that fit, `causal` looks back only. */
const placed = (call: LayerCall, value: Value, { kernel, strides, dilations }: Window): Placed => {
  const padding = call.text('padding', 'valid').toLowerCase()
  const spatial = value.shape.slice(1, -1)
  const spans = kernel.map((size, axis) => dilations[axis]! * (size - 1) + 1)
  const fixed = { kernel_shape: ints(kernel), strides: ints(strides), dilations: ints(dilations) }
  const sizes = (before: readonly number[], after: readonly number[]) =>
    spatial.map((size, axis) =>
      typeof size === 'number'
        ? Math.floor((size + before[axis]! + after[axis]! - spans[axis]!) / strides[axis]!) + 1
        : `${size}_${call.layer.name}`,
    )
  const none = spans.map(() => 0)
  if (padding === 'valid') return { attributes: fixed, sizes: sizes(none, none) }
  if (padding === 'causal') {
    const before = spans.map((span) => span - 1)
    return { attributes: { ...fixed, pads: ints([...before, ...none]) }, sizes: sizes(before, none) }
  }
  if (padding !== 'same') throw call.refuse(`its padding is '${padding}'.`)
  if (spatial.some((size) => typeof size !== 'number') && strides.some((stride) => stride > 1)) {
    return {
      attributes: { ...fixed, auto_pad: text('SAME_UPPER') },
      sizes: spatial.map((size) => `${size}_${call.layer.name}`),
    }
  }
  const whole = spans.map((span, axis) => {
    const size = spatial[axis]!
    if (typeof size !== 'number') return span - 1
    return Math.max(0, (Math.ceil(size / strides[axis]!) - 1) * strides[axis]! + span - size)
  })
  const before = whole.map((count) => Math.floor(count / 2))
  const after = whole.map((count, axis) => count - before[axis]!)
  const results = spatial.map((size, axis) => (typeof size === 'number' ? Math.ceil(size / strides[axis]!) : size))
  return { attributes: { ...fixed, pads: ints([...before, ...after]) }, sizes: results }
}

const spatialResult = (call: LayerCall, value: Value, name: string, sizes: readonly Size[], channels: Size): Value =>
  call.result(name, [value.shape[0]!, ...sizes, channels], { channelsFirst: value.shape.length > 2 })

const windowOf = (call: LayerCall, axes: number, kernel = call.sizes('kernel_size', axes)): Window => ({
  kernel,
  strides: call.sizes('strides', axes, 1),
  dilations: call.sizes('dilation_rate', axes, 1),
})

const biasInputs = (call: LayerCall): string[] => {
  const bias = call.optionalWeight('bias')
  return bias === undefined ? [] : [call.vector('bias', numbersOf(bias))]
}

const finished = (call: LayerCall, value: Value): Value => activated(call, value, call.config.activation)

/** Kernel [...window, channels of a group, results] to [results, channels of a group, ...window]. */
const conv =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const kernel = call.weightOfRank('kernel', axes + 2)
    const weight = permuted(kernel, [axes + 1, axes, ...Array.from({ length: axes }, (_, at) => at)])
    const { attributes, sizes } = placed(call, value, windowOf(call, axes))
    const inputs = [call.first(value), call.constant('kernel', weight), ...biasInputs(call)]
    const name = call.emit('Conv', inputs, { ...attributes, group: int(call.number('groups', 1)) })
    return finished(call, spatialResult(call, value, name, sizes, weight.shape[0]!))
  }

/** Kernel [...window, channels, multiplier] to [channels · multiplier, 1, ...window]. */
const depthwiseKernel = (kernel: OnnxTensor, axes: number): OnnxTensor => {
  const window = Array.from({ length: axes }, (_, at) => at)
  const turned = permuted(kernel, [axes, axes + 1, ...window])
  const [channels = 1, multiplier = 1, ...sizes] = turned.shape
  return { ...turned, shape: [channels * multiplier, 1, ...sizes] }
}

const depthwise =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const kernel = call.weightOfRank('depthwise_kernel', axes + 2)
    const weight = depthwiseKernel(kernel, axes)
    const { attributes, sizes } = placed(call, value, windowOf(call, axes))
    const inputs = [call.first(value), call.constant('kernel', weight), ...biasInputs(call)]
    const name = call.emit('Conv', inputs, { ...attributes, group: int(kernel.shape[axes]!) })
    return finished(call, spatialResult(call, value, name, sizes, weight.shape[0]!))
  }

const separable =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const kernel = call.weightOfRank('depthwise_kernel', axes + 2)
    const { attributes, sizes } = placed(call, value, windowOf(call, axes))
    const inputs = [call.first(value), call.constant('depthwise_kernel', depthwiseKernel(kernel, axes))]
    const each = call.emit('Conv', inputs, { ...attributes, group: int(kernel.shape[axes]!) })
    const order = [axes + 1, axes, ...Array.from({ length: axes }, (_, at) => at)]
    const points = permuted(call.weightOfRank('pointwise_kernel', axes + 2), order)
    const name = call.emit('Conv', [each, call.constant('pointwise_kernel', points), ...biasInputs(call)])
    return finished(call, spatialResult(call, value, name, sizes, points.shape[0]!))
  }

/** Kernel [...window, results, channels] to [channels, results, ...window]. */
const transposed =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const weight = permuted(call.weightOfRank('kernel', axes + 2), [
      axes + 1,
      axes,
      ...Array.from({ length: axes }, (_, at) => at),
    ])
    const { kernel, strides, dilations } = windowOf(call, axes)
    if ((call.config.output_padding ?? null) !== null || dilations.some((rate) => rate !== 1)) {
      throw call.refuse('it has output_padding or a dilation_rate.')
    }
    const isSame = call.text('padding', 'valid') === 'same'
    const whole = kernel.map((size, axis) => (isSame ? Math.max(0, size - strides[axis]!) : 0))
    const before = whole.map((count) => Math.floor(count / 2))
    const beyond = kernel.map((size, axis) => Math.max(0, strides[axis]! - size))
    const name = call.emit('ConvTranspose', [call.first(value), call.constant('kernel', weight), ...biasInputs(call)], {
      kernel_shape: ints(kernel),
      strides: ints(strides),
      pads: ints([...before, ...whole.map((count, axis) => count - before[axis]!)]),
      output_padding: ints(beyond),
    })
    const sizes = value.shape
      .slice(1, -1)
      .map((size, axis) =>
        typeof size === 'number'
          ? (size - 1) * strides[axis]! + kernel[axis]! - whole[axis]! + beyond[axis]!
          : `${size}_${call.layer.name}`,
      )
    return finished(call, spatialResult(call, value, name, sizes, weight.shape[1]!))
  }

const pool =
  (axes: number, type: string): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const kernel = call.sizes('pool_size', axes)
    const strides = call.config.strides === null ? kernel : call.sizes('strides', axes)
    const { attributes, sizes } = placed(call, value, { kernel, strides, dilations: kernel.map(() => 1) })
    const { dilations: _, ...rest } = attributes
    const name = call.emit(type, [call.first(value)], rest)
    return spatialResult(call, value, name, sizes, value.shape.at(-1)!)
  }

/** The mean of the steps that are no padding. */
const maskedMean = (call: LayerCall, value: Value, mask: string): Value => {
  const weights = call.emit('Unsqueeze', [call.emit('Cast', [mask], { to: int(1) }), call.integers([-1])])
  const keep = call.flag('keepdims')
  const sum = (name: string) => call.emit('ReduceSum', [name, call.integers([1])], { keepdims: int(Number(keep)) })
  const name = call.emit('Div', [sum(call.emit('Mul', [call.last(value), weights])), sum(weights)])
  return call.result(name, [value.shape[0]!, ...(keep ? [1] : []), value.shape[2]!])
}

const globalPool =
  (axes: number, type: string): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    if (value.mask !== null && type === 'ReduceMean' && axes === 1) return maskedMean(call, value, value.mask)
    const keep = call.flag('keepdims')
    const over = Array.from({ length: axes }, (_, at) => at + (value.channelsFirst ? 2 : 1))
    const name = call.emit(type, [value.name, call.integers(over)], { keepdims: int(Number(keep)) })
    const middle = keep ? over.map(() => 1) : []
    return call.result(name, [value.shape[0]!, ...middle, value.shape.at(-1)!], {
      channelsFirst: keep && value.channelsFirst,
    })
  }

/** Pairs of sizes at both ends of each spatial axis. */
const endsOf = (call: LayerCall, name: string, axes: number): [number, number][] => {
  const value = call.config[name]
  const list = typeof value === 'number' ? new Array<number>(axes).fill(value) : value
  // A pair for one axis is its two ends.
  const each = axes === 1 && Array.isArray(list) && list.length === 2 ? [list] : list
  if (!Array.isArray(each) || each.length !== axes)
    throw call.refuse(`its setting '${name}' does not fit ${axes} axes.`)
  return each.map((ends) => {
    const [start, end] = Array.isArray(ends) ? ends : [ends, ends]
    if (typeof start !== 'number' || typeof end !== 'number')
      throw call.refuse(`its setting '${name}' is not of numbers.`)
    return [start, end]
  })
}

const resized = (value: Value, ends: readonly [number, number][], sign: number): Size[] =>
  value.shape.slice(1, -1).map((size, axis) => {
    const change = sign * (ends[axis]![0] + ends[axis]![1])
    return typeof size === 'number' ? size + change : change === 0 ? size : `${size}_${change}`
  })

const zeroPadding =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const ends = endsOf(call, 'padding', axes)
    const at = (side: 0 | 1) => {
      const middle = ends.map((pair) => pair[side])
      return value.channelsFirst ? [0, 0, ...middle] : [0, ...middle, 0]
    }
    const name = call.emit('Pad', [value.name, call.integers([...at(0), ...at(1)]), call.scalar(0)])
    return call.like(value, name, { shape: [value.shape[0]!, ...resized(value, ends, 1), value.shape.at(-1)!] })
  }

const cropping =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const ends = endsOf(call, 'cropping', axes)
    const starts = call.integers(ends.map(([start]) => start))
    const stops = call.integers(ends.map(([, end]) => (end === 0 ? 2 ** 31 : -end)))
    const over = call.integers(ends.map((_, at) => at + (value.channelsFirst ? 2 : 1)))
    const name = call.emit('Slice', [value.name, starts, stops, over])
    return call.like(value, name, { shape: [value.shape[0]!, ...resized(value, ends, -1), value.shape.at(-1)!] })
  }

const upsampling =
  (axes: number): Layer =>
  (call) => {
    call.requireChannelsLast()
    const value = call.inputOfRank(axes + 2)
    const factors = call.sizes('size', axes)
    const mode = call.text('interpolation', 'nearest')
    if (mode !== 'nearest' && mode !== 'bilinear')
      throw call.refuse(`its interpolation is '${mode}'; use nearest or bilinear.`)
    const scales = call.constant('scales', tensorOf('f32', [axes + 2], [1, 1, ...factors]))
    const name = call.emit('Resize', [call.first(value), '', scales], {
      mode: text(mode === 'nearest' ? 'nearest' : 'linear'),
      coordinate_transformation_mode: text(mode === 'nearest' ? 'asymmetric' : 'half_pixel'),
      ...(mode === 'nearest' ? { nearest_mode: text('floor') } : {}),
    })
    const sizes = value.shape
      .slice(1, -1)
      .map((size, axis) => (typeof size === 'number' ? size * factors[axis]! : `${size}_${call.layer.name}`))
    return spatialResult(call, value, name, sizes, value.shape.at(-1)!)
  }

const forAxes = (make: (axes: number) => Layer, name: (axes: number) => string, most = 3): [string, Layer][] =>
  Array.from({ length: most }, (_, at) => [name(at + 1), make(at + 1)])

export const SPATIAL_LAYERS: Readonly<Record<string, Layer>> = Object.fromEntries([
  ...forAxes(conv, (axes) => `Conv${axes}D`),
  ...forAxes(depthwise, (axes) => `DepthwiseConv${axes}D`, 2),
  ...forAxes(separable, (axes) => `SeparableConv${axes}D`, 2),
  ...forAxes(transposed, (axes) => `Conv${axes}DTranspose`),
  ...forAxes(
    (axes) => pool(axes, 'MaxPool'),
    (axes) => `MaxPooling${axes}D`,
  ),
  ...forAxes(
    (axes) => pool(axes, 'AveragePool'),
    (axes) => `AveragePooling${axes}D`,
  ),
  ...forAxes(
    (axes) => globalPool(axes, 'ReduceMax'),
    (axes) => `GlobalMaxPooling${axes}D`,
  ),
  ...forAxes(
    (axes) => globalPool(axes, 'ReduceMean'),
    (axes) => `GlobalAveragePooling${axes}D`,
  ),
  ...forAxes(zeroPadding, (axes) => `ZeroPadding${axes}D`),
  ...forAxes(cropping, (axes) => `Cropping${axes}D`),
  ...forAxes(upsampling, (axes) => `UpSampling${axes}D`),
])
