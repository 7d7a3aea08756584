import { badRequest } from './errors.ts'
import { incompleteBeta } from './statistics/special-functions.ts'

/**
 * Poisson sampling: every one of N eligible devices is drawn by a coin of its own that shows heads with chance q, whatever
 * becomes of the others. The number drawn is random: Binomial(N, q). It is what the accountant's analysis of subsampling
 * presumes (Abadi et al. 2016, "Deep Learning with Differential Privacy", section 3; Zhu and Wang 2019).
 */
export interface PoissonSampling {
  /** N, the eligible devices; counted before the draw. */
  readonly population: number
  /** q = target / N, at most 1. */
  readonly sampleRate: number
}

/** A start is refused where its draw would miss min_devices more often than this. */
export const MAX_MISSED_DRAWS = 0.01

/** q and N of a round that is to draw `target` devices on average. */
export const samplingOf = (target: number, population: number): PoissonSampling => ({
  population,
  sampleRate: Math.min(1, target / population),
})

const COIN_BITS = 64n

/**
 * What a coin, a uniform number of 64 bits, must be below to draw its device; in 16 hex digits, or null where q is 1 and every
 * coin is. Rounded down, so that no device is drawn more often than the accountant reckons with.
 */
export const coinBound = (sampleRate: number): string | null => {
  if (sampleRate >= 1) return null
  const bound = BigInt(Math.floor(sampleRate * 2 ** 53)) << (COIN_BITS - 53n)
  return bound.toString(16).padStart(Number(COIN_BITS) / 4, '0')
}

/** P(Binomial(N, q) < fewest), as a regularized incomplete beta function: tiny tails and large N keep their digits. */
export const chanceOfFewer = (fewest: number, { population, sampleRate }: PoissonSampling): number => {
  if (fewest <= 0) return 0
  if (fewest > population) return 1
  if (sampleRate >= 1) return 0
  return incompleteBeta(population - fewest + 1, fewest, 1 - sampleRate, sampleRate)
}

/** The least target whose draws seldom miss `fewest` among so many devices; null where there are fewer than that. */
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

/** Throws bad_request where the draw would miss min_devices in more than one of a hundred rounds, naming what would do. */
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
