import { conflict } from '../domain/errors.ts'
import { EXACT_SUM, meanOfLargeIntegers } from './exact-integers.ts'
import { blameNonFinite } from './finite.ts'
import { isFloat, padded } from './kernel.ts'
import type { StrategyFactory } from './strategy.ts'

/** 128 KiB of float32 per row and 256 KiB of sums: together they stay in a second-level cache. */
const COLUMNS = 32_768

/**
 * Federated averaging: w = sum(n_k * w_k) / sum(n_k) (McMahan et al. 2017, "Communication-Efficient Learning of Deep
 * Networks from Decentralized Data", algorithm 1). Products are summed in f64 in row order and divided once; integers
 * become the exact mean rounded to the nearest, ties to even. One row is in memory at a time.
 */
export const fedavg: StrategyFactory = (kernel, samples) => {
  const total = samples.reduce((sum, count) => sum + count, 0)
  if (total === 0)
    throw conflict('None of the updates counts any samples, so they cannot be weighed. Send num_samples.')
  const row = kernel.allocate(padded(COLUMNS) * 8)
  const sums = kernel.allocate(padded(COLUMNS) * 8)
  return {
    columns: COLUMNS,
    combine: (chunk) => {
      const { dtype, length } = chunk
      kernel.clear(sums, length)
      let largestSum = 0
      samples.forEach((count, k) => {
        chunk.load(k, row)
        largestSum += count * kernel.add(dtype, row, sums, length, count)
      })
      if (!isFloat(dtype) && largestSum >= EXACT_SUM) {
        meanOfLargeIntegers(kernel, chunk, samples, row, sums)
        return sums
      }
      if (!kernel.finish(dtype, sums, total, row, length)) throw blameNonFinite(kernel, chunk, row)
      return row
    },
    weights: () => samples.map((count) => count / total),
  }
}
