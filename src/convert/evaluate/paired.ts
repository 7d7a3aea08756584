// Confidence intervals and tests of an evaluation. The random seed is fixed, so the same results give the same report.
import { createRandom } from '../../domain/random-numbers.ts'

export interface Interval {
  readonly lower: number
  readonly upper: number
}

const RESAMPLES = 2000
const PERMUTATIONS = 10_000
const SEED = 0x9e3779b9

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Returns the interpolated quantile of the values; NaN if there are none. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN]
  return low + (high - low) * (place - Math.floor(place))
}

/** The 95% interval of a mean by the percentile bootstrap (Efron and Tibshirani 1993, section 13.3). */
export const bootstrapInterval = (values: readonly number[]): Interval => {
  const random = createRandom(SEED)
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0
    for (let i = 0; i < values.length; i++) sum += values[Math.floor(random() * values.length)]!
    return sum / values.length
  })
  return { lower: quantile(means, 0.025), upper: quantile(means, 0.975) }
}

/**
 * The two-sided p-value of paired differences by random sign flips, which are equally likely either way if both models are
 * equally good (Fisher 1935; counts the observed one, Phipson and Smyth 2010).
 */
export const signFlipTest = (differences: readonly number[]): number => {
  const random = createRandom(SEED)
  const observed = Math.abs(meanOf(differences)) - 1e-12
  let asExtreme = 1
  for (let permutation = 0; permutation < PERMUTATIONS; permutation++) {
    let sum = 0
    for (const difference of differences) sum += random() < 0.5 ? difference : -difference
    if (Math.abs(sum / differences.length) >= observed) asExtreme++
  }
  return asExtreme / (PERMUTATIONS + 1)
}

const logFactorial = (n: number): number => {
  let sum = 0
  for (let k = 2; k <= n; k++) sum += Math.log(k)
  return sum
}

/** McNemar's exact test: the two-sided p-value of `wins` and `losses` among pairs that differ (McNemar 1947; binomial). */
export const mcNemarTest = (wins: number, losses: number): number => {
  const pairs = wins + losses
  let tail = 0
  for (let k = 0; k <= Math.min(wins, losses); k++)
    tail += Math.exp(logFactorial(pairs) - logFactorial(k) - logFactorial(pairs - k) - pairs * Math.LN2)
  return Math.min(1, 2 * tail)
}

/** The cosine of the angle between two vectors, -1 to 1; 0 if either is zero. */
export const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let [product, normA, normB] = [0, 0, 0]
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    product += a[i]! * b[i]!
    normA += a[i]! ** 2
    normB += b[i]! ** 2
  }
  return normA === 0 || normB === 0 ? 0 : product / Math.sqrt(normA * normB)
}
