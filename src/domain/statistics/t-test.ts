import { type Moments, varianceOf } from './moments.ts'
import { tCritical, tTwoSided } from './special-functions.ts'

export interface TTest {
  readonly tStatistic: number
  /** Two-sided. */
  readonly pValue: number
  /** Of Welch and Satterthwaite; not a whole number. */
  readonly degreesOfFreedom: number
  /** Of the difference of the means, a - b. */
  readonly confidenceInterval: { readonly lower: number; readonly upper: number; readonly level: number }
  /** Cohen's d with the pooled standard deviation. */
  readonly effectSize: number
}

/** The two-sided interval of a mean by Student's t with n - 1 degrees of freedom (Student 1908); null under two values. */
export const meanInterval = (
  sample: Moments,
  confidenceLevel: number,
): { readonly lower: number; readonly upper: number } | null => {
  const variance = varianceOf(sample)
  if (variance === null) return null
  const reach = tCritical(1 - confidenceLevel, sample.count - 1) * Math.sqrt(variance / sample.count)
  return { lower: sample.mean - reach, upper: sample.mean + reach }
}

/**
 * Welch's t-test of two samples with variances of their own (Welch 1947). Null where there is nothing to test: fewer than
 * two values in a sample, or none of them vary.
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
  // By the parts of the error, whose squares neither overflow nor vanish as those of the shares may.
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
