// Operators over whole axes: sums, softmax, normalization. Axes are mapped to where they lie in memory.
import { badRequest } from '../../../domain/errors.ts'
import { axisOf } from '../../onnx/constants.ts'
import { elementCount } from '../../onnx/model.ts'
import { axesOf } from '../../onnx/shape-values.ts'
import { type Lower, type Lowering, type Order, plainOrder, reshape } from '../lowering.ts'
import type { OperatorName } from '../operator-names.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { arithmetic, castTo } from './arithmetic.ts'

const KEEP = { table: 'ReducerOptions', value: { keepDims: true } }

/** An operator over these axes of a tensor, which stay as dimensions of 1. */
export const reduceTensor = (graph: TfliteGraph, name: OperatorName, x: Tensor, axes: readonly number[]): Tensor => {
  const shape = x.shape.map((size, at) => (axes.includes(at) ? 1 : size))
  return graph.operator(name, [x, graph.constant('i32', [axes.length], axes)], { shape }, KEEP)
}

/** The result in the order of the input; where axes are dropped, in the order of those that stay. */
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
  (compute: (graph: TfliteGraph, x: Tensor, axes: readonly number[]) => Tensor): Lower =>
  (node) => {
    const rank = node.input(0).shape.length
    const given = axesOf(node, 1, rank)
    const none = given === undefined || given.length === 0
    const order = node.order(0)
    if (none && node.int('noop_with_empty_axes') !== 0) return node.define(node.value(0, order), order)
    const axes = none ? plainOrder(rank) : given
    const kept = compute(
      node.graph,
      node.value(0, order),
      axes.map((axis) => order.indexOf(axis)),
    )
    defineReduced(node, kept, order, axes, node.int('keepdims', 1) !== 0)
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

const argument =
  (name: 'ARG_MAX' | 'ARG_MIN'): Lower =>
  (node) => {
    if (node.int('select_last_index') !== 0) throw badRequest('select_last_index is not supported by TFLite.')
    const { shape, type } = node.result()
    const axis = node.axis('axis', 0)
    const order = node.order(0)
    const x = node.value(0, order)
    const at = order.indexOf(axis)
    const result = x.shape.filter((_, other) => other !== at)
    const index = node.graph.operator(
      name,
      [x, node.graph.constant('i32', [], [at])],
      { shape: result, type },
      {
        table: name === 'ARG_MAX' ? 'ArgMaxOptions' : 'ArgMinOptions',
        value: { outputType: 4 },
      },
    )
    const kept = reshape(
      node.graph,
      index,
      x.shape.map((size, other) => (other === at ? 1 : size)),
    )
    defineReduced(node, kept, order, [axis], shape.length === order.length)
  }

/** Softmax and the like over the last dimension in memory; before opset 13 over all from `axis` on. */
const overLast =
  (compute: (node: Lowering, x: Tensor) => Tensor): Lower =>
  (node) => {
    const { shape } = node.input(0)
    if (node.opset < 13) {
      const axis = axisOf(node.int('axis', 1), Math.max(shape.length, 1))
      const rows = reshape(node.graph, node.value(0), [
        elementCount(shape.slice(0, axis)),
        elementCount(shape.slice(axis)),
      ])
      return node.define(reshape(node.graph, compute(node, rows), shape))
    }
    const axis = node.axis('axis', -1)
    const own = node.order(0)
    const order = own.at(-1) === axis ? own : [...own.filter((other) => other !== axis), axis]
    node.define(compute(node, node.value(0, order)), order)
  }

/** `(x - mean) / sqrt(variance + epsilon)` over axes of the tensor. */
const normalized = (graph: TfliteGraph, x: Tensor, axes: readonly number[], epsilon: number): Tensor => {
  const { add, sub, mul, rsqrt, squaredDifference } = arithmetic(graph)
  const mean = reduceTensor(graph, 'MEAN', x, axes)
  const variance = reduceTensor(graph, 'MEAN', squaredDifference(x, mean), axes)
  return mul(sub(x, mean), rsqrt(add(variance, epsilon)))
}

const layerNorm: Lower = (node) => {
  const { shape } = node.input(0)
  const axis = axisOf(node.int('axis', -1), shape.length)
  if (node.wants(1) || node.wants(2)) throw badRequest('Mean and deviation as outputs are not supported.')
  const { mul, add } = arithmetic(node.graph)
  const axes = plainOrder(shape.length).slice(axis)
  const normal = mul(normalized(node.graph, node.value(0), axes, node.float('epsilon', 1e-5)), node.value(1))
  node.define(node.has(2) ? add(normal, node.value(2)) : normal)
}

const rmsNorm: Lower = (node) => {
  const { shape } = node.input(0)
  const axes = plainOrder(shape.length).slice(axisOf(node.int('axis', -1), shape.length))
  const { mul, add, rsqrt } = arithmetic(node.graph)
  const x = node.value(0)
  const mean = reduceTensor(node.graph, 'MEAN', mul(x, x), axes)
  node.define(mul(mul(x, rsqrt(add(mean, node.float('epsilon', 1e-5)))), node.value(1)))
}

/** A parameter for each channel, so that it broadcasts over a value of this order. */
const perChannel = (node: Lowering, at: number, order: Order): Tensor =>
  reshape(
    node.graph,
    node.value(at),
    order.map((axis) => (axis === 1 ? elementCount(node.input(at).shape) : 1)),
  )

const batchNorm: Lower = (node) => {
  if (node.int('training_mode') !== 0 || node.wants(1))
    throw badRequest('Training mode is not supported; export for inference.')
  const order = node.order(0)
  const { add, sub, mul, rsqrt } = arithmetic(node.graph)
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((at) => node.constant(at)?.values)
  const x = node.value(0, order)
  const epsilon = node.float('epsilon', 1e-5)
  const channels = node.input(1).shape
  if (scale === undefined || bias === undefined || mean === undefined || variance === undefined) {
    const [s, b, m, v] = [1, 2, 3, 4].map((at) => perChannel(node, at, order))
    return node.define(add(mul(mul(sub(x, m!), rsqrt(add(v!, epsilon))), s!), b!), order)
  }
  const factor = Float64Array.from(scale, (value, at) => value / Math.sqrt(variance[at]! + epsilon))
  const shift = factor.map((value, at) => bias[at]! - mean[at]! * value)
  const shape = order.map((axis) => (axis === 1 ? channels[0]! : 1))
  node.define(add(mul(x, node.graph.constant('f32', shape, factor)), node.graph.constant('f32', shape, shift)), order)
}

const instanceNorm: Lower = (node) => {
  const order = node.order(0)
  const { add, mul } = arithmetic(node.graph)
  const axes = order.flatMap((axis, at) => (axis > 1 ? [at] : []))
  const normal = normalized(node.graph, node.value(0, order), axes, node.float('epsilon', 1e-5))
  node.define(add(mul(normal, perChannel(node, 1, order)), perChannel(node, 2, order)), order)
}

const groupNorm: Lower = (node) => {
  const { shape } = node.input(0)
  const groups = node.int('num_groups', 1)
  const rows = reshape(node.graph, node.value(0), [shape[0]!, groups, elementCount(shape) / (shape[0]! * groups)])
  const { add, mul } = arithmetic(node.graph)
  const normal = reshape(node.graph, normalized(node.graph, rows, [2], node.float('epsilon', 1e-5)), shape)
  const order = plainOrder(shape.length)
  // Before opset 21 there is one scale for each group.
  const each = (at: number): Tensor => {
    const values = node.weights(at, 'scale and bias').values
    const list = Float64Array.from(
      { length: shape[1]! },
      (_, channel) => values[Math.floor((channel * values.length) / shape[1]!)]!,
    )
    return node.graph.constant(
      'f32',
      order.map((axis) => (axis === 1 ? shape[1]! : 1)),
      list,
    )
  }
  node.define(add(mul(normal, each(1)), each(2)))
}

const lpNorm: Lower = (node) => {
  const order = node.order(0)
  const x = node.value(0, order)
  const { div, mul, abs, sqrt, max } = arithmetic(node.graph)
  const axes = [order.indexOf(node.axis('axis', -1))]
  const [one, squares] = [node.int('p', 2) === 1, mul(x, x)]
  const size = one
    ? reduceTensor(node.graph, 'SUM', abs(x), axes)
    : sqrt(reduceTensor(node.graph, 'SUM', squares, axes))
  node.define(div(x, max(size, 1e-30)), order)
}

const meanVariance: Lower = (node) => {
  const order = node.order(0)
  const axes = (node.ints('axes') ?? [0, 2, 3]).map((axis) => order.indexOf(axisOf(axis, order.length)))
  node.define(normalized(node.graph, node.value(0, order), axes, 1e-9), order)
}

const cumSum: Lower = (node) => {
  const order = node.order(0)
  const axis = axisOf(Number(node.weights(1, 'axis').values[0]), order.length)
  const at = node.graph.constant('i32', [], [order.indexOf(axis)])
  const value = { exclusive: node.int('exclusive') !== 0, reverse: node.int('reverse') !== 0 }
  node.define(node.graph.operator('CUMSUM', [node.value(0, order), at], {}, { table: 'CumsumOptions', value }), order)
}

const topK: Lower = (node) => {
  const { shape, type } = node.result()
  const axis = node.axis('axis', -1)
  const least = node.int('largest', 1) === 0
  const { neg } = arithmetic(node.graph)
  const order = [...plainOrder(shape.length).filter((other) => other !== axis), axis]
  const x = node.value(0, order)
  const result = order.map((other) => shape[other]!)
  const types = [
    { shape: result, type },
    { shape: result, type: 'i32' as const },
  ]
  const count = node.graph.constant('i32', [], [shape[axis]!])
  const [values, indices] = node.graph.operators('TOPK_V2', [least ? neg(x) : x, count], types, {
    table: 'TopKV2Options',
    value: {},
  })
  node.define(least ? neg(values!) : values!, order)
  node.define(castTo(node.graph, indices!, 'i64'), order, 1)
}

export const REDUCTIONS: Readonly<Record<string, Lower>> = {
  ArgMax: argument('ARG_MAX'),
  ArgMin: argument('ARG_MIN'),
  BatchNormalization: batchNorm,
  CumSum: cumSum,
  GroupNormalization: groupNorm,
  InstanceNormalization: instanceNorm,
  LayerNormalization: layerNorm,
  LogSoftmax: overLast((node, x) =>
    node.graph.operator('LOG_SOFTMAX', [x], {}, { table: 'LogSoftmaxOptions', value: {} }),
  ),
  LpNormalization: lpNorm,
  MeanVarianceNormalization: meanVariance,
  RMSNormalization: rmsNorm,
  ReduceL1: reduce((graph, x, axes) => reduceTensor(graph, 'SUM', arithmetic(graph).abs(x), axes)),
  ReduceL2: reduce((graph, x, axes) => {
    const { mul, sqrt } = arithmetic(graph)
    return sqrt(reduceTensor(graph, 'SUM', mul(x, x), axes))
  }),
  ReduceLogSum: reduce((graph, x, axes) => arithmetic(graph).log(reduceTensor(graph, 'SUM', x, axes))),
  ReduceLogSumExp: reduce(logSumExp),
  ReduceMax: reduce((graph, x, axes) => reduceTensor(graph, x.type === 'bool' ? 'REDUCE_ANY' : 'REDUCE_MAX', x, axes)),
  ReduceMean: reduce(by('MEAN')),
  ReduceMin: reduce((graph, x, axes) => reduceTensor(graph, x.type === 'bool' ? 'REDUCE_ALL' : 'REDUCE_MIN', x, axes)),
  ReduceProd: reduce(by('REDUCE_PROD')),
  ReduceSum: reduce(by('SUM')),
  ReduceSumSquare: reduce((graph, x, axes) => reduceTensor(graph, 'SUM', arithmetic(graph).mul(x, x), axes)),
  Softmax: overLast((node, x) =>
    node.graph.operator('SOFTMAX', [x], {}, { table: 'SoftmaxOptions', value: { beta: 1 } }),
  ),
  TopK: topK,
}
