import { rankMean } from './rank-mean.ts'
import type { StrategyFactory } from './strategy.ts'

/**
 * The median of every coordinate; for an even number of updates, the mean of the two middle values (Yin et al. 2018,
 * "Byzantine-Robust Distributed Learning", definition 1). Ignores sample counts, which an attacker could inflate.
 */
export const fedmedian: StrategyFactory = (kernel, { samples }) => {
  const rows = samples.length
  const { columns, combine } = rankMean(kernel, rows, Math.floor((rows - 1) / 2), Math.floor(rows / 2) + 1)
  return { columns, combine, weights: () => samples.map(() => 1 / rows) }
}
