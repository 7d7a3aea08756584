// Convolutions, pooling, padding and resizing. Channels are last in Keras and first in ONNX.
import { type Attribute, float, int, ints, type OnnxTensor, text } from '../../onnx/model.ts'
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

const range = (count: number): number[] => [...Array(count).keys()]

/** Kernel [...window, channels, results] with the window last, as [results, channels, ...window]. */
const turned = (kernel: OnnxTensor, axes: number): OnnxTensor => permuted(kernel, [axes + 1, axes, ...range(axes)])

/** Kernel [...window, channels, multiplier] to [channels · multiplier, 1, ...window]. */
const depthwiseKernel = (kernel: OnnxTensor, axes: number): OnnxTensor => {
  const order = permuted(kernel, [axes, axes + 1, ...range(axes)])
  const [channels = 1, multiplier = 1, ...sizes] = order.shape
  return { ...order, shape: [channels * multiplier, 1, ...sizes] }
}

/** A convolution of all channels (`plain`), of each by itself (`depthwise`), or both one after the other (`separable`). */
const conv =
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

/** Kernel [...window, results, channels] to [channels, results, ...window]. */
const transposed =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const weight = turned(call.weightOfRank('kernel', axes + 2), axes)
    const { kernel, strides, dilations } = windowOf(call, axes)
    const asked = (call.config.output_padding ?? null) === null ? null : call.sizes('output_padding', axes)
    const isSame = call.text('padding', 'valid') === 'same'
    const spans = kernel.map((size, axis) => dilations[axis]! * (size - 1) + 1)
    // Without output_padding the result has n · stride elements (same), or those that all windows cover.
    const lengths = spans.map((span, axis) => {
      const stride = strides[axis]!
      if (asked === null) return isSame ? stride : Math.max(span, stride)
      return span - (isSame ? 2 * Math.floor(span / 2) : 0) + asked[axis]!
    })
    const before = spans.map((span, axis) => (isSame ? Math.floor(Math.max(0, span - lengths[axis]!) / 2) : 0))
    // The result has (n - 1) · stride + length elements; ONNX's is (n - 1) · stride + span - pads + output_padding.
    const after = spans.map((span, axis) => span - before[axis]! - lengths[axis]!)
    const name = call.emit('ConvTranspose', [call.first(value), call.constant('kernel', weight), ...biasInputs(call)], {
      kernel_shape: ints(kernel),
      strides: ints(strides),
      dilations: ints(dilations),
      pads: ints([...before, ...after.map((size) => Math.max(0, size))]),
      output_padding: ints(after.map((size) => Math.max(0, -size))),
    })
    const sizes = value.shape
      .slice(1, -1)
      .map((size, axis) =>
        typeof size === 'number' ? (size - 1) * strides[axis]! + lengths[axis]! : `${size}_${call.layer.name}`,
      )
    return finished(call, spatialResult(call, value, name, sizes, weight.shape[1]!))
  }

const pool =
  (type: string) =>
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const kernel = call.sizes('pool_size', axes)
    const strides = (call.config.strides ?? null) === null ? kernel : call.sizes('strides', axes)
    const { attributes, sizes } = placed(call, value, { kernel, strides, dilations: kernel.map(() => 1) })
    const { dilations: _, ...rest } = attributes
    const name = call.emit(type, [call.first(value)], rest)
    return spatialResult(call, value, name, sizes, value.shape.at(-1)!)
  }

/** Along each axis as many windows as the result has elements, as even as they can be. */
const adaptivePool =
  (type: string) =>
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const sizes = call.fixed(value.shape.slice(1, -1), 'the size of its input')
    const results = call.sizes('output_size', axes)
    const name = results.reduce((x, count, axis) => {
      const over = call.integers([axis + 2])
      const windows = range(count).map((at) => {
        const bounds = [Math.floor((at * sizes[axis]!) / count), Math.ceil(((at + 1) * sizes[axis]!) / count)]
        return call.emit(type, [call.emit('Slice', [x, ...bounds.map((bound) => call.integers([bound])), over]), over])
      })
      return call.emit('Concat', windows, { axis: int(axis + 2) })
    }, call.first(value))
    return spatialResult(call, value, name, results, value.shape.at(-1)!)
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
  (type: string) =>
  (axes: number): Layer =>
  (call) => {
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
    const value = call.inputOfRank(axes + 2)
    const ends = endsOf(call, 'padding', axes)
    const at = (side: 0 | 1) => {
      const middle = ends.map((pair) => pair[side])
      return value.channelsFirst ? [0, 0, ...middle] : [0, ...middle, 0]
    }
    // onnxruntime makes padding with 0 a MaxPool's own, which is of -∞; with -0 it does not.
    const name = call.emit('Pad', [value.name, call.integers([...at(0), ...at(1)]), call.scalar(-0)])
    return call.like(value, name, { shape: [value.shape[0]!, ...resized(value, ends, 1), value.shape.at(-1)!] })
  }

const cropping =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const ends = endsOf(call, 'cropping', axes)
    const starts = call.integers(ends.map(([start]) => start))
    const stops = call.integers(ends.map(([, end]) => (end === 0 ? 2 ** 31 : -end)))
    const over = call.integers(ends.map((_, at) => at + (value.channelsFirst ? 2 : 1)))
    const name = call.emit('Slice', [value.name, starts, stops, over])
    return call.like(value, name, { shape: [value.shape[0]!, ...resized(value, ends, -1), value.shape.at(-1)!] })
  }

/** Attributes of TensorFlow's resize: pixels have their centers in the middle. */
const RESIZE: Readonly<Record<string, Readonly<Record<string, Attribute>>>> = {
  nearest: { mode: text('nearest'), nearest_mode: text('round_prefer_ceil') },
  bilinear: { mode: text('linear') },
  bicubic: { mode: text('cubic'), cubic_coeff_a: float(-0.5), exclude_outside: int(1) },
}

/** The spatial axes with other sizes. */
const resizedBy = (call: LayerCall, value: Value, factors: readonly number[], sizes: readonly Size[]): Value => {
  const mode = call.text('interpolation', 'nearest')
  const attributes = RESIZE[mode]
  if (attributes === undefined || call.flag('antialias'))
    throw call.refuse(
      `its interpolation is '${mode}'${attributes ? ' with antialias' : ''}; use nearest, bilinear or bicubic.`,
    )
  const scales = call.constant('scales', tensorOf('f32', [factors.length + 2], [1, 1, ...factors]))
  const name = call.emit('Resize', [call.first(value), '', scales], {
    ...attributes,
    coordinate_transformation_mode: text('half_pixel'),
  })
  return spatialResult(call, value, name, sizes, value.shape.at(-1)!)
}

const upsampling =
  (axes: number): Layer =>
  (call) => {
    const value = call.inputOfRank(axes + 2)
    const factors = call.sizes('size', axes)
    const sizes = value.shape
      .slice(1, -1)
      .map((size, axis) => (typeof size === 'number' ? size * factors[axis]! : `${size}_${call.layer.name}`))
    return resizedBy(call, value, factors, sizes)
  }

/** Resizing to `size`, or to height and width. */
export const resize: Layer = (call) => {
  const value = call.cast(call.inputOfRank(4), 'f32')
  if (call.flag('crop_to_aspect_ratio') || call.flag('pad_to_aspect_ratio'))
    throw call.refuse('it keeps the aspect ratio; crop (CenterCrop) or pad (ZeroPadding2D) before it.')
  const from = call.fixed(value.shape.slice(1, 3), 'the size of its image')
  const to = 'size' in call.config ? call.sizes('size', 2) : [call.number('height'), call.number('width')]
  // onnxruntime takes the floor of size and scale: not below the size that is meant.
  const factors = to.map((size, axis) => {
    const factor = Math.fround(size / from[axis]!)
    return Math.floor(Math.fround(from[axis]! * factor)) < size ? factor * (1 + 2 ** -22) : factor
  })
  return resizedBy(call, value, factors, to)
}

/** The middle of an image that is large enough. */
const centerCrop: Layer = (call) => {
  const value = call.cast(call.inputOfRank(4), 'f32')
  const from = call.fixed(value.shape.slice(1, 3), 'the size of its image')
  const to = [call.number('height'), call.number('width')]
  const starts = from.map((size, axis) => Math.floor((size - to[axis]!) / 2))
  if (starts.some((start) => start < 0)) throw call.refuse('its image is smaller than its result; use Resizing.')
  const stops = starts.map((start, axis) => start + to[axis]!)
  const bounds = [starts, stops, [2, 3]].map((each) => call.integers(each))
  return spatialResult(call, value, call.emit('Slice', [call.first(value), ...bounds]), to, value.shape[3]!)
}

/** A layer for one, two and three axes, by the number in its name. */
const forAxes = (make: (axes: number) => Layer, name: string, most = 3): [string, Layer][] =>
  range(most).map((at) => [name.replace('#', `${at + 1}D`), make(at + 1)])

const operator =
  (make: (axes: number) => Layer): Layer =>
  (call) =>
    make(call.input().shape.length - 2)(call)

export const SPATIAL_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries([
    ...forAxes(conv('plain'), 'Conv#'),
    ...forAxes(conv('depthwise'), 'DepthwiseConv#', 2),
    ...forAxes(conv('separable'), 'SeparableConv#', 2),
    ...forAxes(transposed, 'Conv#Transpose'),
    ...forAxes(pool('MaxPool'), 'MaxPooling#'),
    ...forAxes(pool('AveragePool'), 'AveragePooling#'),
    ...forAxes(adaptivePool('ReduceMax'), 'AdaptiveMaxPooling#'),
    ...forAxes(adaptivePool('ReduceMean'), 'AdaptiveAveragePooling#'),
    ...forAxes(globalPool('ReduceMax'), 'GlobalMaxPooling#'),
    ...forAxes(globalPool('ReduceMean'), 'GlobalAveragePooling#'),
    ...forAxes(zeroPadding, 'ZeroPadding#'),
    ...forAxes(cropping, 'Cropping#'),
    ...forAxes(upsampling, 'UpSampling#'),
  ]),
  Resizing: resize,
  CenterCrop: centerCrop,
}

/** Pools as operators of keras.ops. */
export const POOL_OPERATORS: Readonly<Record<string, Layer>> = {
  MaxPool: operator(pool('MaxPool')),
  AveragePool: operator(pool('AveragePool')),
}
