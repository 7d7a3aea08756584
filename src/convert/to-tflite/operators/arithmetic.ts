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

export const operands = (node: Lowering, order: Order): Tensor[] =>
  node.node.inputs.map((_, at) =>
    sameOrder(order, plainOrder(order.length)) ? node.value(at) : node.padded(at, order.length, order),
  )

export const binary =
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

/** Arithmetic on float32 tensors, for operators composed of several. */
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

export const castTo = (graph: TfliteGraph, x: Tensor, type: TfliteType): Tensor =>
  x.type === type ? x : graph.operator('CAST', [x], { type }, { table: 'CastOptions', value: {} })
