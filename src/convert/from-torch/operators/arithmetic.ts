// Elementwise arithmetic.
import type { DType } from '../../../tensors/weight-file.ts'
import { int } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { binary, constant, gated, input, isFloat, scaledBy, tensors, unaries, unary } from './operands.ts'

const sum =
  (type: 'Add' | 'Sub', reversed = false): Operator =>
  (node) => {
    if (node.result().type === 'bool') return binary('Or')(node)
    const [one, other] = reversed ? tensors(node, 'other', 'self') : tensors(node, 'self', 'other')
    return node.emit(type, [one!, scaledBy(node, other!, node.number('alpha', 1))])
  }

const product: Operator = (node) => binary(node.result().type === 'bool' ? 'And' : 'Mul')(node)

const truncated = (node: Lowering, value: string): string =>
  node.emit('Mul', [node.emit('Sign', [value]), node.emit('Floor', [node.emit('Abs', [value])])])

/** `a // b` in floating point, rounded down or toward zero. */
const quotient = (node: Lowering, mode: string): string => {
  const to = node.result().type
  const through: DType = isFloat(to) ? to : 'f64'
  const divided = node.emit('Div', [node.operand('self', through), node.operand('other', through)])
  const rounded =
    mode === 'floor' ? node.emit('Floor', [divided]) : mode === 'trunc' ? truncated(node, divided) : divided
  return node.cast(rounded, through, to)
}

const remainder: Operator = (node) => {
  const to = node.result().type
  const [a, b] = [node.operand('self', to), node.operand('other', to)]
  if (!isFloat(to)) return node.emit('Mod', [a, b])
  return node.emit('Sub', [a, node.emit('Mul', [node.emit('Floor', [node.emit('Div', [a, b])]), b])])
}

const power: Operator = (node) => {
  const to = node.result().type
  const exponent = node.isTensor('exponent') ? undefined : node.number('exponent')
  const base = node.operand('self', to)
  if (exponent === 2) return node.emit('Mul', [base, base])
  return node.emit('Pow', [base, node.operand('exponent', to)])
}

/** self + value · tensor1 · tensor2, or with their quotient. */
const addedTo =
  (type: 'Mul' | 'Div'): Operator =>
  (node) => {
    const [self, one, other] = tensors(node, 'self', 'tensor1', 'tensor2')
    const scaled = scaledBy(node, one!, node.number('value', 1))
    return node.emit('Add', [self!, node.emit(type, [scaled, other!])])
  }

/** The angle of (x, y), from its tangent and its quadrant. */
const atan2: Operator = (node) => {
  const [y, x] = tensors(node, 'self', 'other')
  const zero = constant(node, 0)
  const isZero = node.emit('And', [node.emit('Equal', [x!, zero]), node.emit('Equal', [y!, zero])])
  const safe = node.emit('Where', [isZero, constant(node, 1), x!])
  const halves = [Math.PI, -Math.PI].map((value) => constant(node, value))
  const turn = node.emit('Where', [node.emit('GreaterOrEqual', [y!, zero]), ...halves])
  const added = node.emit('Where', [node.emit('Less', [x!, zero]), turn, zero])
  return node.emit('Add', [node.emit('Atan', [node.emit('Div', [y!, safe])]), added])
}

const round: Operator = (node) => {
  const scale = constant(node, 10 ** node.number('decimals', 0))
  if (node.overload !== 'decimals') return node.emit('Round', [input(node)])
  return node.emit('Div', [node.emit('Round', [node.emit('Mul', [input(node), scale])]), scale])
}

/** log(x / (1 - x)) */
const logit: Operator = (node) => {
  const eps = node.number('eps', 0)
  const x = node.has('eps')
    ? node.emit('Clip', [input(node), constant(node, eps), constant(node, 1 - eps)])
    : input(node)
  return node.emit('Log', [node.emit('Div', [x, node.emit('Sub', [constant(node, 1), x])])])
}

const nanToNumber: Operator = (node) => {
  const largest = node.result().type === 'f16' ? 65504 : 3.4028234663852886e38
  const [low, high] = [constant(node, node.number('neginf', -largest)), constant(node, node.number('posinf', largest))]
  const x = input(node)
  const numbers = node.emit('Where', [node.emit('IsNaN', [x]), constant(node, node.number('nan', 0)), x])
  return node.emit('Where', [
    node.emit('IsInf', [x]),
    node.emit('Where', [node.emit('Less', [x, constant(node, 0)]), low, high]),
    numbers,
  ])
}

/** log(exp(a) + exp(b)), with the larger exponent factored out. */
const logAddExp: Operator = (node) => {
  const operands = tensors(node, 'self', 'other')
  const difference = node.emit('Neg', [node.emit('Abs', [node.emit('Sub', operands)])])
  return node.emit('Add', [node.emit('Max', operands), node.emit('Softplus', [difference])])
}

export const ARITHMETIC: Readonly<Record<string, Operator>> = {
  ...unaries('abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log neg reciprocal sign sin sinh sqrt'),
  ...unaries('tan tanh'),
  sgn: unary('Sign'),
  add: sum('Add'),
  sub: sum('Sub'),
  rsub: sum('Sub', true),
  mul: product,
  div: (node) => quotient(node, node.text('rounding_mode', 'none')),
  floor_divide: (node) => quotient(node, 'floor'),
  true_divide: (node) => quotient(node, 'none'),
  remainder,
  fmod: (node) => node.emit('Mod', tensors(node, 'self', 'other'), { fmod: int(1) }),
  pow: power,
  addcmul: addedTo('Mul'),
  addcdiv: addedTo('Div'),
  atan2,
  hypot: (node) => {
    const squares = tensors(node, 'self', 'other').map((x) => node.emit('Mul', [x, x]))
    return node.emit('Sqrt', [node.emit('Add', squares)])
  },
  lerp: (node) => {
    const [from, to, weight] = tensors(node, 'self', 'end', 'weight')
    return node.emit('Add', [from!, node.emit('Mul', [weight!, node.emit('Sub', [to!, from!])])])
  },
  logaddexp: logAddExp,
  logit,
  nan_to_num: nanToNumber,
  round,
  erfc: (node) => node.emit('Sub', [constant(node, 1), node.emit('Erf', [input(node)])]),
  frac: (node) => node.emit('Sub', [input(node), truncated(node, input(node))]),
  square: gated((_, x) => x),
  rsqrt: (node) => node.emit('Reciprocal', [node.emit('Sqrt', [input(node)])]),
  expm1: (node) => node.emit('Sub', [node.emit('Exp', [input(node)]), constant(node, 1)]),
  log1p: (node) => node.emit('Log', [node.emit('Add', [input(node), constant(node, 1)])]),
  log2: (node) => node.emit('Div', [node.emit('Log', [input(node)]), constant(node, Math.LN2)]),
  log10: (node) => node.emit('Div', [node.emit('Log', [input(node)]), constant(node, Math.LN10)]),
  exp2: (node) => node.emit('Pow', [constant(node, 2), input(node)]),
  trunc: (node) => truncated(node, input(node)),
}
