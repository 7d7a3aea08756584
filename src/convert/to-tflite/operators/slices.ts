// Parts of tensors, and tensors composed of parts.
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'

export const slice = (graph: TfliteGraph, x: Tensor, begin: readonly number[], size: readonly number[]): Tensor => {
  if (begin.every((at) => at === 0) && size.every((count, at) => count === x.shape[at])) return x
  const lists = [begin, size].map((list) => graph.constant('i32', [list.length], list))
  return graph.operator('SLICE', [x, ...lists], { shape: size }, { table: 'SliceOptions', value: {} })
}

export const concat = (graph: TfliteGraph, parts: readonly Tensor[], axis: number): Tensor => {
  const along = parts.reduce((sum, { shape }) => sum + shape[axis]!, 0)
  const shape = parts[0]!.shape.map((size, at) => (at === axis ? along : size))
  return graph.operator(
    'CONCATENATION',
    parts,
    { shape },
    { table: 'ConcatenationOptions', value: { axis, activation: 0 } },
  )
}

/** Takes the elements at these constant positions of an axis. */
export const take = (graph: TfliteGraph, x: Tensor, places: readonly number[], axis: number): Tensor => {
  const shape = x.shape.map((size, at) => (at === axis ? places.length : size))
  return graph.operator(
    'GATHER',
    [x, graph.constant('i32', [places.length], places)],
    { shape },
    { table: 'GatherOptions', value: { axis, batchDims: 0 } },
  )
}
