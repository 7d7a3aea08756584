// Softmax and normalization, over axes mapped to the memory order.
import { badRequest } from '../../../domain/errors.ts'
import { axisOf } from '../../onnx/constants.ts'
import { elementCount } from '../../onnx/model.ts'
import { type Lower, type Lowering, type Order, plainOrder, reshape } from '../lowering.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { arithmetic } from './arithmetic.ts'
import { reduceTensor } from './reductions.ts'

/** Softmax and similar over the last dimension in memory; before opset 13, over all dimensions from `axis` on. */
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

/** A parameter per channel, shaped to broadcast over a value of this order. */
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
  // Before opset 21, there is one scale per group.
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

export const NORMALIZATION: Readonly<Record<string, Lower>> = {
  BatchNormalization: batchNorm,
  GroupNormalization: groupNorm,
  InstanceNormalization: instanceNorm,
  LayerNormalization: layerNorm,
  LogSoftmax: overLast((node, x) => node.graph.operator('LOG_SOFTMAX', [x], {})),
  LpNormalization: lpNorm,
  MeanVarianceNormalization: meanVariance,
  RMSNormalization: rmsNorm,
  Softmax: overLast((node, x) => node.graph.operator('SOFTMAX', [x], {}, { beta: 1 })),
}
