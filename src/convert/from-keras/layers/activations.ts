import { ownEntry } from '../../../domain/own-entry.ts'
import { transposeTensor } from '../../onnx/constants.ts'
import { type Attribute, float, int } from '../../onnx/model.ts'
import { isObject, type Json } from '../keras-config.ts'
import { functionName, type Layer, type LayerCall, type Value } from '../layer-call.ts'

export type Function = (call: LayerCall, x: string, value: Pick<Value, 'channelsFirst' | 'shape'>) => string

const emitted =
  (type: string, attributes: Readonly<Record<string, Attribute>> = {}): Function =>
  (call, x) =>
    call.emit(type, [x], attributes)

/** Along an axis; Keras's last axis, the channels, may be the second one here. */
const along =
  (type: string): Function =>
  (call, x, value) => {
    const rank = value.shape.length
    const axis = call.axis('axis', rank, -1)
    return call.emit(type, [x], {
      axis: int(!value.channelsFirst || axis === 0 ? axis : axis === rank - 1 ? 1 : axis + 1),
    })
  }

const parameter = (call: LayerCall, name: string, absent: number) => float(call.number(name, absent))

const clip =
  (low: number, high: number) =>
  (call: LayerCall, x: string): string =>
    call.emit('Clip', [x, call.scalar(low), call.scalar(high)])

/** Keras 3 divides by 6; Keras 2 uses a slope of 0.2. */
const hardSigmoid: Function = (call, x) =>
  call.emit('HardSigmoid', [x], { alpha: float(call.scope.isKeras2 ? 0.2 : 1 / 6), beta: float(0.5) })

const silu: Function = (call, x) => call.emit('Mul', [x, call.emit('Sigmoid', [x])])

/** arXiv 1606.08415, section 2. */
const gelu: Function = (call, x) => {
  if (call.flag('approximate')) {
    const cubic = call.emit('Mul', [call.emit('Mul', [x, call.emit('Mul', [x, x])]), call.scalar(0.044715)])
    const inner = call.emit('Mul', [call.emit('Add', [x, cubic]), call.scalar(Math.sqrt(2 / Math.PI))])
    const gate = call.emit('Add', [call.emit('Tanh', [inner]), call.scalar(1)])
    return call.emit('Mul', [call.emit('Mul', [x, call.scalar(0.5)]), gate])
  }
  const phi = call.emit('Add', [call.emit('Erf', [call.emit('Mul', [x, call.scalar(Math.SQRT1_2)])]), call.scalar(1)])
  return call.emit('Mul', [call.emit('Mul', [x, phi]), call.scalar(0.5)])
}

const softShrink: Function = (call, x) => {
  const threshold = parameter(call, 'threshold', 0.5)
  return call.emit('Shrink', [x], { lambd: threshold, bias: threshold })
}

/** (x + √(x² + b)) / 2, arXiv 2112.11687. */
const squareplus: Function = (call, x) => {
  const squares = call.emit('Add', [call.emit('Mul', [x, x]), call.scalar(call.number('b', 4))])
  return call.emit('Mul', [call.emit('Add', [x, call.emit('Sqrt', [squares])]), call.scalar(0.5)])
}

/** (x + 1)² / 4 between -1 and 1, 0 below and x above. */
const sparsePlus: Function = (call, x) => {
  const half = call.emit('Mul', [call.emit('Add', [clip(-1, 1)(call, x), call.scalar(1)]), call.scalar(0.5)])
  const above = call.emit('Relu', [call.emit('Sub', [x, call.scalar(1)])])
  return call.emit('Add', [call.emit('Mul', [half, half]), above])
}

const NODES: Readonly<Record<string, string>> = {
  ...{ relu: 'Relu', sigmoid: 'Sigmoid', tanh: 'Tanh', softplus: 'Softplus', softsign: 'Softsign', selu: 'Selu' },
  ...{ exponential: 'Exp', mish: 'Mish', hard_silu: 'HardSwish', hard_swish: 'HardSwish' },
}

const FUNCTIONS: ReadonlyMap<string, Function> = new Map<string, Function>([
  ['linear', (_, x) => x],
  ...Object.entries(NODES).map(([name, type]) => [name, emitted(type)] as const),
  ['relu6', clip(0, 6)],
  ['softmax', along('Softmax')],
  ['log_softmax', along('LogSoftmax')],
  ['elu', (call, x) => call.emit('Elu', [x], { alpha: parameter(call, 'alpha', 1) })],
  ['celu', (call, x) => call.emit('Celu', [x], { alpha: parameter(call, 'alpha', 1) })],
  ['swish', silu],
  ['silu', silu],
  ['gelu', gelu],
  ['hard_sigmoid', hardSigmoid],
  ['leaky_relu', (call, x) => call.emit('LeakyRelu', [x], { alpha: parameter(call, 'negative_slope', 0.2) })],
  ['tanh_shrink', (call, x) => call.emit('Sub', [x, call.emit('Tanh', [x])])],
  ['hard_shrink', (call, x) => call.emit('Shrink', [x], { lambd: parameter(call, 'threshold', 0.5) })],
  ['soft_shrink', softShrink],
  ['squareplus', squareplus],
  ['sparse_plus', sparsePlus],
  ['sparse_sigmoid', emitted('HardSigmoid', { alpha: float(0.5), beta: float(0.5) })],
  ['hard_tanh', clip(-1, 1)],
  ['log_sigmoid', (call, x) => call.emit('Neg', [call.emit('Softplus', [call.emit('Neg', [x])])])],
])

export const activationNamed = (name: string): Function | undefined => FUNCTIONS.get(name)

/** Applies an activation function from a config. */
export const activated = (call: LayerCall, value: Value, setting: Json | undefined): Value => {
  if (setting === undefined || setting === null) return value
  const name = functionName(setting)
  const known = FUNCTIONS.get(name)
  if (known !== undefined) return call.like(value, known(call, value.name, value))
  const layer =
    isObject(setting) && isObject(setting.config) ? ownEntry(ACTIVATIONS, functionName(setting.class_name)) : undefined
  if (layer === undefined)
    throw call.refuse(`its activation '${name}' has no conversion; use relu, gelu, silu, or another known one.`)
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
  const axes = call.axes('axis', value.shape.length, -1)
  if (axes.length === 1) {
    const settings = { ...call.config, axis: axes[0]! }
    return call.like(value, along('Softmax')(withConfig(call, { config: settings }), value.name, value))
  }
  const x = call.last(value)
  const over = call.integers(axes)
  const powers = call.emit('Exp', [call.emit('Sub', [x, call.emit('ReduceMax', [x, over])])])
  return call.result(call.emit('Div', [powers, call.emit('ReduceSum', [powers, over])]), value.shape)
}

/** x / √max(sum of squares, ε²) along the axes. */
export const normalized: Layer = (call) => {
  const value = call.input()
  if (call.number('order', 2) !== 2) throw call.refuse('its order is not 2.')
  const x = call.last(value)
  const over = call.integers(call.axes('axis', value.shape.length, -1))
  const squares = call.emit('ReduceSum', [call.emit('Mul', [x, x]), over])
  const least = call.scalar(call.number('epsilon', 1e-12) ** 2)
  return call.result(call.emit('Div', [x, call.emit('Sqrt', [call.emit('Max', [squares, least])])]), value.shape, {
    mask: value.mask,
  })
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

/** One slope per element, except along shared axes. */
const prelu: Layer = (call) => {
  const value = call.input()
  const alpha = call.weightOfRank('alpha', value.shape.length - 1)
  const order = value.channelsFirst
    ? [alpha.shape.length - 1, ...alpha.shape.keys()].slice(0, -1)
    : [...alpha.shape.keys()]
  const slopes = transposeTensor(alpha, order)
  return call.like(value, call.emit('PRelu', [value.name, call.constant('alpha', slopes)]))
}

export const ACTIVATION_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries(
    Object.entries(ACTIVATIONS).map(([name, make]): [string, Layer] => [name, (call) => make(call, call.input())]),
  ),
  PReLU: prelu,
  UnitNormalization: normalized,
  Activation: (call) => activated(call, call.input(), call.config.activation),
}
