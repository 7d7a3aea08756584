import { type Moments, varianceOf } from './moments.ts'
import { tCritical, tTwoSided } from './special-functions.ts'

export interface TTest {
  readonly tStatistic: number
  /** Two-sided. */
  readonly pValue: number
  /** By Welch and Satterthwaite; not an integer. */
  readonly degreesOfFreedom: number
  /** For the difference of the means, a - b. */
  readonly confidenceInterval: { readonly lower: number; readonly upper: number; readonly level: number }
  /** Cohen's d with the pooled standard deviation. */
  readonly effectSize: number
}

/**
 * Returns the two-sided interval of a mean by Student's t with n - 1 degrees of freedom (Student 1908). Null for fewer than two
 * values or no variance: a zero-width interval would claim a certainty that the data does not support.
 */
export const meanInterval = (
  sample: Moments,
  confidenceLevel: number,
): { readonly lower: number; readonly upper: number } | null => {
  const variance = varianceOf(sample)
  if (variance === null || !(variance > 0)) return null
  const reach = tCritical(1 - confidenceLevel, sample.count - 1) * Math.sqrt(variance / sample.count)
  return { lower: sample.mean - reach, upper: sample.mean + reach }
}

/**
 * Welch's t-test of two samples with unequal variances (Welch 1947). Null if a sample has fewer than two values, or neither
 * varies.
 */
export const welchTest = (a: Moments, b: Moments, confidenceLevel = 0.95): TTest | null => {
  const varianceA = varianceOf(a)
  const varianceB = varianceOf(b)
  if (varianceA === null || varianceB === null) return null
  const shareA = varianceA / a.count
  const shareB = varianceB / b.count
  const squaredError = shareA + shareB
  if (!(squaredError > 0)) return null
  const error = Math.sqrt(squaredError)
  const apart = a.mean - b.mean
  // From shares of the total error, whose squares neither overflow nor vanish.
  const [partA, partB] = [shareA / squaredError, shareB / squaredError]
  const degreesOfFreedom = 1 / ((partA * partA) / (a.count - 1) + (partB * partB) / (b.count - 1))
  const tStatistic = apart / error
  const reach = tCritical(1 - confidenceLevel, degreesOfFreedom) * error
  return {
    tStatistic,
    pValue: tTwoSided(tStatistic, degreesOfFreedom),
    degreesOfFreedom,
    confidenceInterval: { lower: apart - reach, upper: apart + reach, level: confidenceLevel },
    effectSize: apart / Math.sqrt((a.m2 + b.m2) / (a.count + b.count - 2)),
  }
}
