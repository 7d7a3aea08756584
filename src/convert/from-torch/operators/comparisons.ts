// Comparisons, logic, bit operations, and choices between elements.
import type { DType } from '../../../tensors/weight-file.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { binary, constant, input, isFloat, named, unary } from './operands.ts'

/** The type in which operands are compared: floating point before integers, wider before narrower. */
const ORDER = 'f64 f32 bf16 f16 u64 i64 u32 i32 u16 i16 i8 u8 bool'.split(' ')
const wider = (a: DType, b: DType): DType => (ORDER.indexOf(a) < ORDER.indexOf(b) ? a : b)

const comparedType = (node: Lowering): DType => {
  const type = node.type('self')
  if (node.isTensor('other')) {
    const other = node.type('other')
    // A tensor without axes affects the type only if it is a different kind of number.
    if (isFloat(type) === isFloat(other) && node.rank('other') === 0 && node.rank('self') > 0) return type
    return wider(type, other)
  }
  if (isFloat(type)) return type
  return Number.isInteger(node.number('other')) && type !== 'bool' ? type : 'f32'
}

const compare =
  (type: string, negated = false): Operator =>
  (node) => {
    const through = comparedType(node)
    const result = node.emit(type, [node.operand('self', through), node.operand('other', through)])
    return negated ? node.emit('Not', [result]) : result
  }

const logical =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [node.operand('self', 'bool'), node.operand('other', 'bool')])

const bitwise =
  (name: 'And' | 'Or' | 'Xor'): Operator =>
  (node) =>
    binary(node.result().type === 'bool' ? name : `Bitwise${name}`)(node)

/** clamp, whose bounds are optional and may be tensors. */
const clamp: Operator = (node) => {
  const to = node.result().type
  const raised = node.has('min') ? node.emit('Max', [input(node), node.operand('min', to)]) : input(node)
  return node.has('max') ? node.emit('Min', [raised, node.operand('max', to)]) : raised
}

const where: Operator = (node) => {
  const to = node.result().type
  return node.emit('Where', [node.operand('condition', 'bool'), node.operand('self', to), node.operand('other', to)])
}

const maskedFill: Operator = (node) => {
  const to = node.result().type
  return node.emit('Where', [node.operand('mask', 'bool'), node.operand('value', to), input(node)])
}

/** Shifts bits by a number of positions. */
const shift =
  (type: 'Mul' | 'Div'): Operator =>
  (node) => {
    if (type === 'Mul') return node.emit('Mul', [input(node), constant(node, 2 ** node.number('other'))])
    const divided = node.emit('Div', [node.operand('self', 'f64'), node.scalar('f64', 2 ** node.number('other'))])
    return node.cast(node.emit('Floor', [divided]), 'f64', node.result().type)
  }

export const COMPARISONS: Readonly<Record<string, Operator>> = {
  eq: compare('Equal'),
  ne: compare('Equal', true),
  gt: compare('Greater'),
  ge: compare('GreaterOrEqual'),
  lt: compare('Less'),
  le: compare('LessOrEqual'),
  logical_and: logical('And'),
  logical_or: logical('Or'),
  logical_xor: logical('Xor'),
  logical_not: (node) => node.emit('Not', [node.operand('self', 'bool')]),
  ...named('bitwise_and __and__', bitwise('And')),
  ...named('bitwise_or __or__', bitwise('Or')),
  ...named('bitwise_xor __xor__', bitwise('Xor')),
  bitwise_not: (node) => unary(node.result().type === 'bool' ? 'Not' : 'BitwiseNot')(node),
  ...named('bitwise_left_shift __lshift__', shift('Mul')),
  ...named('bitwise_right_shift __rshift__', shift('Div')),
  ...named('clamp clip clamp_min clamp_max', clamp),
  maximum: binary('Max'),
  minimum: binary('Min'),
  isfinite: (node) => node.emit('Less', [node.emit('Abs', [node.input()]), node.scalar(node.type(), Infinity)]),
  isnan: (node) => node.emit('IsNaN', [node.input()]),
  isinf: (node) => node.emit('IsInf', [node.input()]),
  where,
  masked_fill: maskedFill,
}
