// Operators that work element by element: arithmetic, comparisons, activations.
import type { DType } from '../../../tensors/weight-file.ts'
import { float, int } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'

const FLOATS: readonly DType[] = ['f64', 'f32', 'bf16', 'f16']
export const isFloat = (type: DType): boolean => FLOATS.includes(type)

/** The type in which operands are compared: floating point before integers, wider before narrower. */
const ORDER: readonly DType[] = [
  'f64',
  'f32',
  'bf16',
  'f16',
  'u64',
  'i64',
  'u32',
  'i32',
  'u16',
  'i16',
  'i8',
  'u8',
  'bool',
]
const wider = (a: DType, b: DType): DType => (ORDER.indexOf(a) < ORDER.indexOf(b) ? a : b)

const comparedType = (node: Lowering, first = 'self', second = 'other'): DType => {
  const type = node.type(first)
  if (node.isTensor(second)) {
    const other = node.type(second)
    // A tensor without axes decides only between kinds of numbers.
    if (isFloat(type) === isFloat(other) && node.shape(second).length === 0 && node.shape(first).length > 0) return type
    return wider(type, other)
  }
  if (isFloat(type)) return type
  return Number.isInteger(node.number(second)) && type !== 'bool' ? type : 'f32'
}

/** The input in the type of the result. */
const input = (node: Lowering): string => node.operand('self', node.result().type)

const unary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [input(node)])

const binary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [node.operand('self', node.result().type), node.operand('other', node.result().type)])

const sum =
  (type: 'Add' | 'Sub', reversed = false): Operator =>
  (node) => {
    const to = node.result().type
    if (to === 'bool') return node.emit('Or', [node.operand('self', to), node.operand('other', to)])
    const alpha = node.number('alpha', 1)
    const scaled = (name: string): string =>
      alpha === 1 ? node.operand(name, to) : node.emit('Mul', [node.operand(name, to), node.scalar(to, alpha)])
    return reversed
      ? node.emit(type, [node.operand('other', to), scaled('self')])
      : node.emit(type, [node.operand('self', to), scaled('other')])
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

/** clamp, of which either bound may be left out, and which may be tensors. */
const clamp =
  (lower: string, upper: string): Operator =>
  (node) => {
    const to = node.result().type
    const raised = node.has(lower) ? node.emit('Max', [input(node), node.operand(lower, to)]) : input(node)
    return node.has(upper) ? node.emit('Min', [raised, node.operand(upper, to)]) : raised
  }

const where: Operator = (node) => {
  const to = node.result().type
  return node.emit('Where', [node.operand('condition', 'bool'), node.operand('self', to), node.operand('other', to)])
}

const maskedFill: Operator = (node) => {
  const to = node.result().type
  return node.emit('Where', [node.operand('mask', 'bool'), node.operand('value', to), input(node)])
}

/** x · f(x) */
const gated =
  (gate: (node: Lowering, x: string) => string): Operator =>
  (node) => {
    const x = input(node)
    return node.emit('Mul', [x, gate(node, x)])
  }

/** GELU: x · Φ(x), or its approximation by tanh (arXiv 1606.08415, section 2). */
const gelu: Operator = gated((node, x) => {
  const type = node.result().type
  const constant = (value: number) => node.scalar(type, value)
  const halfOf = (value: string) => node.emit('Mul', [node.emit('Add', [value, constant(1)]), constant(0.5)])
  if (node.text('approximate', 'none') === 'none') {
    return halfOf(node.emit('Erf', [node.emit('Mul', [x, constant(Math.SQRT1_2)])]))
  }
  const cube = node.emit('Mul', [node.emit('Mul', [x, x]), x])
  const inner = node.emit('Add', [x, node.emit('Mul', [cube, constant(0.044715)])])
  return halfOf(node.emit('Tanh', [node.emit('Mul', [inner, constant(Math.sqrt(2 / Math.PI))])]))
})

const softplus: Operator = (node) => {
  const beta = node.number('beta', 1)
  if (beta === 1) return unary('Softplus')(node)
  const scale = node.scalar(node.result().type, beta)
  return node.emit('Div', [node.emit('Softplus', [node.emit('Mul', [input(node), scale])]), scale])
}

const elu: Operator = (node) => {
  if (node.number('scale', 1) !== 1 || node.number('input_scale', 1) !== 1) throw node.refuse('its scale is not 1.')
  return node.emit('Elu', [input(node)], { alpha: float(node.number('alpha', 1)) })
}

/** One slope for each channel, which is the second axis. */
const prelu: Operator = (node) => {
  const rank = node.shape().length
  const isSingle = node.fixedShape('weight').every((size) => size === 1)
  const shape = isSingle ? [1] : [-1, ...new Array<number>(Math.max(0, rank - 2)).fill(1)]
  return node.emit('PRelu', [node.input(), node.reshape(node.input('weight'), shape)])
}

const glu: Operator = (node) => {
  const axis = node.axis('dim', node.shape().length, -1)
  const [a, b] = node.emitSeveral('Split', [node.input()], 2, { axis: int(axis), num_outputs: int(2) })
  return node.emit('Mul', [a!, node.emit('Sigmoid', [b!])])
}

const threshold: Operator = (node) => {
  const type = node.result().type
  const above = node.emit('Greater', [input(node), node.scalar(type, node.number('threshold'))])
  return node.emit('Where', [above, input(node), node.scalar(type, node.number('value'))])
}

const softmax =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [input(node)], { axis: int(node.axis('dim', node.shape().length)) })

const UNARY: Readonly<Record<string, string>> = {
  abs: 'Abs',
  acos: 'Acos',
  asin: 'Asin',
  atan: 'Atan',
  bitwise_not: 'Not',
  ceil: 'Ceil',
  cos: 'Cos',
  cosh: 'Cosh',
  erf: 'Erf',
  exp: 'Exp',
  floor: 'Floor',
  hardswish: 'HardSwish',
  log: 'Log',
  mish: 'Mish',
  neg: 'Neg',
  reciprocal: 'Reciprocal',
  relu: 'Relu',
  round: 'Round',
  selu: 'Selu',
  sigmoid: 'Sigmoid',
  sign: 'Sign',
  sgn: 'Sign',
  sin: 'Sin',
  sinh: 'Sinh',
  softsign: 'Softsign',
  sqrt: 'Sqrt',
  tan: 'Tan',
  tanh: 'Tanh',
}

export const ELEMENTWISE: Readonly<Record<string, Operator>> = {
  ...Object.fromEntries(Object.entries(UNARY).map(([name, type]) => [name, unary(type)])),
  add: sum('Add'),
  sub: sum('Sub'),
  rsub: sum('Sub', true),
  mul: product,
  div: (node) => quotient(node, node.text('rounding_mode', 'none')),
  floor_divide: (node) => quotient(node, 'floor'),
  true_divide: (node) => quotient(node, 'none'),
  remainder,
  fmod: (node) =>
    node.emit('Mod', [node.operand('self', node.result().type), node.operand('other', node.result().type)], {
      fmod: int(1),
    }),
  pow: power,
  square: gated((_, x) => x),
  rsqrt: (node) => node.emit('Reciprocal', [node.emit('Sqrt', [input(node)])]),
  expm1: (node) => node.emit('Sub', [node.emit('Exp', [input(node)]), node.scalar(node.result().type, 1)]),
  log1p: (node) => node.emit('Log', [node.emit('Add', [input(node), node.scalar(node.result().type, 1)])]),
  log2: (node) => node.emit('Div', [node.emit('Log', [input(node)]), node.scalar(node.result().type, Math.LN2)]),
  log10: (node) => node.emit('Div', [node.emit('Log', [input(node)]), node.scalar(node.result().type, Math.LN10)]),
  exp2: (node) => node.emit('Pow', [node.scalar(node.result().type, 2), input(node)]),
  trunc: (node) => truncated(node, input(node)),
  isnan: (node) => node.emit('IsNaN', [node.input()]),
  isinf: (node) => node.emit('IsInf', [node.input()]),
  maximum: binary('Max'),
  minimum: binary('Min'),
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
  bitwise_and: bitwise('And'),
  bitwise_or: bitwise('Or'),
  bitwise_xor: bitwise('Xor'),
  __and__: bitwise('And'),
  __or__: bitwise('Or'),
  clamp: clamp('min', 'max'),
  clamp_min: clamp('min', ''),
  clamp_max: clamp('', 'max'),
  clip: clamp('min', 'max'),
  hardtanh: (node) =>
    node.emit('Clip', [
      input(node),
      node.scalar(node.result().type, node.number('min_val', -1)),
      node.scalar(node.result().type, node.number('max_val', 1)),
    ]),
  relu6: (node) =>
    node.emit('Clip', [input(node), node.scalar(node.result().type, 0), node.scalar(node.result().type, 6)]),
  hardsigmoid: (node) => node.emit('HardSigmoid', [input(node)], { alpha: float(1 / 6), beta: float(0.5) }),
  leaky_relu: (node) => node.emit('LeakyRelu', [input(node)], { alpha: float(node.number('negative_slope', 0.01)) }),
  softshrink: (node) => {
    const lambda = float(node.number('lambd', 0.5))
    return node.emit('Shrink', [input(node)], { lambd: lambda, bias: lambda })
  },
  celu: (node) => node.emit('Celu', [input(node)], { alpha: float(node.number('alpha', 1)) }),
  elu,
  prelu,
  _prelu_kernel: prelu,
  softplus,
  log_sigmoid: (node) => node.emit('Neg', [node.emit('Softplus', [node.emit('Neg', [input(node)])])]),
  silu: gated((node, x) => node.emit('Sigmoid', [x])),
  gelu,
  glu,
  threshold,
  softmax: softmax('Softmax'),
  _softmax: softmax('Softmax'),
  log_softmax: softmax('LogSoftmax'),
  _log_softmax: softmax('LogSoftmax'),
  where,
  masked_fill: maskedFill,
}
