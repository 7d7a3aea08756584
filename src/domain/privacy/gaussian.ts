import { normalDensity, normalUpper } from '../statistics/special-functions.ts'

/** P(Z > x) / density(x) of the standard normal distribution (the Mills ratio), even if both are too small for a double. */
const millsRatio = (x: number): number => {
  if (x < 30) return normalUpper(x) / normalDensity(x)
  let fraction = x
  for (let n = 30; n > 0; n--) fraction = x + n / fraction
  return 1 / fraction
}

/** Returns the exact delta of one Gaussian mechanism without sampling at an epsilon (Balle, Wang 2018, Theorem 8). */
export const gaussianDelta = (sigma: number, epsilon: number): number => {
  const from = epsilon * sigma - 1 / (2 * sigma)
  const to = epsilon * sigma + 1 / (2 * sigma)
  // e^epsilon density(to) = density(from), so that nothing overflows.
  if (from < 0) return normalUpper(from) - normalDensity(from) * millsRatio(to)
  return normalDensity(from) * (millsRatio(from) - millsRatio(to))
}

/** Returns the smallest epsilon of one Gaussian mechanism without sampling; n equal mechanisms are one with sigma / sqrt(n). */
export const gaussianEpsilon = (sigma: number, delta: number): number => {
  if (gaussianDelta(sigma, 0) <= delta) return 0
  let low = 0
  let high = 1
  while (gaussianDelta(sigma, high) > delta) {
    low = high
    high *= 2
    if (high === Number.POSITIVE_INFINITY) return high
  }
  while (high - low > high * 1e-15) {
    const middle = (low + high) / 2
    if (middle <= low || middle >= high) break
    if (gaussianDelta(sigma, middle) > delta) low = middle
    else high = middle
  }
  return high
}
