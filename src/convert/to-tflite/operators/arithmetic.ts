// Building blocks of elementwise operators, which keep the order of an input of full rank.
import { type Lower, type Lowering, type Order, plainOrder, reshape, sameOrder } from '../lowering.ts'
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph, TfliteType } from '../tflite-graph.ts'

/** The order of an operator's result: the first order of a computed full-rank input that is not plain, otherwise plain. */
export const orderOfResult = (node: Lowering): Order => {
  const rank = node.result().shape.length
  const candidates = node.node.inputs.flatMap((_, at) =>
    node.has(at) && !node.isConstant(at) && node.input(at).shape.length === rank ? [node.order(at)] : [],
  )
  return candidates.find((order) => !sameOrder(order, plainOrder(rank))) ?? plainOrder(rank)
}

const broadcastSize = (tensors: readonly Tensor[], rank: number, at: number): number =>
  tensors.reduce((size, { shape }) => {
    const own = shape[at - rank + shape.length] ?? 1
    return own === 1 ? size : own
  }, 1)

/** Merges adjacent dimensions that broadcast alike, because kernels broadcast over only four. */
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

/** Kernels interpret these as quantized numbers. */
export const SMALL_INTEGERS: ReadonlySet<TfliteType> = new Set(['u8', 'i8', 'i16'])

/** An operator whose inputs broadcast to one shape. */
export const broadcasting = (
  graph: TfliteGraph,
  name: OperatorName,
  tensors: readonly Tensor[],
  type: TfliteType = tensors.at(-1)!.type,
): Tensor => {
  if (tensors.some((tensor) => SMALL_INTEGERS.has(tensor.type))) {
    const wide = tensors.map((tensor) => (tensor.type === 'bool' ? tensor : castTo(graph, tensor, 'i32')))
    return castTo(graph, broadcasting(graph, name, wide, type === 'bool' ? 'bool' : 'i32'), type)
  }
  const rank = Math.max(...tensors.map(({ shape }) => shape.length))
  const shape = plainOrder(rank).map((at) => broadcastSize(tensors, rank, at))
  if (rank <= 4 || tensors.every((tensor) => sameOrder(tensor.shape, shape))) {
    return graph.operator(name, tensors, { shape, type })
  }
  const shapes = merged(tensors, rank)
  const small = tensors.map((tensor, at) => reshape(graph, tensor, shapes[at]!))
  const dimensions = shapes[0]!.map((_, at) => broadcastSize(small, shapes[0]!.length, at))
  return reshape(graph, graph.operator(name, small, { shape: dimensions, type }), shape)
}

export const operands = (node: Lowering, order: Order): Tensor[] =>
  node.node.inputs.map((_, at) =>
    sameOrder(order, plainOrder(order.length)) ? node.value(at) : node.padded(at, order.length, order),
  )

export const broadcast =
  (name: OperatorName): Lower =>
  (node) => {
    const order = orderOfResult(node)
    node.define(broadcasting(node.graph, name, operands(node, order), node.result().type), order)
  }

/** Combines any number of inputs, two at a time. */
export const many =
  (name: OperatorName, after?: (node: Lowering, total: Tensor) => Tensor): Lower =>
  (node) => {
    const order = orderOfResult(node)
    const total = operands(node, order).reduce((a, b) => broadcasting(node.graph, name, [a, b]))
    node.define(after === undefined ? total : after(node, total), order)
  }

/** The first input in its own order, and a function that defines the output in that order. */
export const unary =
  (compute: (x: Tensor, node: Lowering, graph: TfliteGraph) => Tensor): Lower =>
  (node) => {
    const order = node.order(0)
    node.define(compute(node.value(0, order), node, node.graph), order)
  }

export const simple = (name: OperatorName, type?: TfliteType): Lower =>
  unary((x, _node, graph) => graph.operator(name, [x], type === undefined ? {} : { type }))

/** Operators on tensors and float32 numbers, for operators composed of several. */
export const arithmetic = (graph: TfliteGraph) => {
  const number = (value: number | Tensor): Tensor => (typeof value === 'number' ? graph.scalar('f32', value) : value)
  const pair = (name: OperatorName) => (a: number | Tensor, b: number | Tensor) =>
    broadcasting(graph, name, [number(a), number(b)])
  const test = (name: OperatorName) => (a: Tensor, b: number | Tensor) =>
    broadcasting(graph, name, [a, number(b)], 'bool')
  const one = (name: OperatorName) => (x: Tensor) => graph.operator(name, [x])
  return {
    ...{ add: pair('ADD'), sub: pair('SUB'), mul: pair('MUL'), div: pair('DIV') },
    ...{ max: pair('MAXIMUM'), min: pair('MINIMUM'), squaredDifference: pair('SQUARED_DIFFERENCE') },
    ...{ exp: one('EXP'), log: one('LOG'), sqrt: one('SQRT'), rsqrt: one('RSQRT'), tanh: one('TANH') },
    ...{ sigmoid: one('LOGISTIC'), abs: one('ABS'), neg: one('NEG'), sign: one('SIGN'), relu: one('RELU') },
    ...{ equal: test('EQUAL'), notEqual: test('NOT_EQUAL'), less: test('LESS'), lessEqual: test('LESS_EQUAL') },
    ...{ greater: test('GREATER'), and: test('LOGICAL_AND'), or: test('LOGICAL_OR') },
    select: (condition: Tensor, yes: Tensor, no: Tensor) => broadcasting(graph, 'SELECT_V2', [condition, yes, no]),
  }
}

/** `log(1 + exp(x))` without overflow. */
export const softplus = (graph: TfliteGraph, x: Tensor): Tensor => {
  const { add, log, exp, neg, abs, relu } = arithmetic(graph)
  return add(relu(x), log(add(1, exp(neg(abs(x))))))
}

export const castTo = (graph: TfliteGraph, x: Tensor, type: TfliteType): Tensor =>
  x.type === type ? x : graph.operator('CAST', [x], { type })
