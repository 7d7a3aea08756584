import { byName } from './messages.ts'

/** A tensor of a model as it is seen here: only those of real numbers enter the sum. */
export interface TensorShape {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
}

const REAL = new Set(['f64', 'f32', 'f16', 'bf16'])

/**
 * The tensors whose elements are the coordinates of a sum, in the order in which they are: by name, row-major within each,
 * whatever their file's own order. Integer and boolean tensors (counters, indices) stay as the global model has them.
 */
export const summedTensors = <T extends TensorShape>(tensors: readonly T[]): T[] =>
  tensors.filter(({ dtype }) => REAL.has(dtype)).sort((a, b) => byName(a.name, b.name))

export const coordinateCount = (tensors: readonly TensorShape[]): number =>
  summedTensors(tensors).reduce((sum, { shape }) => sum + shape.reduce((count, size) => count * size, 1), 0)
