import { isFloat, type Kernel } from './kernel.ts'
import { firstNonFinite } from './non-finite.ts'
import { loadRows } from './rank-mean.ts'
import type { Chunk } from './strategy.ts'

/** The relative error of a distance summed by `add` in f32: 64 squares in each of four lanes, each difference rounded. */
const RELATIVE_ERROR = 70 * 2 ** -24
/** The maximum loss for a square below the smallest normal f32. */
const SQUARE_ERROR = 2 ** -149

/** Squared distances of all pairs of updates over all float tensors, chunk by chunk. */
export interface PairDistances {
  /** Adds a chunk, in fast f32 within blocks or in f64. Throws conflict naming a row that is not finite. */
  add(chunk: Chunk, exactly: boolean): void
  /** Resets all distances. */
  clear(): void
  between(a: number, b: number): number
  /** Bounds the error of a sum of one row's distances that were not added exactly. */
  errorOf(sum: number): number
}

export const pairDistances = (kernel: Kernel, rows: number, columns: number): PairDistances => {
  const base = kernel.allocate(rows * columns * 8)
  const scratch = kernel.allocate(columns * 8)
  const sums = kernel.allocate(rows * rows * 8)
  const view = (): Float64Array => new Float64Array(kernel.bytes(sums, 0).buffer, sums, rows * rows)
  let elements = 0

  return {
    add: (chunk, exactly) => {
      const { dtype, length } = chunk
      if (!isFloat(dtype)) return
      const lanes = exactly || dtype === 'f64' ? 'f64' : 'f32'
      const stride = columns * (lanes === 'f32' ? 4 : 8)
      loadRows(kernel, chunk, lanes, { base, stride, scratch })
      kernel.pairs(lanes, base, stride, rows, length, sums)
      elements += length
      // Finite values that are far apart have an infinite distance too.
      const fault = view().every(Number.isFinite) ? null : firstNonFinite(kernel, chunk, scratch)
      if (fault !== null) throw fault
    },
    clear: () => {
      view().fill(0)
      elements = 0
    },
    between: (a, b) => view()[Math.min(a, b) * rows + Math.max(a, b)]!,
    errorOf: (sum) => sum * RELATIVE_ERROR + rows * elements * SQUARE_ERROR,
  }
}
