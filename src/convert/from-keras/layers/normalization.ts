// Layers that scale their input by statistics or constants.
import { elementCount, float, int } from '../../onnx/model.ts'
import { numbersOf, tensorOf } from '../../onnx/tensors.ts'
import { numbersIn } from '../keras-config.ts'
import type { Layer, LayerCall, Value } from '../layer-call.ts'

/** The axis in the setting, which must be the last one. */
const requireLastAxis = (call: LayerCall, value: Value): number => {
  const rank = value.shape.length
  const axes = call.axes('axis', rank, -1)
  if (axes.length !== 1 || axes[0] !== rank - 1) throw call.refuse('it normalizes an axis other than the last one.')
  return call.fixed(value.shape.slice(-1), 'the last axis')[0]!
}

type Numbers = ArrayLike<number>

/** This many numbers; a single number is repeated. */
const repeated = (numbers: Numbers, length: number): Float64Array =>
  Float64Array.from({ length }, (_, at) => numbers[numbers.length === 1 ? 0 : at]!)

const sizesOf = (call: LayerCall, value: Value, axes: readonly number[]): number[] => {
  const sizes = axes.map((axis) => value.shape[axis]!)
  return call.fixed(sizes, 'the shape of its input')
}

/** x · scale + offset, each with one number per index of the axes, or one for all. */
const scaled = (call: LayerCall, given: Value, axes: readonly number[], scale: Numbers, offset: Numbers): Value => {
  const rank = given.shape.length
  const stays = given.channelsFirst && axes.every((axis) => axis === rank - 1)
  const value = stays ? given : { ...given, name: call.last(given), channelsFirst: false }
  const sizes = sizesOf(call, value, axes)
  const apply = (type: string, x: string, name: string, numbers: Numbers) => {
    const shape = new Array<number>(rank).fill(1)
    if (numbers.length !== 1) for (const [at, axis] of axes.entries()) shape[stays ? 1 : axis] = sizes[at]!
    const start = shape.findIndex((size) => size !== 1)
    return call.emit(type, [x, call.constant(name, tensorOf('f32', start < 0 ? [1] : shape.slice(start), numbers))])
  }
  return call.like(value, apply('Add', apply('Mul', value.name, 'scale', scale), 'offset', offset))
}

/** The numbers of a weight, or a single number for all. */
const numbersFor = (call: LayerCall, name: string, absent: number): Float32Array | Float64Array => {
  const weight = call.optionalWeight(name)
  return weight === undefined ? Float32Array.of(absent) : numbersOf(weight)
}

const batchNorm: Layer = (call) => {
  const value = call.input()
  const axes = call.axes('axis', value.shape.length, -1)
  const mean = numbersOf(call.weight('moving_mean'))
  const variance = numbersOf(call.weight('moving_variance'))
  const full = (name: string, absent: number) => repeated(numbersFor(call, name, absent), mean.length)
  const [gamma, beta] = [full('gamma', 1), full('beta', 0)]
  const epsilon = call.number('epsilon', 1e-3)
  if (axes[0] === value.shape.length - 1 && (value.channelsFirst || value.shape.length === 2)) {
    const parts = { gamma, beta, moving_mean: mean, moving_variance: variance }
    const inputs = Object.entries(parts).map(([name, values]) => call.vector(name, values))
    return call.like(value, call.emit('BatchNormalization', [value.name, ...inputs], { epsilon: float(epsilon) }))
  }
  const scale = gamma.map((each, at) => each / Math.sqrt(variance[at]! + epsilon))
  const offset = beta.map((each, at) => each - mean[at]! * scale[at]!)
  return scaled(call, value, axes, scale, offset)
}

/** x / √(variance + ε) over the axes, minus the mean unless `rms_scaling`, then a scale and an offset. */
const layerNorm: Layer = (call) => {
  const value = call.input()
  const rank = value.shape.length
  const axes = call.axes('axis', rank, -1)
  const epsilon = call.number('epsilon', 1e-3)
  const x = call.last(value)
  const isRms = call.flag('rms_scaling')
  if (!isRms && axes.every((axis, at) => axis === rank - axes.length + at)) {
    const sizes = sizesOf(call, value, axes)
    const constant = (name: string, absent: number) =>
      call.constant(name, tensorOf('f32', sizes, repeated(numbersFor(call, name, absent), elementCount(sizes))))
    const inputs = [x, constant('gamma', 1), ...(call.optionalWeight('beta') ? [constant('beta', 0)] : [])]
    const name = call.emit('LayerNormalization', inputs, { axis: int(-axes.length), epsilon: float(epsilon) })
    return call.result(name, value.shape, { mask: value.mask })
  }
  const mean = (name: string) => call.emit('ReduceMean', [name, call.integers(axes)])
  const centered = call.emit('Sub', [x, mean(x)])
  const variance = mean(call.emit('Mul', [centered, centered]))
  const deviation = call.emit('Sqrt', [call.emit('Add', [variance, call.scalar(epsilon)])])
  const even = call.result(call.emit('Div', [isRms ? x : centered, deviation]), value.shape, { mask: value.mask })
  return scaled(call, even, axes, numbersFor(call, 'gamma', 1), numbersFor(call, 'beta', 0))
}

/** Normalizes over the channels of each group and all steps, then applies a scale and an offset per channel. */
const groupNorm: Layer = (call) => {
  const value = call.input()
  const channels = requireLastAxis(call, value)
  const requested = call.number('groups', 32)
  const groups = requested === -1 ? channels : requested
  if (groups < 1 || channels % groups !== 0) throw call.refuse(`${channels} channels are not ${groups} groups.`)
  const x = call.first(value)
  const grouped = call.reshape(x, [0, groups, -1])
  const unit = [call.vector('one', new Float32Array(groups).fill(1)), call.vector('zero', new Float32Array(groups))]
  const epsilon = float(call.number('epsilon', 1e-3))
  const even = call.emit('InstanceNormalization', [grouped, ...unit], { epsilon })
  const result = { ...value, name: call.emit('Reshape', [even, call.emit('Shape', [x])]), channelsFirst: true }
  return scaled(call, result, [value.shape.length - 1], numbersFor(call, 'gamma', 1), numbersFor(call, 'beta', 0))
}

/** x / √(mean of squares + ε), times a scale per channel. */
const rmsNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const x = call.last(value)
  const mean = call.emit('ReduceMean', [call.emit('Mul', [x, x]), call.integers([-1])])
  const epsilon = call.scalar(call.number('epsilon', 1e-6))
  const even = call.emit('Div', [x, call.emit('Sqrt', [call.emit('Add', [mean, epsilon])])])
  const scale = call.vector('scale', numbersOf(call.weight('scale')))
  return call.result(call.emit('Mul', [even, scale]), value.shape, { mask: value.mask })
}

/** (x − mean) / max(√variance, 1e-7), with adapted or given statistics. */
const normalization: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const axes = call.config.axis === null ? [] : call.axes('axis', value.shape.length, -1)
  const statistics = (name: string) => {
    const weight = call.optionalWeight(name)
    return Float64Array.from(weight === undefined ? numbersIn(call.config[name]) : numbersOf(weight))
  }
  const [mean, variance] = [statistics('mean'), statistics('variance')]
  const deviation = variance.map((each) => Math.max(Math.sqrt(each), 1e-7))
  if (call.flag('invert')) return scaled(call, value, axes, deviation, mean)
  const divisors = repeated(deviation, mean.length)
  const offset = mean.map((each, at) => -each / divisors[at]!)
  const scale = deviation.map((each) => 1 / each)
  return scaled(call, value, axes, scale, offset)
}

const rescaling: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const [scale, offset] = [numbersIn(call.config.scale), numbersIn(call.config.offset)]
  return scaled(call, value, [value.shape.length - 1], scale, offset.length === 0 ? [0] : offset)
}

export const NORMALIZATION_LAYERS: Readonly<Record<string, Layer>> = {
  BatchNormalization: batchNorm,
  LayerNormalization: layerNorm,
  GroupNormalization: groupNorm,
  RMSNormalization: rmsNorm,
  Normalization: normalization,
  Rescaling: rescaling,
  // From keras.applications: ConvNeXt's scale per channel.
  LayerScale: (call) => {
    const value = call.input()
    return scaled(call, value, [value.shape.length - 1], numbersOf(call.weight('gamma')), [0])
  },
}
