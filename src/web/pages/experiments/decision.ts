import { goalOf } from '../../../domain/metric-goal.ts'
import { measure } from '../../text/format.ts'
import type { Analytics, Comparison } from './experiment-records.ts'

export interface Decision {
  readonly tone: 'good' | 'bad' | 'warn' | 'busy' | 'idle'
  readonly title: string
  readonly reasons: readonly string[]
}

/** Lower is better for errors, times and costs, such as bytes and the use of the battery; higher is better for others. */
export const betterOf = (metric: string): 'lowest' | 'highest' =>
  goalOf(metric) === 'minimize' || /bytes|battery(?!_?level)/i.test(metric) ? 'lowest' : 'highest'

const between = ({ always_valid_interval: interval }: Comparison): string =>
  interval === null ? '' : ` (${measure(interval.lower)} to ${measure(interval.upper)})`

const isBetter = (metric: string, difference: number): boolean => difference > 0 === (betterOf(metric) === 'highest')

/** Returns the current conclusion and its reasons. Uses always-valid intervals, so repeated looks do not inflate errors. */
export const decide = ({ comparisons, sample_ratio, primary_metric, variants }: Analytics): Decision => {
  if (sample_ratio?.mismatch) {
    const text = `The shares of reporting devices differ from the allocation (p = ${measure(sample_ratio.p_value)}). Find out what keeps devices of one variant from reporting before you trust any comparison.`
    return { tone: 'bad', title: 'Not trustworthy', reasons: [text] }
  }
  const compared = comparisons.filter(({ always_valid_interval: interval }) => interval !== null)
  if (compared.length === 0) {
    const missing = variants
      .filter(({ metrics }) => (metrics[primary_metric]?.devices ?? 0) < 2)
      .map(({ name }) => name)
    const text =
      missing.length > 0
        ? `At least two devices of each variant must report ${primary_metric}; ${missing.join(', ')} ${missing.length === 1 ? 'has' : 'have'} fewer.`
        : `Within each variant, all devices measured the same ${primary_metric}: there is no variation to test against.`
    return { tone: 'idle', title: 'Nothing to compare yet', reasons: [text] }
  }
  const decided = compared.filter((one) => one.decided)
  if (decided.length === 0) {
    const reasons = compared.map(
      (one) =>
        `${one.variant}: ${primary_metric} differs from ${one.baseline} by ${measure(one.difference)}${between(one)}; the interval still contains zero.`,
    )
    return { tone: 'busy', title: 'Undecided', reasons }
  }
  const reasons = decided.map(
    (one) =>
      `${one.variant} has ${one.difference! > 0 ? 'a higher' : 'a lower'} ${primary_metric} than ${one.baseline}, by ${measure(Math.abs(one.difference!))}${between(one)}; the interval excludes zero.`,
  )
  const better = decided.filter((one) => isBetter(primary_metric, one.difference!))
  if (better.length > 0)
    return { tone: 'good', title: `${better.map((one) => one.variant).join(', ')} is better`, reasons }
  return { tone: 'warn', title: `${decided.map((one) => one.variant).join(', ')} is worse`, reasons }
}
