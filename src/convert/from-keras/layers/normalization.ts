// Layers that scale what they are given by statistics or constants.
import { float, int } from '../../onnx/model.ts'
import { numbersOf, tensorOf } from '../../onnx/tensors.ts'
import { numbersIn } from '../keras-config.ts'
import type { Layer, LayerCall, Value } from '../layer-call.ts'

const requireLastAxis = (call: LayerCall, value: Value): void => {
  const axis = call.config.axis ?? -1
  const axes = Array.isArray(axis) ? axis : [axis]
  if (axes.length !== 1 || (axes[0] !== -1 && axes[0] !== value.shape.length - 1)) {
    throw call.refuse('it normalizes another axis than the last one.')
  }
}

/** Per channel: x · scale + offset. */
const scaled = (call: LayerCall, value: Value, scale: ArrayLike<number>, offset: ArrayLike<number>): Value => {
  const shape = value.channelsFirst
    ? [scale.length, ...new Array<number>(value.shape.length - 2).fill(1)]
    : [scale.length]
  const constant = (name: string, values: ArrayLike<number>) => call.constant(name, tensorOf('f32', shape, values))
  const product = call.emit('Mul', [value.name, constant('scale', scale)])
  return call.like(value, call.emit('Add', [product, constant('offset', offset)]))
}

const batchNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const mean = numbersOf(call.weight('moving_mean'))
  const variance = numbersOf(call.weight('moving_variance'))
  const orAll = (name: string, absent: number) => {
    const weight = call.optionalWeight(name)
    return weight === undefined ? new Float32Array(mean.length).fill(absent) : numbersOf(weight)
  }
  const [gamma, beta] = [orAll('gamma', 1), orAll('beta', 0)]
  const epsilon = call.number('epsilon', 1e-3)
  if (value.channelsFirst || value.shape.length === 2) {
    const parts = { gamma, beta, moving_mean: mean, moving_variance: variance }
    const inputs = Object.entries(parts).map(([name, values]) => call.vector(name, values))
    return call.like(value, call.emit('BatchNormalization', [value.name, ...inputs], { epsilon: float(epsilon) }))
  }
  const scale = Float64Array.from(gamma, (each, at) => each / Math.sqrt(variance[at]! + epsilon))
  return scaled(
    call,
    value,
    scale,
    Float64Array.from(beta, (each, at) => each - mean[at]! * scale[at]!),
  )
}

const layerNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const [width] = call.fixed(value.shape.slice(-1), 'the last axis')
  const gamma = call.optionalWeight('gamma')
  const beta = call.optionalWeight('beta')
  const scale = gamma === undefined ? new Float32Array(width!).fill(1) : numbersOf(gamma)
  const inputs = [call.last(value), call.vector('gamma', scale)]
  if (beta !== undefined) inputs.push(call.vector('beta', numbersOf(beta)))
  const name = call.emit('LayerNormalization', inputs, { axis: int(-1), epsilon: float(call.number('epsilon', 1e-3)) })
  return call.result(name, value.shape, { mask: value.mask })
}

/** Over the channels of each group and all steps, then a scale and an offset for each channel. */
const groupNorm: Layer = (call) => {
  const value = call.input()
  requireLastAxis(call, value)
  const [channels] = call.fixed(value.shape.slice(-1), 'the last axis')
  const asked = call.number('groups', 32)
  const groups = asked === -1 ? channels! : asked
  if (groups < 1 || channels! % groups !== 0) throw call.refuse(`${channels} channels are not ${groups} groups.`)
  const x = call.first(value)
  const grouped = call.emit('Reshape', [x, call.integers([0, groups, -1])])
  const unit = [call.vector('one', new Float32Array(groups).fill(1)), call.vector('zero', new Float32Array(groups))]
  const epsilon = float(call.number('epsilon', 1e-3))
  const even = call.emit('InstanceNormalization', [grouped, ...unit], { epsilon })
  const result = { ...value, name: call.emit('Reshape', [even, call.emit('Shape', [x])]), channelsFirst: true }
  const [gamma, beta] = [call.optionalWeight('gamma'), call.optionalWeight('beta')]
  const all = (absent: number) => new Float32Array(channels!).fill(absent)
  return scaled(call, result, gamma ? numbersOf(gamma) : all(1), beta ? numbersOf(beta) : all(0))
}

/** x / √(mean of squares + ε), times a scale for each channel. */
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

/** (x − mean) / max(√variance, 1e-7), with what was adapted or given. */
const normalization: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const axis = call.config.axis ?? -1
  const axes = numbersIn(axis)
  if (axes.length > 1 || (axes.length === 1 && axes[0] !== -1 && axes[0] !== value.shape.length - 1)) {
    throw call.refuse('it has statistics of other axes than the last one.')
  }
  const statistics = (name: string) => {
    const weight = call.optionalWeight(name)
    return weight === undefined ? Float64Array.from(numbersIn(call.config[name])) : numbersOf(weight)
  }
  const [mean, variance] = [statistics('mean'), statistics('variance')]
  const deviation = Float64Array.from(variance, (each) => Math.max(Math.sqrt(each), 1e-7))
  const plain = { ...value, name: call.last(value), channelsFirst: false }
  if (call.flag('invert')) return scaled(call, plain, deviation, mean)
  const offset = Float64Array.from(mean, (each, at) => -each / deviation[at]!)
  return scaled(
    call,
    plain,
    deviation.map((each) => 1 / each),
    offset,
  )
}

const rescaling: Layer = (call) => {
  const value = call.cast(call.input(), 'f32')
  const [scale, offset] = [numbersIn(call.config.scale), numbersIn(call.config.offset)]
  const length = Math.max(scale.length, offset.length, 1)
  const all = (values: number[]) => Array.from({ length }, (_, at) => values[values.length === 1 ? 0 : at] ?? 0)
  return scaled(call, { ...value, name: call.last(value), channelsFirst: false }, all(scale), all(offset))
}

export const NORMALIZATION_LAYERS: Readonly<Record<string, Layer>> = {
  BatchNormalization: batchNorm,
  LayerNormalization: layerNorm,
  GroupNormalization: groupNorm,
  RMSNormalization: rmsNorm,
  Normalization: normalization,
  Rescaling: rescaling,
}
