import { badRequest } from '../../../domain/errors.ts'
import type { Lower } from '../lowering.ts'
import { arithmetic, castTo, operands, orderOfResult, simple, softplus, unary } from './arithmetic.ts'
import { by, rectified } from './integers.ts'

const clip: Lower = (node) => {
  const order = node.order(0)
  const bound = (at: number, name: string, absent: number): number => {
    if (node.has(at)) return Number(node.weights(at, name).values[0])
    return node.opset < 11 ? node.float(name, absent) : absent
  }
  const computed = [1, 2].some((at) => node.has(at) && !node.isConstant(at))
  const { type } = node.result()
  const { min, max } = arithmetic(node.graph)
  let x = node.value(0, order)
  if (computed) {
    if (node.has(1)) x = max(x, node.value(1))
    if (node.has(2)) x = min(x, node.value(2))
    return node.define(x, order)
  }
  const [low, high] = [bound(1, 'min', -Infinity), bound(2, 'max', Infinity)]
  if (type === 'f32' && low === 0 && high === 6) return node.define(node.graph.operator('RELU6', [x]), order)
  if (type === 'f32' && low === 0) x = node.graph.operator('RELU', [x])
  else if (low > -3.4028234e38) x = max(x, node.graph.scalar(type, low))
  if (high < 3.4028234e38) x = min(x, node.graph.scalar(type, high))
  node.define(x, order)
}

const prelu: Lower = (node) => {
  const order = orderOfResult(node)
  const { mul, min, add, relu } = arithmetic(node.graph)
  const [x, slope] = operands(node, order)
  node.define(add(relu(x!), mul(slope!, min(x!, 0))), order)
}

export const ACTIVATIONS: Readonly<Record<string, Lower>> = {
  Celu: unary((x, node, graph) => {
    const { add, mul, min, relu, sub, exp, div } = arithmetic(graph)
    const alpha = node.float('alpha', 1)
    return add(relu(x), min(0, mul(alpha, sub(exp(div(min(x, 0), alpha)), 1))))
  }),
  Clip: clip,
  Elu: unary((x, node, graph) => {
    const alpha = node.float('alpha', 1)
    const { add, mul, min, relu, sub, exp } = arithmetic(graph)
    return alpha === 1 ? graph.operator('ELU', [x]) : add(relu(x), mul(alpha, sub(exp(min(x, 0)), 1)))
  }),
  Gelu: unary((x, node, graph) =>
    graph.operator('GELU', [x], {}, { approximate: node.text('approximate', 'none') === 'tanh' }),
  ),
  HardSigmoid: unary((x, node, graph) => {
    const { add, mul, min, max } = arithmetic(graph)
    return min(1, max(0, add(mul(x, node.float('alpha', 0.2)), node.float('beta', 0.5))))
  }),
  HardSwish: simple('HARD_SWISH'),
  LeakyRelu: unary((x, node, graph) => graph.operator('LEAKY_RELU', [x], {}, { alpha: node.float('alpha', 0.01) })),
  Mish: unary((x, _node, graph) => arithmetic(graph).mul(x, arithmetic(graph).tanh(softplus(graph, x)))),
  PRelu: prelu,
  Relu: by(rectified),
  Selu: unary((x, node, graph) => {
    const { add, mul, min, relu, sub, exp } = arithmetic(graph)
    const [alpha, gamma] = [node.float('alpha', 1.6732632), node.float('gamma', 1.0507009)]
    return mul(gamma, add(relu(x), mul(alpha, sub(exp(min(x, 0)), 1))))
  }),
  Sigmoid: simple('LOGISTIC'),
  Shrink: unary((x, node, graph) => {
    const { add, sub, max, min } = arithmetic(graph)
    const [bias, lambd] = [node.float('bias'), node.float('lambd', 0.5)]
    if (bias !== lambd) throw badRequest('Only a soft shrink, whose bias is lambd, is supported.')
    return add(max(sub(x, bias), 0), min(add(x, bias), 0))
  }),
  Softplus: unary((x, _node, graph) => softplus(graph, x)),
  Softsign: unary((x, _node, graph) => {
    const { div, add, abs } = arithmetic(graph)
    return div(x, add(1, abs(x)))
  }),
  Swish: unary((x, node, graph) => {
    const { mul, sigmoid } = arithmetic(graph)
    return mul(x, sigmoid(mul(x, node.float('alpha', 1))))
  }),
  Tanh: simple('TANH'),
  ThresholdedRelu: unary((x, node, graph) => {
    const { greater, mul } = arithmetic(graph)
    return mul(x, castTo(graph, greater(x, node.float('alpha', 1)), 'f32'))
  }),
}
