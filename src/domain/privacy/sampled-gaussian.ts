// The Poisson-subsampled Gaussian mechanism with sensitivity 1: noise N(0, s^2), participation with probability q.
// Its likelihood ratio at output z is 1 - q + q exp(w), w = (2z - 1) / (2 s^2).

import { logGamma } from '../statistics/special-functions.ts'

/** Beyond this many standard deviations a Gaussian's density is below 1e-17 of its peak. */
const REACH = 9
/** Steps of the trapezoidal rule: the error is at most e^-35, for the Gaussian and for the ratio's branch points. */
const STEP_OF_GAUSSIAN = 0.6
const STEP_OF_RATIO = 0.55
/** ln n! up to the largest order used in accounting. */
const LOG_FACTORIALS = Float64Array.from({ length: 513 }, (_, n) => logGamma(n + 1))
/** More points than the lowest noise (0.01) needs; limits the sum for any input. */
const MAX_POINTS = 100_000

/** ln(1 - q + q e^w), the privacy loss, without cancellation if small and without overflow if large. */
export const lossOf = (q: number, w: number): number => {
  if (q === 1) return w
  return w > 30 ? w + Math.log(q + (1 - q) * Math.exp(-w)) : Math.log1p(q * Math.expm1(w))
}

/** Returns the w of a loss; -Infinity for losses at or below the smallest, ln(1 - q). */
export const inverseLoss = (q: number, loss: number): number => {
  if (q === 1) return loss
  if (loss > 30) return loss - Math.log(q) + Math.log1p(-(1 - q) * Math.exp(-loss))
  const ratio = Math.expm1(loss) / q
  return ratio <= -1 ? Number.NEGATIVE_INFINITY : Math.log1p(ratio)
}

/**
 * ln E[ratio^a] under N(0, s^2), for any real `a`; a = alpha gives ln A_alpha of Mironov, Talwar, Zhang (2019). Computed as
 * ln(1 + E[ratio^a - 1 - a (ratio - 1)]): the mean of the ratio is 1, so the last part adds nothing, and the remainder has one
 * sign everywhere. So even a moment that differs from 1 by 1e-20 keeps its precision.
 */
export const logMoment = (sigma: number, q: number, a: number): number => {
  if (a === 0 || a === 1) return 0
  if (q === 1) return (a * (a - 1)) / (2 * sigma * sigma)
  return a > 1 && Number.isInteger(a) ? binomialLogMoment(sigma, q, a) : integratedLogMoment(sigma, q, a)
}

/** For integers a >= 2: sum over k of C(a, k) (1-q)^(a-k) q^k (exp((k^2 - k) / 2 s^2) - 1), whose first two terms vanish. */
const binomialLogMoment = (sigma: number, q: number, a: number): number => {
  const terms = new Float64Array(a + 1)
  const logQ = Math.log(q)
  const logRest = Math.log1p(-q)
  const logFactorial = a < LOG_FACTORIALS.length ? (n: number) => LOG_FACTORIALS[n]! : (n: number) => logGamma(n + 1)
  const whole = logFactorial(a)
  let largest = Number.NEGATIVE_INFINITY
  for (let k = 2; k <= a; k++) {
    const exponent = (k * k - k) / (2 * sigma * sigma)
    const choose = whole - logFactorial(k) - logFactorial(a - k)
    const logExcess = exponent > 30 ? exponent : Math.log(Math.expm1(exponent))
    terms[k] = choose + (a - k) * logRest + k * logQ + logExcess
    largest = Math.max(largest, terms[k]!)
  }
  let sum = 0
  for (let k = 2; k <= a; k++) sum += Math.exp(terms[k]! - largest)
  return softplus(largest + Math.log(sum))
}

/** ln(1 + e^x) */
const softplus = (x: number): number => (x > 30 ? x + Math.exp(-x) : Math.log1p(Math.exp(x)))

/** By the trapezoidal rule, in the few regions where the integrand can have a peak. */
export const integratedLogMoment = (sigma: number, q: number, a: number): number => {
  const step = sigma * Math.min(STEP_OF_GAUSSIAN, STEP_OF_RATIO * sigma)
  const sign = a > 0 && a < 1 ? -1 : 1
  const crossover = sigma * sigma * (Math.log1p(-q) - Math.log(q)) + 0.5
  // The peaks of the noise, ratio - 1, its square and ratio^a, and the point where the ratio turns from flat to steep.
  const regions = merged([0, 1, 2, a, crossover].map((at) => [at - REACH * sigma, at + REACH * sigma] as const))
  const nearOne = 1e-2 / Math.max(1, Math.abs(a))
  // Terms that fit a double are added directly, the others relative to the largest.
  let plain = 0
  let largest = Number.NEGATIVE_INFINITY
  let sum = 0
  for (const [from, to] of regions) {
    const points = Math.min(MAX_POINTS, Math.ceil((to - from) / step))
    for (let point = 0; point <= points; point++) {
      const z = from + point * step
      const w = (2 * z - 1) / (2 * sigma * sigma)
      const decay = (z * z) / (2 * sigma * sigma)
      const excess = w > 30 ? Number.POSITIVE_INFINITY : q * Math.expm1(w)
      const loss = w > 30 ? lossOf(q, w) : Math.log1p(excess)
      if (decay < 300 && w <= 30 && a * loss < 300) {
        const isNear = Math.abs(loss) < nearOne
        plain += Math.exp(-decay) * Math.abs(isNear ? series(a, excess) : Math.expm1(a * loss) - a * excess)
        continue
      }
      const term = logExcess(a, loss) - decay
      if (term <= largest) sum += Math.exp(term - largest)
      else if (term > Number.NEGATIVE_INFINITY) {
        sum = sum * Math.exp(largest - term) + 1
        largest = term
      }
    }
  }
  const logPlain = Math.log(plain)
  const logRest = sum > 0 ? largest + Math.log(sum) : Number.NEGATIVE_INFINITY
  const top = Math.max(logPlain, logRest)
  const isNothing = top === Number.NEGATIVE_INFINITY
  const logAll = isNothing ? top : top + Math.log(Math.exp(logPlain - top) + Math.exp(logRest - top))
  const logSum = logAll + Math.log(step / (sigma * Math.sqrt(2 * Math.PI)))
  if (sign > 0) return softplus(logSum)
  return Math.log1p(-Math.min(Math.exp(logSum), 1))
}

/** ln |ratio^a - 1 - a (ratio - 1)| for ratio = e^loss. */
const logExcess = (a: number, loss: number): number => {
  if (Math.abs(loss) * Math.max(1, Math.abs(a)) < 1e-2) return Math.log(Math.abs(series(a, Math.expm1(loss))))
  const largest = Math.max(a * loss, loss, 0)
  if (largest < 300) return Math.log(Math.abs(Math.expm1(a * loss) - a * Math.expm1(loss)))
  const scaled = Math.exp(a * loss - largest) - a * Math.exp(loss - largest) + (a - 1) * Math.exp(-largest)
  return largest + Math.log(Math.abs(scaled))
}

/** ratio^a - 1 - a u near ratio 1, where the direct form cancels: the series in u = ratio - 1, from a (a - 1) u^2 / 2 on. */
const series = (a: number, u: number): number => {
  let term = (a * (a - 1) * u * u) / 2
  let sum = term
  for (let k = 3; k < 12; k++) {
    term *= ((a - k + 1) * u) / k
    sum += term
  }
  return sum
}

type Region = readonly [from: number, to: number]

const merged = (regions: readonly Region[]): Region[] => {
  const apart: Region[] = []
  for (const [from, to] of [...regions].sort((x, y) => x[0] - y[0])) {
    const before = apart.at(-1)
    if (before !== undefined && from <= before[1]) apart[apart.length - 1] = [before[0], Math.max(before[1], to)]
    else apart.push([from, to])
  }
  return apart
}
