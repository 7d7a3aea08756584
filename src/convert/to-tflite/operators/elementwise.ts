import { badRequest } from '../../../domain/errors.ts'
import type { Lower } from '../lowering.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { ACTIVATIONS } from './activations.ts'
import {
  arithmetic,
  broadcast,
  broadcasting,
  castTo,
  many,
  operands,
  orderOfResult,
  simple,
  unary,
} from './arithmetic.ts'
import { absolute, by, negative, signOf, wholePower, wideQuotient } from './integers.ts'

/** Abramowitz and Stegun 7.1.26: the error is at most 1.5e-7. */
const erf = (graph: TfliteGraph, x: Tensor): Tensor => {
  const { add, sub, mul, div, exp, neg, abs, sign } = arithmetic(graph)
  const t = div(1, add(1, mul(0.3275911, abs(x))))
  const terms = [-1.453152027, 1.421413741, -0.284496736, 0.254829592]
  const sum = terms.reduce<Tensor>((total, term) => add(mul(total, t), term), graph.scalar('f32', 1.061405429))
  return mul(sub(1, mul(mul(sum, t), exp(neg(mul(x, x))))), sign(x))
}

/** Powers of integers up to this one are products. */
const MAX_PRODUCTS = 8

const cast: Lower = unary((x, node, graph) => castTo(graph, x, node.result().type))

const divide: Lower = (node) => {
  if (node.result().type !== 'i64') return broadcast('DIV')(node)
  const order = orderOfResult(node)
  const [a, b] = operands(node, order)
  node.define(wideQuotient(node.graph, a!, b!), order)
}

/** Elementwise operators. */
export const ELEMENTWISE: Readonly<Record<string, Lower>> = {
  ...ACTIVATIONS,
  Abs: by(absolute),
  Add: broadcast('ADD'),
  And: broadcast('LOGICAL_AND'),
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
  Equal: broadcast('EQUAL'),
  Erf: unary((x, _node, graph) => erf(graph, x)),
  Exp: simple('EXP'),
  Floor: simple('FLOOR'),
  Greater: broadcast('GREATER'),
  GreaterOrEqual: broadcast('GREATER_EQUAL'),
  Identity: unary((x) => x),
  IsNaN: unary((x, _node, graph) => arithmetic(graph).notEqual(x, x)),
  Less: broadcast('LESS'),
  LessOrEqual: broadcast('LESS_EQUAL'),
  Log: simple('LOG'),
  Max: many('MAXIMUM'),
  Mean: many('ADD', (node, total) => arithmetic(node.graph).mul(total, 1 / node.node.inputs.length)),
  Min: many('MINIMUM'),
  Mod: (node) => {
    if (node.int('fmod') !== 0) throw badRequest('fmod is not supported by TFLite.')
    broadcast('FLOOR_MOD')(node)
  },
  Mul: broadcast('MUL'),
  Neg: by(negative),
  Not: simple('LOGICAL_NOT', 'bool'),
  Or: broadcast('LOGICAL_OR'),
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
  Sub: broadcast('SUB'),
  Sum: many('ADD'),
  Tan: unary((x, _node, graph) => arithmetic(graph).div(graph.operator('SIN', [x]), graph.operator('COS', [x]))),
  Where: broadcast('SELECT_V2'),
  Xor: broadcast('NOT_EQUAL'),
}
