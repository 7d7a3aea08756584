import { compareIds } from './messages.ts'

/** A tensor of a model. Only tensors of real numbers are summed. */
export interface TensorShape {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
}

const REAL = new Set(['f64', 'f32', 'f16', 'bf16'])

/**
 * Returns the tensors whose elements are the coordinates of a sum, sorted by name whatever the file's order; each is row-major.
 * Integer and boolean tensors (counters, indices) keep the global model's values.
 */
export const summedTensors = <T extends TensorShape>(tensors: readonly T[]): T[] =>
  tensors.filter(({ dtype }) => REAL.has(dtype)).sort((a, b) => compareIds(a.name, b.name))

export const coordinateCount = (tensors: readonly TensorShape[]): number =>
  summedTensors(tensors).reduce((sum, { shape }) => sum + shape.reduce((count, size) => count * size, 1), 0)
