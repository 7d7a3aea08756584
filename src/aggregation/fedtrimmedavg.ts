import { rankMean } from './rank-mean.ts'
import { numberOption, type StrategyFactory } from './strategy.ts'

/** floor(trim * n), where 0.29 * 100 counts as 29, not as the 28.999... that it is in binary. */
export const trimmedPerEnd = (trim: number, rows: number): number =>
  Math.min(Math.floor(trim * rows + 1e-9), Math.floor((rows - 1) / 2))

/**
 * The mean of every coordinate without its floor(trim * n) lowest and as many highest values (Yin et al. 2018,
 * "Byzantine-Robust Distributed Learning", definition 2). Sample counts are not looked at.
 */
export const fedtrimmedavg: StrategyFactory = (kernel, { samples, options }) => {
  const rows = samples.length
  const cut = trimmedPerEnd(numberOption(options, 'trim'), rows)
  const { columns, combine } = rankMean(kernel, rows, cut, rows - cut)
  return { columns, combine, weights: () => samples.map(() => 1 / rows) }
}
