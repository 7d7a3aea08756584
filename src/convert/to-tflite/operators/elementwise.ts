import { badRequest } from '../../../domain/errors.ts'
import type { Lower } from '../lowering.ts'
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { ACTIVATIONS } from './activations.ts'
import { arithmetic, binary, broadcasting, castTo, many, operands, orderOfResult, simple, unary } from './arithmetic.ts'
import { absolute, by, negative, signOf, wholePower, wideQuotient } from './integers.ts'

/** Abramowitz and Stegun 7.1.26: the error is at most 1.5e-7. */
const erf = (graph: TfliteGraph, x: Tensor): Tensor => {
  const { add, sub, mul, div, exp, neg, abs } = arithmetic(graph)
  const t = div(1, add(1, mul(0.3275911, abs(x))))
  const terms = [-1.453152027, 1.421413741, -0.284496736, 0.254829592]
  const sum = terms.reduce<Tensor>((total, term) => add(mul(total, t), term), graph.constant('f32', [], [1.061405429]))
  const size = sub(1, mul(mul(sum, t), exp(neg(mul(x, x)))))
  return mul(size, graph.operator('SIGN', [x]))
}

/** Powers of integers up to this one are products. */
const MAX_PRODUCTS = 8

const cast: Lower = unary((x, node, graph) => castTo(graph, x, node.result().type))

const divide: Lower = (node) => {
  if (node.result().type === 'f32') return binary('DIV')(node)
  const order = orderOfResult(node)
  const { type } = node.result()
  const [a, b] = operands(node, order)
  node.define(
    type === 'i64' ? wideQuotient(node.graph, a!, b!) : broadcasting(node.graph, 'DIV', [a!, b!], type),
    order,
  )
}

const compare =
  (name: OperatorName): Lower =>
  (node) => {
    const order = orderOfResult(node)
    node.define(broadcasting(node.graph, name, operands(node, order), 'bool'), order)
  }

const where: Lower = (node) => {
  const order = orderOfResult(node)
  node.define(broadcasting(node.graph, 'SELECT_V2', operands(node, order), node.result().type), order)
}

const notEqual = (graph: TfliteGraph, a: Tensor, b: Tensor): Tensor => broadcasting(graph, 'NOT_EQUAL', [a, b], 'bool')

/** Elementwise operators. */
export const ELEMENTWISE: Readonly<Record<string, Lower>> = {
  ...ACTIVATIONS,
  Abs: by(absolute),
  Add: binary('ADD'),
  And: compare('LOGICAL_AND'),
  Cast: cast,
  CastLike: cast,
  Ceil: simple('CEIL'),
  Cos: simple('COS'),
  Cosh: unary((x, _node, graph) => {
    const { add, mul, exp, neg } = arithmetic(graph)
    return mul(0.5, add(exp(x), exp(neg(x))))
  }),
  Div: divide,
  Dropout: unary((x, node) => {
    if (node.has(2) || node.wants(1))
      throw badRequest('Dropout in training mode is not supported; export for inference.')
    return x
  }),
  Equal: compare('EQUAL'),
  Erf: unary((x, _node, graph) => erf(graph, x)),
  Exp: simple('EXP'),
  Floor: simple('FLOOR'),
  Greater: compare('GREATER'),
  GreaterOrEqual: compare('GREATER_EQUAL'),
  Identity: unary((x) => x),
  IsNaN: unary((x, _node, graph) => notEqual(graph, x, x)),
  Less: compare('LESS'),
  LessOrEqual: compare('LESS_EQUAL'),
  Log: simple('LOG'),
  Max: many('MAXIMUM'),
  Mean: many('ADD', (node, total) => arithmetic(node.graph).mul(total, 1 / node.node.inputs.length)),
  Min: many('MINIMUM'),
  Mod: (node) => {
    if (node.int('fmod') !== 0) throw badRequest('fmod is not supported by TFLite.')
    binary('FLOOR_MOD')(node)
  },
  Mul: binary('MUL'),
  Neg: by(negative),
  Not: simple('LOGICAL_NOT', 'bool'),
  Or: compare('LOGICAL_OR'),
  Pow: (node) => {
    const order = orderOfResult(node)
    const [base, exponent] = operands(node, order)
    const whole = node.constant(1)?.values
    if (base!.type === 'f32' && whole?.length === 1 && whole[0] === 2) {
      return node.define(node.graph.operator('SQUARE', [base!]), order)
    }
    const times = whole?.length === 1 && Number.isInteger(whole[0]) ? whole[0]! : 0
    if (base!.type !== 'f32' && times >= 1 && times <= MAX_PRODUCTS)
      return node.define(wholePower(node.graph, base!, times), order)
    // The kernel supports float32 and 32-bit integers.
    const type = base!.type === 'f32' ? 'f32' : 'i32'
    const tensors = [castTo(node.graph, base!, type), castTo(node.graph, exponent!, type)]
    node.define(castTo(node.graph, broadcasting(node.graph, 'POW', tensors, type), base!.type), order)
  },
  Reciprocal: unary((x, _node, graph) => arithmetic(graph).div(1, x)),
  Round: simple('ROUND'),
  Sign: by(signOf),
  Sin: simple('SIN'),
  Sinh: unary((x, _node, graph) => {
    const { sub, mul, exp, neg } = arithmetic(graph)
    return mul(0.5, sub(exp(x), exp(neg(x))))
  }),
  Sqrt: simple('SQRT'),
  Sub: binary('SUB'),
  Sum: many('ADD'),
  Tan: unary((x, _node, graph) => arithmetic(graph).div(graph.operator('SIN', [x]), graph.operator('COS', [x]))),
  Where: where,
  Xor: compare('NOT_EQUAL'),
}
