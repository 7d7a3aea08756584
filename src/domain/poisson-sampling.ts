import { badRequest } from './errors.ts'
import { incompleteBeta } from './statistics/special-functions.ts'

/**
 * Poisson sampling: each of N eligible devices is drawn independently with probability q. The number drawn is random:
 * Binomial(N, q). The accountant's analysis of subsampling assumes this (Abadi et al. 2016, "Deep Learning with Differential
 * Privacy", section 3; Zhu and Wang 2019).
 */
export interface PoissonSampling {
  /** N, the number of eligible devices before the draw. */
  readonly population: number
  /** q = target / N, at most 1. */
  readonly sampleRate: number
}

/** A start is refused if its draw would fall below min_devices more often than this. */
export const MAX_MISSED_DRAWS = 0.01

/** Returns q and N for a round that should draw `target` devices on average. */
export const samplingOf = (target: number, population: number): PoissonSampling => ({
  population,
  sampleRate: Math.min(1, target / population),
})

const COIN_BITS = 64n

/**
 * Returns the limit below which a coin, a uniform 64-bit number, draws its device, as 16 hex digits; null if q is 1 and all are
 * drawn. Rounded down, so that no device is drawn more often than the accountant assumes.
 */
export const coinBound = (sampleRate: number): string | null => {
  if (sampleRate >= 1) return null
  const bound = BigInt(Math.floor(sampleRate * 2 ** 53)) << (COIN_BITS - 53n)
  return bound.toString(16).padStart(Number(COIN_BITS) / 4, '0')
}

/** P(Binomial(N, q) < fewest), as a regularized incomplete beta function: precise for tiny tails and large N. */
export const chanceOfFewer = (fewest: number, { population, sampleRate }: PoissonSampling): number => {
  if (fewest <= 0) return 0
  if (fewest > population) return 1
  if (sampleRate >= 1) return 0
  return incompleteBeta(population - fewest + 1, fewest, 1 - sampleRate, sampleRate)
}

/** Returns the lowest target whose draws rarely fall below `fewest`; null if the population is smaller than that. */
export const leastTarget = (fewest: number, population: number): number | null => {
  if (population < fewest) return null
  let [low, high] = [fewest, population]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (chanceOfFewer(fewest, samplingOf(middle, population)) <= MAX_MISSED_DRAWS) high = middle
    else low = middle + 1
  }
  return low
}

/** Throws bad_request if the draw would fall below min_devices in more than 1% of rounds, suggesting a target that works. */
export const requireLikelyDraw = (
  { minDevices, targetDevices }: { readonly minDevices: number; readonly targetDevices: number },
  population: number,
): void => {
  const missed = chanceOfFewer(minDevices, samplingOf(targetDevices, population))
  if (missed <= MAX_MISSED_DRAWS) return
  const devices = population === 1 ? '1 device is' : `${population} devices are`
  const least = leastTarget(minDevices, population)
  if (least === null) {
    throw badRequest(
      `min_devices: only ${devices} eligible, so a private round that needs ${minDevices} cannot start with any ` +
        'target_devices. Lower min_devices, or wait until more devices are active.',
    )
  }
  throw badRequest(
    `target_devices: a private round draws each device independently at random. ${devices} eligible, and with a target of ` +
      `${targetDevices} the draw would be smaller than min_devices (${minDevices}) in ${percent(missed)} of rounds; ` +
      `at most 1% is allowed. Set target_devices to at least ${least}, or lower min_devices.`,
  )
}

const percent = (chance: number): string => `${Number((100 * chance).toPrecision(2))}%`
