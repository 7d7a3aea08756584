import { conflict } from '../domain/errors.ts'
import type { PrivacyOutcome } from './aggregation-messages.ts'
import { EXACT_SUM, meanOfLargeIntegers } from './exact-integers.ts'
import { type Kernel, padded } from './kernel.ts'
import { nonFiniteError } from './non-finite.ts'
import type { Chunk, Round, Survey } from './strategy.ts'

/** Combines the elements of updates; shared by the averaging strategies. */
export interface Mean {
  readonly needs: { readonly global?: true }
  /** The address of f64 sums for a chunk; the mean is sums / total. */
  readonly sums: number
  readonly total: number
  surveys(): Iterable<Survey>
  /** Computes the sums of a chunk of floats. */
  sum(chunk: Chunk): void
  /** Returns the address of the rounded results for a chunk of integers, in its dtype. */
  integers(chunk: Chunk): number
  weights(): readonly number[]
  privacy?(): PrivacyOutcome
}

/**
 * sum(n_k * w_k) / sum(n_k) with integer weights n_k. Products are summed in f64 in row order and divided once; integers
 * become the exact mean rounded to nearest, ties to even. One row at a time is in memory, at `row`. Throws conflict if all
 * weights are zero.
 */
export const sampleMean = (kernel: Kernel, samples: Round['samples'], columns: number, row: number): Mean => {
  const total = samples.reduce((sum, count) => sum + count, 0)
  if (total === 0) throw conflict('All updates report 0 samples, so they cannot be weighted. Send num_samples.')
  const sums = kernel.allocate(padded(columns) * 8)
  const add = (chunk: Chunk): number => {
    kernel.clear(sums, chunk.length)
    let largestSum = 0
    samples.forEach((count, k) => {
      chunk.load(k, row)
      largestSum += count * kernel.add(chunk.dtype, row, sums, chunk.length, count)
    })
    return largestSum
  }
  return {
    needs: {},
    sums,
    total,
    surveys: () => [],
    sum: (chunk) => void add(chunk),
    integers: (chunk) => {
      if (add(chunk) >= EXACT_SUM) {
        meanOfLargeIntegers(kernel, chunk, samples, row, sums)
        return sums
      }
      kernel.finish(chunk.dtype, sums, total, row, chunk.length)
      return row
    },
    weights: () => samples.map((count) => count / total),
  }
}

/** The mean of rows that all have the same weight. */
export const equalMean = (kernel: Kernel, rows: number, columns: number, row: number): Mean =>
  sampleMean(kernel, new Array(rows).fill(1), columns, row)

/** Rounds f64 values / total to the chunk's float type at `row`; returns `row`. Throws conflict if a result is not finite. */
export const finishFloats = (kernel: Kernel, chunk: Chunk, values: number, total: number, row: number): number => {
  if (!kernel.finish(chunk.dtype, values, total, row, chunk.length)) throw nonFiniteError(kernel, chunk, row)
  return row
}
