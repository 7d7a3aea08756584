// Operators over whole axes: sums, extremes, sorting. Axes are mapped to the memory order.
import { badRequest } from '../../../domain/errors.ts'
import { axisOf } from '../../onnx/constants.ts'
import { axesOf } from '../../onnx/shape-values.ts'
import { arrange, type Lower, type Lowering, type Order, plainOrder, reshape } from '../lowering.ts'
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { arithmetic, castTo } from './arithmetic.ts'
import { absolute, widened } from './integers.ts'

/** Applies an operator over these axes of a tensor, which are kept as dimensions of 1. */
export const reduceTensor = (graph: TfliteGraph, name: OperatorName, x: Tensor, axes: readonly number[]): Tensor => {
  const shape = x.shape.map((size, at) => (axes.includes(at) ? 1 : size))
  return graph.operator(name, [x, graph.vector('i32', axes)], { shape }, { keepDims: true })
}

/** Defines the result in the order of the input; if axes are dropped, in the order of the remaining ones. */
const defineReduced = (node: Lowering, kept: Tensor, order: Order, axes: readonly number[], keep: boolean): void => {
  if (keep) {
    node.define(kept, order)
    return
  }
  const left = plainOrder(order.length).filter((axis) => !axes.includes(axis))
  const result = order.flatMap((axis) => (axes.includes(axis) ? [] : [left.indexOf(axis)]))
  const shape = order.flatMap((axis, at) => (axes.includes(axis) ? [] : [kept.shape[at]!]))
  node.define(reshape(node.graph, kept, shape), result)
}

const reduce =
  (compute: (graph: TfliteGraph, x: Tensor, axes: readonly number[]) => Tensor, isFloat = false): Lower =>
  (node) => {
    const rank = node.input(0).shape.length
    const given = axesOf(node, rank)
    const none = given === undefined || given.length === 0
    const order = node.order(0)
    if (none && node.int('noop_with_empty_axes') !== 0) return node.define(node.value(0, order), order)
    const axes = none ? plainOrder(rank) : given
    const x = node.value(0, order)
    const places = axes.map((axis) => order.indexOf(axis))
    const kept = compute(node.graph, isFloat ? castTo(node.graph, x, 'f32') : widened(node.graph, x), places)
    defineReduced(node, castTo(node.graph, kept, x.type), order, axes, node.int('keepdims', 1) !== 0)
  }
const by =
  (name: OperatorName) =>
  (graph: TfliteGraph, x: Tensor, axes: readonly number[]): Tensor =>
    reduceTensor(graph, name, x, axes)

const logSumExp = (graph: TfliteGraph, x: Tensor, axes: readonly number[]): Tensor => {
  const { add, sub, exp, log } = arithmetic(graph)
  const most = reduceTensor(graph, 'REDUCE_MAX', x, axes)
  return add(most, log(reduceTensor(graph, 'SUM', exp(sub(x, most)), axes)))
}

/** 1 at the largest or smallest elements of an axis, whose index no kernel finds among int64. */
const isExtreme = (graph: TfliteGraph, name: 'ARG_MAX' | 'ARG_MIN', x: Tensor, axis: number): Tensor => {
  const extreme = reduceTensor(graph, name === 'ARG_MAX' ? 'REDUCE_MAX' : 'REDUCE_MIN', x, [axis])
  return castTo(graph, arithmetic(graph).equal(x, extreme), 'i32')
}

const argument =
  (name: 'ARG_MAX' | 'ARG_MIN'): Lower =>
  (node) => {
    if (node.int('select_last_index') !== 0) throw badRequest('select_last_index is not supported by TFLite.')
    const { graph } = node
    const { shape, type } = node.result()
    const axis = node.axis('axis', 0)
    const order = node.order(0)
    const x = widened(graph, node.value(0, order))
    const at = order.indexOf(axis)
    const result = { shape: x.shape.filter((_, other) => other !== at), type }
    const isWide = x.type === 'i64'
    const inputs = [isWide ? isExtreme(graph, name, x, at) : x, graph.scalar('i32', at)]
    const index = graph.operator(isWide ? 'ARG_MAX' : name, inputs, result, { outputType: 4 })
    const kept = x.shape.map((size, other) => (other === at ? 1 : size))
    defineReduced(node, reshape(graph, index, kept), order, [axis], shape.length === order.length)
  }

const cumSum: Lower = (node) => {
  const order = node.order(0)
  const axis = axisOf(Number(node.weights(1, 'axis').values[0]), order.length)
  const at = node.graph.scalar('i32', order.indexOf(axis))
  const options = { exclusive: node.int('exclusive') !== 0, reverse: node.int('reverse') !== 0 }
  const x = node.value(0, order)
  const sums = node.graph.operator('CUMSUM', [widened(node.graph, x), at], {}, options)
  node.define(castTo(node.graph, sums, x.type), order)
}

const topK: Lower = (node) => {
  const { shape, type } = node.result()
  const axis = node.axis('axis', -1)
  const least = node.int('largest', 1) === 0
  const { neg } = arithmetic(node.graph)
  const order = [...plainOrder(shape.length).filter((other) => other !== axis), axis]
  const x = node.value(0, order)
  const result = arrange(shape, order)
  const results = [type, 'i32' as const].map((each) => ({ shape: result, type: each }))
  const count = node.graph.scalar('i32', shape[axis]!)
  const [values, indices] = node.graph.operators('TOPK_V2', [least ? neg(x) : x, count], results)
  node.define(least ? neg(values!) : values!, order)
  node.define(castTo(node.graph, indices!, 'i64'), order, 1)
}

export const REDUCTIONS: Readonly<Record<string, Lower>> = {
  ArgMax: argument('ARG_MAX'),
  ArgMin: argument('ARG_MIN'),
  CumSum: cumSum,
  ReduceL1: reduce((graph, x, axes) => reduceTensor(graph, 'SUM', absolute(graph, x), axes)),
  ReduceL2: reduce((graph, x, axes) => {
    const { mul, sqrt } = arithmetic(graph)
    return sqrt(reduceTensor(graph, 'SUM', mul(x, x), axes))
  }, true),
  ReduceLogSum: reduce((graph, x, axes) => arithmetic(graph).log(reduceTensor(graph, 'SUM', x, axes)), true),
  ReduceLogSumExp: reduce(logSumExp, true),
  ReduceMax: reduce((graph, x, axes) => reduceTensor(graph, x.type === 'bool' ? 'REDUCE_ANY' : 'REDUCE_MAX', x, axes)),
  ReduceMean: reduce(by('MEAN')),
  ReduceMin: reduce((graph, x, axes) => reduceTensor(graph, x.type === 'bool' ? 'REDUCE_ALL' : 'REDUCE_MIN', x, axes)),
  ReduceProd: reduce(by('REDUCE_PROD')),
  ReduceSum: reduce(by('SUM')),
  ReduceSumSquare: reduce((graph, x, axes) => reduceTensor(graph, 'SUM', arithmetic(graph).mul(x, x), axes)),
  TopK: topK,
}
