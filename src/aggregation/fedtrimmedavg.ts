import { rankMean } from './rank-mean.ts'
import { numberOption, type StrategyFactory } from './strategy.ts'

/** floor(trim * n) computed in decimal, so that 0.29 * 100 is 29, although it is 28.999... in binary. */
export const trimmedPerEnd = (trim: number, rows: number): number =>
  Math.min(Math.floor(trim * rows + 1e-9), Math.floor((rows - 1) / 2))

/**
 * The mean of every coordinate without its floor(trim * n) lowest and as many highest values (Yin et al. 2018,
 * "Byzantine-Robust Distributed Learning", definition 2). Ignores sample counts.
 */
export const fedtrimmedavg: StrategyFactory = (kernel, { samples, options }) => {
  const rows = samples.length
  const cut = trimmedPerEnd(numberOption(options, 'trim'), rows)
  const { columns, combine } = rankMean(kernel, rows, cut, rows - cut)
  return { columns, combine, weights: () => samples.map(() => 1 / rows) }
}
