import { type Moments, varianceOf } from './moments.ts'

/** The sample size at which the interval is tightest relative to a fixed one. */
const TUNED_FOR = 5000
const MAX_ALPHA = 1 - 2 ** -53

/**
 * Returns an interval for the difference of two means, a - b, that may be checked after every observation: the probability that
 * it ever misses is at most `alpha` (asymptotic confidence sequence with a Gaussian mixture: Waudby-Smith, Arbour, Sinha,
 * Kennedy, Ramdas 2021). Null if a sample has fewer than two values.
 *
 * A small sample beside a large one often lacks the rare values that make up the variance: its own estimate is then too low, in
 * the extreme 0. So the standard error is at least the pooled one, which equals it for samples of one size.
 */
export const alwaysValidInterval = (
  a: Moments,
  b: Moments,
  alpha: number,
): { readonly lower: number; readonly upper: number } | null => {
  const varianceA = varianceOf(a)
  const varianceB = varianceOf(b)
  if (varianceA === null || varianceB === null) return null
  const n = a.count + b.count
  const pooled = ((a.m2 + b.m2) / (n - 2)) * (1 / a.count + 1 / b.count)
  const error = Math.sqrt(Math.max(varianceA / a.count + varianceB / b.count, pooled))
  // At alpha 1 it would be 0 / 0; this is the limit.
  const logAlpha = Math.log(Math.min(alpha, MAX_ALPHA))
  const rhoSquared = (-2 * logAlpha + Math.log1p(-2 * logAlpha)) / TUNED_FOR
  const widened = Math.sqrt(
    ((2 * (n * rhoSquared + 1)) / (n * n * rhoSquared)) * (Math.log1p(n * rhoSquared) / 2 - logAlpha),
  )
  const reach = error * Math.sqrt(n) * widened
  const apart = a.mean - b.mean
  return { lower: apart - reach, upper: apart + reach }
}
