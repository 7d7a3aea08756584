// Activation functions.
import { float, int } from '../../onnx/model.ts'
import type { Operator } from '../lowering.ts'
import { constant, gated, input, named, scaledBy, unaries, unary } from './operands.ts'

/** GELU: x · Φ(x), or its approximation by tanh (arXiv 1606.08415, section 2). */
const gelu: Operator = gated((node, x) => {
  const halfOf = (value: string) =>
    node.emit('Mul', [node.emit('Add', [value, constant(node, 1)]), constant(node, 0.5)])
  if (node.text('approximate', 'none') === 'none') {
    return halfOf(node.emit('Erf', [node.emit('Mul', [x, constant(node, Math.SQRT1_2)])]))
  }
  const cube = node.emit('Mul', [node.emit('Mul', [x, x]), x])
  const inner = node.emit('Add', [x, node.emit('Mul', [cube, constant(node, 0.044715)])])
  return halfOf(node.emit('Tanh', [node.emit('Mul', [inner, constant(node, Math.sqrt(2 / Math.PI))])]))
})

const softplus: Operator = (node) => {
  const beta = node.number('beta', 1)
  const scaled = scaledBy(node, input(node), beta)
  const soft = node.emit('Softplus', [scaled])
  const result = beta === 1 ? soft : node.emit('Div', [soft, constant(node, beta)])
  const limit = node.number('threshold', 20)
  // Above the threshold, the result is the input itself; from 16 on, both agree to seven digits.
  if (limit >= 16) return result
  return node.emit('Where', [node.emit('Greater', [scaled, constant(node, limit)]), input(node), result])
}

const elu: Operator = (node) => {
  if (node.number('input_scale', 1) !== 1) throw node.refuse('its input_scale is not 1.')
  const result = node.emit('Elu', [input(node)], { alpha: float(node.number('alpha', 1)) })
  return scaledBy(node, result, node.number('scale', 1))
}

/** One slope per channel, which is the second axis. */
const prelu: Operator = (node) => {
  const rank = node.rank()
  const isSingle = node.fixedShape('weight').every((size) => size === 1)
  const shape = isSingle ? [1] : [-1, ...new Array<number>(Math.max(0, rank - 2)).fill(1)]
  return node.emit('PRelu', [node.input(), node.reshape(node.input('weight'), shape)])
}

const glu: Operator = (node) => {
  const axis = node.axis('dim', -1)
  const [a, b] = node.emitSeveral('Split', [node.input()], 2, { axis: int(axis), num_outputs: int(2) })
  return node.emit('Mul', [a!, node.emit('Sigmoid', [b!])])
}

/** In evaluation, the slope is the mean of its bounds. */
const randomizedRelu: Operator = (node) => {
  const slope = (node.number('lower', 1 / 8) + node.number('upper', 1 / 3)) / 2
  return node.emit('LeakyRelu', [input(node)], { alpha: float(slope) })
}

const threshold: Operator = (node) => {
  const above = node.emit('Greater', [input(node), constant(node, node.number('threshold'))])
  return node.emit('Where', [above, input(node), constant(node, node.number('value'))])
}

const softmax =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [input(node)], { axis: int(node.axis('dim')) })

export const ACTIVATIONS: Readonly<Record<string, Operator>> = {
  ...unaries('mish relu selu sigmoid softsign'),
  hardswish: unary('HardSwish'),
  hardtanh: (node) => {
    const bounds = [node.number('min_val', -1), node.number('max_val', 1)]
    return node.emit('Clip', [input(node), ...bounds.map((bound) => constant(node, bound))])
  },
  relu6: (node) => node.emit('Clip', [input(node), constant(node, 0), constant(node, 6)]),
  hardsigmoid: (node) => node.emit('HardSigmoid', [input(node)], { alpha: float(1 / 6), beta: float(0.5) }),
  leaky_relu: (node) => node.emit('LeakyRelu', [input(node)], { alpha: float(node.number('negative_slope', 0.01)) }),
  ...named('rrelu rrelu_with_noise_functional', randomizedRelu),
  hardshrink: (node) => node.emit('Shrink', [input(node)], { lambd: float(node.number('lambd', 0.5)), bias: float(0) }),
  softshrink: (node) => {
    const lambda = float(node.number('lambd', 0.5))
    return node.emit('Shrink', [input(node)], { lambd: lambda, bias: lambda })
  },
  celu: (node) => node.emit('Celu', [input(node)], { alpha: float(node.number('alpha', 1)) }),
  elu,
  ...named('prelu _prelu_kernel', prelu),
  softplus,
  log_sigmoid: (node) => node.emit('Neg', [node.emit('Softplus', [node.emit('Neg', [input(node)])])]),
  silu: gated((node, x) => node.emit('Sigmoid', [x])),
  gelu,
  glu,
  threshold,
  ...named('softmax _softmax', softmax('Softmax')),
  ...named('log_softmax _log_softmax', softmax('LogSoftmax')),
}
