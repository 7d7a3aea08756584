// Operators that compute each element by itself. They keep the order of their first input of full rank.
import { badRequest } from '../../../domain/errors.ts'
import { type Lower, type Lowering, type Order, plainOrder, reshape, sameOrder } from '../lowering.ts'
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph, TfliteType } from '../tflite-graph.ts'

/** The order that an operator's result gets: that of the first computed input that has all dimensions. */
export const orderOfResult = (node: Lowering): Order => {
  const rank = node.result().shape.length
  const candidates = node.node.inputs.flatMap((_, at) =>
    node.has(at) && !node.isConstant(at) && node.input(at).shape.length === rank ? [node.order(at)] : [],
  )
  return candidates.find((order) => !sameOrder(order, plainOrder(rank))) ?? plainOrder(rank)
}

const OPTIONS: Readonly<Partial<Record<OperatorName, string>>> = {
  ADD: 'AddOptions',
  DIV: 'DivOptions',
  MAXIMUM: 'MaximumMinimumOptions',
  MINIMUM: 'MaximumMinimumOptions',
  MUL: 'MulOptions',
  SUB: 'SubOptions',
}

const broadcastSize = (tensors: readonly Tensor[], rank: number, at: number): number =>
  tensors.reduce((size, { shape }) => {
    const own = shape[at - rank + shape.length] ?? 1
    return own === 1 ? size : own
  }, 1)

/** Neighboring dimensions that broadcast alike, as one: kernels broadcast over four. */
const merged = (tensors: readonly Tensor[], rank: number): number[][] => {
  const full = tensors.map(({ shape }) => [...Array.from({ length: rank - shape.length }, () => 1), ...shape])
  const pattern = (at: number) => full.map((shape) => (shape[at] === 1 ? '1' : 'n')).join('')
  const groups: number[][] = []
  for (let at = 0; at < rank; at++) {
    const last = groups.at(-1)
    if (last !== undefined && pattern(last[0]!) === pattern(at)) last.push(at)
    else groups.push([at])
  }
  return full.map((shape) => groups.map((group) => group.reduce((size, at) => size * shape[at]!, 1)))
}

/** Kernels take these for quantized numbers. */
const SMALL_INTEGERS: ReadonlySet<TfliteType> = new Set(['u8', 'i8', 'i16'])

/** An operator of several inputs that broadcast to one shape. */
export const broadcasting = (
  graph: TfliteGraph,
  name: OperatorName,
  given: readonly Tensor[],
  type?: TfliteType,
): Tensor => {
  const wanted = type ?? given.at(-1)!.type
  if (given.some((tensor) => SMALL_INTEGERS.has(tensor.type))) {
    const wide = given.map((tensor) => (tensor.type === 'bool' ? tensor : castTo(graph, tensor, 'i32')))
    return castTo(graph, broadcasting(graph, name, wide, wanted === 'bool' ? 'bool' : 'i32'), wanted)
  }
  const tensors = given
  const rank = Math.max(...tensors.map(({ shape }) => shape.length))
  const shape = plainOrder(rank).map((at) => broadcastSize(tensors, rank, at))
  const table = OPTIONS[name]
  const options = table === undefined ? undefined : { table, value: {} }
  const result = wanted
  if (rank <= 4 || tensors.every((tensor) => sameOrder(tensor.shape, shape))) {
    return graph.operator(name, tensors, { shape, type: result }, options)
  }
  const shapes = merged(tensors, rank)
  const small = tensors.map((tensor, at) => reshape(graph, tensor, shapes[at]!))
  const dimensions = shapes[0]!.map((_, at) => broadcastSize(small, shapes[0]!.length, at))
  return reshape(graph, graph.operator(name, small, { shape: dimensions, type: result }, options), shape)
}

const operands = (node: Lowering, order: Order): Tensor[] =>
  node.node.inputs.map((_, at) =>
    sameOrder(order, plainOrder(order.length)) ? node.value(at) : node.padded(at, order.length, order),
  )

const binary =
  (name: OperatorName): Lower =>
  (node) => {
    const order = orderOfResult(node)
    node.define(broadcasting(node.graph, name, operands(node, order), node.result().type), order)
  }

/** Any number of inputs, two at a time. */
const many =
  (name: OperatorName, after?: (node: Lowering, total: Tensor) => Tensor): Lower =>
  (node) => {
    const order = orderOfResult(node)
    const total = operands(node, order).reduce((a, b) => broadcasting(node.graph, name, [a, b]))
    node.define(after === undefined ? total : after(node, total), order)
  }

/** The first input in the order that it has, and a function that defines the output in it. */
export const unary =
  (compute: (x: Tensor, node: Lowering, graph: TfliteGraph) => Tensor): Lower =>
  (node) => {
    const order = node.order(0)
    node.define(compute(node.value(0, order), node, node.graph), order)
  }
const simple = (name: OperatorName, type?: TfliteType): Lower =>
  unary((x, _node, graph) => graph.operator(name, [x], type === undefined ? {} : { type }))

/** Arithmetic on float32 tensors, for what is put together of several operators. */
export const arithmetic = (graph: TfliteGraph) => {
  const number = (value: number | Tensor): Tensor =>
    typeof value === 'number' ? graph.constant('f32', [], [value]) : value
  const pair = (name: OperatorName) => (a: number | Tensor, b: number | Tensor) =>
    broadcasting(graph, name, [number(a), number(b)])
  const one = (name: OperatorName) => (x: Tensor) => graph.operator(name, [x])
  return {
    ...{ add: pair('ADD'), sub: pair('SUB'), mul: pair('MUL'), div: pair('DIV'), pow: pair('POW') },
    ...{ max: pair('MAXIMUM'), min: pair('MINIMUM'), squaredDifference: pair('SQUARED_DIFFERENCE') },
    ...{ exp: one('EXP'), log: one('LOG'), sqrt: one('SQRT'), rsqrt: one('RSQRT'), tanh: one('TANH') },
    ...{ sigmoid: one('LOGISTIC'), abs: one('ABS'), neg: one('NEG'), sign: one('SIGN'), relu: one('RELU') },
  }
}

/** `log(1 + exp(x))` without overflow. */
export const softplus = (graph: TfliteGraph, x: Tensor): Tensor => {
  const { add, log, exp, neg, abs, relu } = arithmetic(graph)
  return add(relu(x), log(add(1, exp(neg(abs(x))))))
}

/** Abramowitz and Stegun 7.1.26: an error of at most 1.5e-7. */
const erf = (graph: TfliteGraph, x: Tensor): Tensor => {
  const { add, sub, mul, div, exp, neg, abs } = arithmetic(graph)
  const t = div(1, add(1, mul(0.3275911, abs(x))))
  const terms = [-1.453152027, 1.421413741, -0.284496736, 0.254829592]
  const sum = terms.reduce<Tensor>((total, term) => add(mul(total, t), term), graph.constant('f32', [], [1.061405429]))
  const size = sub(1, mul(mul(sum, t), exp(neg(mul(x, x)))))
  return mul(size, graph.operator('SIGN', [x]))
}

const clip: Lower = (node) => {
  const order = node.order(0)
  const bound = (at: number, name: string, absent: number): number => {
    if (node.has(at)) return Number(node.weights(at, name).values[0])
    return node.opset < 11 ? node.float(name, absent) : absent
  }
  const computed = [1, 2].some((at) => node.has(at) && !node.isConstant(at))
  const { type } = node.result()
  let x = node.value(0, order)
  if (computed) {
    if (node.has(1)) x = broadcasting(node.graph, 'MAXIMUM', [x, node.value(1)])
    if (node.has(2)) x = broadcasting(node.graph, 'MINIMUM', [x, node.value(2)])
    return node.define(x, order)
  }
  const [low, high] = [bound(1, 'min', -Infinity), bound(2, 'max', Infinity)]
  if (type === 'f32' && low === 0 && high === 6) return node.define(node.graph.operator('RELU6', [x]), order)
  if (type === 'f32' && low === 0) x = node.graph.operator('RELU', [x])
  else if (low > -3.4028234e38) x = broadcasting(node.graph, 'MAXIMUM', [x, node.scalar(low, type)])
  if (high < 3.4028234e38) x = broadcasting(node.graph, 'MINIMUM', [x, node.scalar(high, type)])
  node.define(x, order)
}

export const castTo = (graph: TfliteGraph, x: Tensor, type: TfliteType): Tensor =>
  x.type === type ? x : graph.operator('CAST', [x], { type }, { table: 'CastOptions', value: {} })

const cast: Lower = unary((x, node, graph) => castTo(graph, x, node.result().type))

const prelu: Lower = (node) => {
  const order = orderOfResult(node)
  const { mul, min, add, relu } = arithmetic(node.graph)
  const [x, slope] = operands(node, order)
  node.define(add(relu(x!), mul(slope!, min(x!, 0))), order)
}

const divide: Lower = (node) => {
  if (node.result().type === 'f32') return binary('DIV')(node)
  const order = orderOfResult(node)
  const { type } = node.result()
  if (type !== 'i32' && type !== 'i64') throw badRequest(`${type} is not divided by TFLite; cast to float32.`)
  const [a, b] = operands(node, order).map((tensor) => castTo(node.graph, tensor, 'i32'))
  node.define(castTo(node.graph, broadcasting(node.graph, 'DIV', [a!, b!], 'i32'), type), order)
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

const gelu: Lower = unary((x, node, graph) =>
  graph.operator(
    'GELU',
    [x],
    {},
    { table: 'GeluOptions', value: { approximate: node.text('approximate', 'none') === 'tanh' } },
  ),
)

const notEqual = (graph: TfliteGraph, a: Tensor, b: Tensor): Tensor => broadcasting(graph, 'NOT_EQUAL', [a, b], 'bool')

export const ELEMENTWISE: Readonly<Record<string, Lower>> = {
  Abs: simple('ABS'),
  Add: binary('ADD'),
  And: compare('LOGICAL_AND'),
  Cast: cast,
  CastLike: cast,
  Ceil: simple('CEIL'),
  Celu: unary((x, node, graph) => {
    const { add, mul, min, relu, sub, exp, div } = arithmetic(graph)
    const alpha = node.float('alpha', 1)
    return add(relu(x), min(0, mul(alpha, sub(exp(div(min(x, 0), alpha)), 1))))
  }),
  Clip: clip,
  Cos: simple('COS'),
  Cosh: unary((x, _node, graph) => {
    const { add, mul, exp, neg } = arithmetic(graph)
    return mul(0.5, add(exp(x), exp(neg(x))))
  }),
  Div: divide,
  Dropout: unary((x, node) => {
    if (node.has(2) || node.wants(1)) throw badRequest('Dropout that trains is not supported; export for inference.')
    return x
  }),
  Elu: unary((x, node, graph) => {
    const alpha = node.float('alpha', 1)
    const { add, mul, min, relu, sub, exp } = arithmetic(graph)
    return alpha === 1 ? graph.operator('ELU', [x]) : add(relu(x), mul(alpha, sub(exp(min(x, 0)), 1)))
  }),
  Equal: compare('EQUAL'),
  Erf: unary((x, _node, graph) => erf(graph, x)),
  Exp: simple('EXP'),
  Floor: simple('FLOOR'),
  Gelu: gelu,
  Greater: compare('GREATER'),
  GreaterOrEqual: compare('GREATER_EQUAL'),
  HardSigmoid: unary((x, node, graph) => {
    const { add, mul, min, max } = arithmetic(graph)
    return min(1, max(0, add(mul(x, node.float('alpha', 0.2)), node.float('beta', 0.5))))
  }),
  HardSwish: simple('HARD_SWISH'),
  Identity: unary((x) => x),
  IsNaN: unary((x, _node, graph) => notEqual(graph, x, x)),
  LeakyRelu: unary((x, node, graph) =>
    graph.operator('LEAKY_RELU', [x], {}, { table: 'LeakyReluOptions', value: { alpha: node.float('alpha', 0.01) } }),
  ),
  Less: compare('LESS'),
  LessOrEqual: compare('LESS_EQUAL'),
  Log: simple('LOG'),
  Max: many('MAXIMUM'),
  Mean: many('ADD', (node, total) => arithmetic(node.graph).mul(total, 1 / node.node.inputs.length)),
  Min: many('MINIMUM'),
  Mish: unary((x, _node, graph) => arithmetic(graph).mul(x, arithmetic(graph).tanh(softplus(graph, x)))),
  Mod: (node) => {
    if (node.int('fmod') !== 0) throw badRequest('fmod is not supported by TFLite.')
    binary('FLOOR_MOD')(node)
  },
  Mul: binary('MUL'),
  Neg: simple('NEG'),
  Not: simple('LOGICAL_NOT', 'bool'),
  Or: compare('LOGICAL_OR'),
  PRelu: prelu,
  Pow: (node) => {
    const order = orderOfResult(node)
    const [base, exponent] = operands(node, order)
    const whole = node.constant(1)?.values
    if (base!.type === 'f32' && whole?.length === 1 && whole[0] === 2) {
      return node.define(node.graph.operator('SQUARE', [base!]), order)
    }
    // The kernel computes float32 and 32-bit integers.
    const type = base!.type === 'f32' ? 'f32' : 'i32'
    const tensors = [castTo(node.graph, base!, type), castTo(node.graph, exponent!, type)]
    node.define(castTo(node.graph, broadcasting(node.graph, 'POW', tensors, type), base!.type), order)
  },
  Reciprocal: unary((x, _node, graph) => arithmetic(graph).div(1, x)),
  Relu: simple('RELU'),
  Round: simple('ROUND'),
  Selu: unary((x, node, graph) => {
    const { add, mul, min, relu, sub, exp } = arithmetic(graph)
    const [alpha, gamma] = [node.float('alpha', 1.6732632), node.float('gamma', 1.0507009)]
    return mul(gamma, add(relu(x), mul(alpha, sub(exp(min(x, 0)), 1))))
  }),
  Sigmoid: simple('LOGISTIC'),
  Sign: simple('SIGN'),
  Shrink: unary((x, node, graph) => {
    const { add, sub, max, min } = arithmetic(graph)
    const [bias, lambd] = [node.float('bias'), node.float('lambd', 0.5)]
    if (bias !== lambd) throw badRequest('Only a soft shrink, whose bias is lambd, is supported.')
    return add(max(sub(x, bias), 0), min(add(x, bias), 0))
  }),
  Sin: simple('SIN'),
  Sinh: unary((x, _node, graph) => {
    const { sub, mul, exp, neg } = arithmetic(graph)
    return mul(0.5, sub(exp(x), exp(neg(x))))
  }),
  Softplus: unary((x, _node, graph) => softplus(graph, x)),
  Softsign: unary((x, _node, graph) => {
    const { div, add, abs } = arithmetic(graph)
    return div(x, add(1, abs(x)))
  }),
  Sqrt: simple('SQRT'),
  Sub: binary('SUB'),
  Sum: many('ADD'),
  Swish: unary((x, node, graph) => {
    const { mul, sigmoid } = arithmetic(graph)
    return mul(x, sigmoid(mul(x, node.float('alpha', 1))))
  }),
  Tan: unary((x, _node, graph) => arithmetic(graph).div(graph.operator('SIN', [x]), graph.operator('COS', [x]))),
  Tanh: simple('TANH'),
  ThresholdedRelu: unary((x, node, graph) => {
    const above = broadcasting(graph, 'GREATER', [x, node.scalar(node.float('alpha', 1))], 'bool')
    return arithmetic(graph).mul(x, castTo(graph, above, 'f32'))
  }),
  Where: where,
  Xor: compare('NOT_EQUAL'),
}
