// Operators that select elements by index.
import { badRequest } from '../../../domain/errors.ts'
import { elementCount } from '../../onnx/model.ts'
import { arrange, type Lower, type Lowering, plainOrder, reshape, transpose } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { castTo } from './arithmetic.ts'
import { gather as gatherAlong, slice } from './slices.ts'

/** The second input as nonnegative indices: adds the axis size to negative ones; the last dimension ranges over several axes. */
const fromFront = (node: Lowering, sizes: readonly number[]): Tensor => {
  const constant = node.constant(1)
  if (constant !== undefined) {
    const values = Float64Array.from(constant.values, (place, index) =>
      place < 0 ? place + sizes[index % sizes.length]! : place,
    )
    return node.graph.constant('i32', constant.shape, values)
  }
  const index = castTo(node.graph, node.value(1), 'i32')
  const { graph } = node
  const zero = graph.scalar('i32', 0)
  const length = sizes.length === 1 ? graph.scalar('i32', sizes[0]!) : graph.vector('i32', sizes)
  const negative = graph.operator('LESS', [index, zero], { type: 'bool' })
  const moved = graph.operator('ADD', [index, length])
  return graph.operator('SELECT_V2', [negative, moved, index], { shape: index.shape, type: 'i32' })
}

/** True for the labels of a classifier, which become class numbers, because TFLite has no strings. */
const isTextList = (node: Lowering): boolean => node.input(0).type === 'string' && node.input(0).shape.length === 1

const gather: Lower = (node) => {
  const axis = node.axis('axis', 0)
  const indices = fromFront(node, [node.input(0).shape[axis]!])
  node.define(
    isTextList(node) ? castTo(node.graph, indices, 'i64') : gatherAlong(node.graph, node.value(0), indices, axis),
  )
}

/** Moves the axis to the end; a GATHER per row reads the data rows that have indices. */
const gatherElements: Lower = (node) => {
  const { graph } = node
  const { shape } = node.result()
  const axis = node.axis('axis', 0)
  const data = node.input(0).shape
  const order = [...plainOrder(shape.length).filter((other) => other !== axis), axis]
  const size = order.map((other) => (other === axis ? data[axis]! : shape[other]!))
  const begin = shape.map(() => 0)
  const x = slice(graph, node.value(0, order), begin, size)
  const indices = transpose(graph, fromFront(node, [data[axis]!]), order)
  const rows = elementCount(size.slice(0, -1))
  const [list, places] = [reshape(graph, x, [rows, data[axis]!]), reshape(graph, indices, [rows, shape[axis]!])]
  node.define(reshape(graph, gatherAlong(graph, list, places, 1, 1), arrange(shape, order)), order)
}

const gatherNd: Lower = (node) => {
  const batchDims = node.int('batch_dims')
  const axes = node.input(1).shape.at(-1)!
  const indices = fromFront(node, node.input(0).shape.slice(batchDims, batchDims + axes))
  if (batchDims !== 0) {
    if (axes !== 1) throw badRequest('batch_dims with several indices are not supported by TFLite.')
    const x = node.value(0)
    const places = reshape(node.graph, indices, indices.shape.slice(0, -1))
    return node.define(gatherAlong(node.graph, x, places, batchDims, batchDims))
  }
  node.define(node.graph.operator('GATHER_ND', [node.value(0), indices], { shape: node.result().shape }))
}

export const GATHERING: Readonly<Record<string, Lower>> = {
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherNd,
}
