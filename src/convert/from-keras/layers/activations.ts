import { type Attribute, float, int } from '../../onnx/model.ts'
import { isObject, type Json } from '../keras-config.ts'
import { functionName, type Layer, type LayerCall, permuted, type Value } from '../layer-call.ts'

type Function = (call: LayerCall, x: string, value: Value) => string

const emitted =
  (type: string, attributes: Readonly<Record<string, Attribute>> = {}): Function =>
  (call, x) =>
    call.emit(type, [x], attributes)

/** Along the channels, which is the last axis in Keras. */
const alongChannels =
  (type: string): Function =>
  (call, x, value) =>
    call.emit(type, [x], { axis: int(value.channelsFirst ? 1 : value.shape.length - 1) })

const clip =
  (low: number, high: number): Function =>
  (call, x) =>
    call.emit('Clip', [x, call.scalar(low), call.scalar(high)])

/** Keras 3 divides by 6; Keras 2 has a slope of 0.2. */
const hardSigmoid: Function = (call, x) =>
  call.emit('HardSigmoid', [x], { alpha: float(call.scope.isKeras2 ? 0.2 : 1 / 6), beta: float(0.5) })

const silu: Function = (call, x) => call.emit('Mul', [x, call.emit('Sigmoid', [x])])

/** arXiv 1606.08415, section 2. */
const gelu: Function = (call, x) => {
  const phi = call.emit('Add', [call.emit('Erf', [call.emit('Mul', [x, call.scalar(Math.SQRT1_2)])]), call.scalar(1)])
  return call.emit('Mul', [call.emit('Mul', [x, phi]), call.scalar(0.5)])
}

const FUNCTIONS: ReadonlyMap<string, Function> = new Map<string, Function>([
  ['linear', (_, x) => x],
  ['relu', emitted('Relu')],
  ['relu6', clip(0, 6)],
  ['sigmoid', emitted('Sigmoid')],
  ['tanh', emitted('Tanh')],
  ['softmax', alongChannels('Softmax')],
  ['log_softmax', alongChannels('LogSoftmax')],
  ['softplus', emitted('Softplus')],
  ['softsign', emitted('Softsign')],
  ['elu', emitted('Elu')],
  ['selu', emitted('Selu')],
  ['celu', emitted('Celu')],
  ['exponential', emitted('Exp')],
  ['swish', silu],
  ['silu', silu],
  ['gelu', gelu],
  ['mish', emitted('Mish')],
  ['hard_sigmoid', hardSigmoid],
  ['hard_silu', emitted('HardSwish')],
  ['hard_swish', emitted('HardSwish')],
  ['leaky_relu', emitted('LeakyRelu', { alpha: float(0.2) })],
  ['hard_tanh', clip(-1, 1)],
  ['log_sigmoid', (call, x) => call.emit('Neg', [call.emit('Softplus', [call.emit('Neg', [x])])])],
])

/** The value after an activation function of a config. */
export const activated = (call: LayerCall, value: Value, setting: Json | undefined): Value => {
  if (setting === undefined || setting === null) return value
  const name = functionName(setting)
  const known = FUNCTIONS.get(name)
  if (known !== undefined) return call.like(value, known(call, value.name, value))
  const layer =
    isObject(setting) && isObject(setting.config) ? ACTIVATIONS[functionName(setting.class_name)] : undefined
  if (layer === undefined)
    throw call.refuse(`its activation '${name}' has no conversion; use relu, gelu, silu or another known one.`)
  return layer(withConfig(call, setting), value)
}

const withConfig = (call: LayerCall, setting: Json): LayerCall =>
  Object.create(call, {
    layer: { value: { ...call.layer, config: isObject(setting) && isObject(setting.config) ? setting.config : {} } },
  }) as LayerCall

/** min(max(x, threshold), max_value), with a slope below the threshold. */
const relu = (call: LayerCall, value: Value): Value => {
  const slope = call.number('negative_slope', call.number('alpha', 0))
  const threshold = call.number('threshold', call.number('theta', 0))
  const top = call.config.max_value
  let x = value.name
  if (threshold !== 0) {
    const above = call.emit('GreaterOrEqual', [x, call.scalar(threshold)])
    const below = call.emit('Mul', [call.emit('Sub', [x, call.scalar(threshold)]), call.scalar(slope)])
    x = call.emit('Where', [above, x, below])
  } else x = slope === 0 ? call.emit('Relu', [x]) : call.emit('LeakyRelu', [x], { alpha: float(slope) })
  return call.like(value, typeof top === 'number' ? call.emit('Min', [x, call.scalar(top)]) : x)
}

const leakyRelu = (call: LayerCall, value: Value): Value => {
  const alpha = float(call.number('negative_slope', call.number('alpha', 0.3)))
  return call.like(value, call.emit('LeakyRelu', [value.name], { alpha }))
}

const elu = (call: LayerCall, value: Value): Value =>
  call.like(value, call.emit('Elu', [value.name], { alpha: float(call.number('alpha', 1)) }))

const softmax = (call: LayerCall, value: Value): Value => {
  const rank = value.shape.length
  const axis = call.config.axis ?? -1
  if (typeof axis !== 'number') throw call.refuse('it runs over several axes.')
  return call.result(
    call.emit('Softmax', [call.last(value)], { axis: int(axis < 0 ? axis + rank : axis) }),
    value.shape,
  )
}

const ACTIVATIONS: Readonly<Record<string, (call: LayerCall, value: Value) => Value>> = {
  ReLU: relu,
  LeakyReLU: leakyRelu,
  ELU: elu,
  Softmax: softmax,
  ThresholdedReLU: (call, value) => {
    const above = call.emit('Greater', [value.name, call.scalar(call.number('theta', 1))])
    return call.like(value, call.emit('Where', [above, value.name, call.scalar(0)]))
  },
}

/** One slope for each element but those of shared axes. */
const prelu: Layer = (call) => {
  const value = call.input()
  const alpha = call.weightOfRank('alpha', value.shape.length - 1)
  const order = value.channelsFirst
    ? [alpha.shape.length - 1, ...alpha.shape.keys()].slice(0, -1)
    : [...alpha.shape.keys()]
  const slopes = permuted(alpha, order)
  return call.like(value, call.emit('PRelu', [value.name, call.constant('alpha', slopes)]))
}

export const ACTIVATION_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries(
    Object.entries(ACTIVATIONS).map(([name, make]): [string, Layer] => [name, (call) => make(call, call.input())]),
  ),
  PReLU: prelu,
  Activation: (call) => activated(call, call.input(), call.config.activation),
}
