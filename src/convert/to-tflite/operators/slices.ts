// Parts of tensors, and tensors composed of parts.
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'

export const slice = (graph: TfliteGraph, x: Tensor, begin: readonly number[], size: readonly number[]): Tensor => {
  if (begin.every((at) => at === 0) && size.every((count, at) => count === x.shape[at])) return x
  return graph.operator('SLICE', [x, graph.vector('i32', begin), graph.vector('i32', size)], { shape: size })
}

export const concat = (graph: TfliteGraph, parts: readonly Tensor[], axis: number): Tensor => {
  const along = parts.reduce((sum, { shape }) => sum + shape[axis]!, 0)
  const shape = parts[0]!.shape.map((size, at) => (at === axis ? along : size))
  return graph.operator('CONCATENATION', parts, { shape }, { axis, activation: 0 })
}

/** The elements of an axis at these positions, which differ along the first `batchDims` dimensions. */
export const gather = (graph: TfliteGraph, x: Tensor, places: Tensor, axis: number, batchDims = 0): Tensor => {
  const shape = [...x.shape.slice(0, axis), ...places.shape.slice(batchDims), ...x.shape.slice(axis + 1)]
  return graph.operator('GATHER', [x, places], { shape }, { axis, batchDims })
}

export const take = (graph: TfliteGraph, x: Tensor, places: readonly number[], axis: number): Tensor =>
  gather(graph, x, graph.vector('i32', places), axis)
