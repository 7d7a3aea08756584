// Operators that work element by element: arithmetic, comparisons, activations.
import type { DType } from '../../../tensors/weight-file.ts'
import { float, int } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'

const FLOATS: readonly DType[] = ['f64', 'f32', 'bf16', 'f16']
export const isFloat = (type: DType): boolean => FLOATS.includes(type)

/** The type in which operands are compared: floating point before integers, wider before narrower. */
const ORDER = 'f64 f32 bf16 f16 u64 i64 u32 i32 u16 i16 i8 u8 bool'.split(' ')
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

const constant = (node: Lowering, value: number): string => node.scalar(node.result().type, value)

const tensors = (node: Lowering, ...names: readonly string[]): string[] =>
  names.map((name) => node.operand(name, node.result().type))

const unary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, [input(node)])

const binary =
  (type: string): Operator =>
  (node) =>
    node.emit(type, tensors(node, 'self', 'other'))

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

/** self + value · tensor1 · tensor2, or their quotient. */
const addedTo =
  (type: 'Mul' | 'Div'): Operator =>
  (node) => {
    const [self, one, other] = tensors(node, 'self', 'tensor1', 'tensor2')
    const value = node.number('value', 1)
    const scaled = value === 1 ? one! : node.emit('Mul', [one!, constant(node, value)])
    return node.emit('Add', [self!, node.emit(type, [scaled, other!])])
  }

/** The angle of (x, y), from its tangent and the quadrant. */
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

/** log(exp(a) + exp(b)), of which the larger one is taken out. */
const logAddExp: Operator = (node) => {
  const operands = tensors(node, 'self', 'other')
  const difference = node.emit('Neg', [node.emit('Abs', [node.emit('Sub', operands)])])
  return node.emit('Add', [node.emit('Max', operands), node.emit('Softplus', [difference])])
}

/** Bits moved by a number of places. */
const shift =
  (type: 'Mul' | 'Div'): Operator =>
  (node) => {
    if (type === 'Mul') return node.emit('Mul', [input(node), constant(node, 2 ** node.number('other'))])
    const through: DType = 'f64'
    const divided = node.emit('Div', [node.operand('self', through), node.scalar(through, 2 ** node.number('other'))])
    return node.cast(node.emit('Floor', [divided]), through, node.result().type)
  }

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
  const scaled = beta === 1 ? input(node) : node.emit('Mul', [input(node), constant(node, beta)])
  const soft = node.emit('Softplus', [scaled])
  const result = beta === 1 ? soft : node.emit('Div', [soft, constant(node, beta)])
  const limit = node.number('threshold', 20)
  // Above the threshold it is the input itself, which is the same to seven digits from 16 on.
  if (limit >= 16) return result
  return node.emit('Where', [node.emit('Greater', [scaled, constant(node, limit)]), input(node), result])
}

const elu: Operator = (node) => {
  if (node.number('input_scale', 1) !== 1) throw node.refuse('its input_scale is not 1.')
  const result = node.emit('Elu', [input(node)], { alpha: float(node.number('alpha', 1)) })
  const scale = node.number('scale', 1)
  return scale === 1 ? result : node.emit('Mul', [result, constant(node, scale)])
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

/** In evaluation the slope is the mean of its bounds. */
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
    node.emit(type, [input(node)], { axis: int(node.axis('dim', node.shape().length)) })

const UNARY: Readonly<Record<string, string>> = {
  abs: 'Abs',
  acos: 'Acos',
  acosh: 'Acosh',
  asin: 'Asin',
  asinh: 'Asinh',
  atan: 'Atan',
  atanh: 'Atanh',
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
  fmod: (node) => node.emit('Mod', tensors(node, 'self', 'other'), { fmod: int(1) }),
  pow: power,
  addcmul: addedTo('Mul'),
  addcdiv: addedTo('Div'),
  atan2,
  hypot: (node) =>
    node.emit('Sqrt', [
      node.emit(
        'Add',
        tensors(node, 'self', 'other').map((x) => node.emit('Mul', [x, x])),
      ),
    ]),
  lerp: (node) => {
    const [from, to, weight] = tensors(node, 'self', 'end', 'weight')
    return node.emit('Add', [from!, node.emit('Mul', [weight!, node.emit('Sub', [to!, from!])])])
  },
  logaddexp: logAddExp,
  logit,
  nan_to_num: nanToNumber,
  round,
  __lshift__: shift('Mul'),
  bitwise_left_shift: shift('Mul'),
  __rshift__: shift('Div'),
  bitwise_right_shift: shift('Div'),
  bitwise_not: (node) => unary(node.result().type === 'bool' ? 'Not' : 'BitwiseNot')(node),
  erfc: (node) => node.emit('Sub', [constant(node, 1), node.emit('Erf', [input(node)])]),
  frac: (node) => node.emit('Sub', [input(node), truncated(node, input(node))]),
  isfinite: (node) => node.emit('Less', [node.emit('Abs', [node.input()]), node.scalar(node.type(), Infinity)]),
  square: gated((_, x) => x),
  rsqrt: (node) => node.emit('Reciprocal', [node.emit('Sqrt', [input(node)])]),
  expm1: (node) => node.emit('Sub', [node.emit('Exp', [input(node)]), constant(node, 1)]),
  log1p: (node) => node.emit('Log', [node.emit('Add', [input(node), constant(node, 1)])]),
  log2: (node) => node.emit('Div', [node.emit('Log', [input(node)]), constant(node, Math.LN2)]),
  log10: (node) => node.emit('Div', [node.emit('Log', [input(node)]), constant(node, Math.LN10)]),
  exp2: (node) => node.emit('Pow', [constant(node, 2), input(node)]),
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
  __xor__: bitwise('Xor'),
  clamp: clamp('min', 'max'),
  clamp_min: clamp('min', ''),
  clamp_max: clamp('', 'max'),
  clip: clamp('min', 'max'),
  hardtanh: (node) =>
    node.emit('Clip', [
      input(node),
      constant(node, node.number('min_val', -1)),
      constant(node, node.number('max_val', 1)),
    ]),
  relu6: (node) => node.emit('Clip', [input(node), constant(node, 0), constant(node, 6)]),
  hardsigmoid: (node) => node.emit('HardSigmoid', [input(node)], { alpha: float(1 / 6), beta: float(0.5) }),
  leaky_relu: (node) => node.emit('LeakyRelu', [input(node)], { alpha: float(node.number('negative_slope', 0.01)) }),
  rrelu: randomizedRelu,
  rrelu_with_noise_functional: randomizedRelu,
  hardshrink: (node) => node.emit('Shrink', [input(node)], { lambd: float(node.number('lambd', 0.5)), bias: float(0) }),
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
