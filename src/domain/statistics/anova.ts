import { type Moments, mergeMoments, NO_MOMENTS } from './moments.ts'
import { fUpper } from './special-functions.ts'
import { tukeyUpper } from './studentized-range.ts'

export interface Anova {
  readonly fStatistic: number
  readonly pValue: number
  readonly degreesOfFreedomBetween: number
  readonly degreesOfFreedomWithin: number
  /** Eta squared: the share of the variation that is between the groups. */
  readonly effectSize: number
  readonly meanSquareWithin: number
}

/** One-way analysis of variance (Fisher). Null with fewer than two groups, no degrees of freedom within, or no variation. */
export const oneWayAnova = (groups: readonly Moments[]): Anova | null => {
  const filled = groups.filter(({ count }) => count > 0)
  const whole = filled.reduce(mergeMoments, NO_MOMENTS)
  const degreesOfFreedomBetween = filled.length - 1
  const degreesOfFreedomWithin = whole.count - filled.length
  if (degreesOfFreedomBetween < 1 || degreesOfFreedomWithin < 1) return null
  const within = filled.reduce((sum, { m2 }) => sum + m2, 0)
  const between = filled.reduce((sum, { count, mean }) => sum + count * (mean - whole.mean) ** 2, 0)
  if (!(within > 0)) return null
  const meanSquareWithin = within / degreesOfFreedomWithin
  const fStatistic = between / degreesOfFreedomBetween / meanSquareWithin
  return {
    fStatistic,
    pValue: fUpper(fStatistic, degreesOfFreedomBetween, degreesOfFreedomWithin),
    degreesOfFreedomBetween,
    degreesOfFreedomWithin,
    effectSize: between / (between + within),
    meanSquareWithin,
  }
}

export interface Pair {
  /** Indexes into the groups. */
  readonly a: number
  readonly b: number
  /** Mean of b minus mean of a. */
  readonly difference: number
  readonly pValue: number
}

/**
 * Compares every pair of groups by Tukey's honest significance test, with Kramer's (1956) error for unequal sizes. A generator,
 * because each pair takes about a millisecond.
 */
export const tukeyPairs = function* (groups: readonly Moments[], anova: Anova): Generator<Pair> {
  const filled = groups.flatMap((group, index) => (group.count > 0 ? [{ ...group, index }] : []))
  for (const [at, a] of filled.entries()) {
    for (const b of filled.slice(at + 1)) {
      const error = Math.sqrt((anova.meanSquareWithin / 2) * (1 / a.count + 1 / b.count))
      const difference = b.mean - a.mean
      const pValue = tukeyUpper(Math.abs(difference) / error, filled.length, anova.degreesOfFreedomWithin)
      yield { a: a.index, b: b.index, difference, pValue }
    }
  }
}
