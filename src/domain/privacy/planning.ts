import { type Accounting, createAccounting } from './accountant.ts'
import { MAX_NOISE, type NoisySteps } from './mechanism.ts'

/** Less noise is never recommended, however large the budget. */
const MIN_PLANNED_NOISE = 1 / 64
/** The relative precision of the lowest sufficient noise. */
const NOISE_PRECISION = 2e-4
const ROUNDS_PRECISION = 1e-3
export const MAX_ROUNDS = 10_000_000
/** The grid for searches: precise enough, and a search takes less than a second. */
const SEARCH = { tolerance: 5e-4, points: 2 ** 18 }
/** How often a search computes the expensive bound. */
const MAX_EVALUATIONS = 16

/**
 * Returns the lowest noise multiplier with which `planned` steps, in addition to those spent, stay within an epsilon; null if
 * no noise suffices. Never too low: the returned value was checked. Above a million steps it may be a tenth too high.
 */
export function noiseForEpsilon(
  requested: {
    readonly epsilon: number
    readonly delta: number
    readonly sampleRate: number
    readonly steps: number
    readonly spent?: readonly NoisySteps[]
  },
  accounting: Accounting = createAccounting(),
): number | null {
  const { epsilon, delta, sampleRate, steps, spent = [] } = requested
  const planned = (strength: number): NoisySteps[] => [{ noiseMultiplier: MAX_NOISE / strength, sampleRate, steps }]
  const strength = largestWithin({
    limit: epsilon,
    max: MAX_NOISE / MIN_PLANNED_NOISE,
    precision: NOISE_PRECISION,
    isWhole: false,
    cheap: (x) => accounting.rdp([...spent, ...planned(x)], delta),
    exact: (x) => accounting.loss(planned(x), delta, { ...SEARCH, spent }).epsilon,
  })
  return strength === null ? null : MAX_NOISE / strength
}

/**
 * Returns how many more such rounds fit within an epsilon in addition to those spent; `MAX_ROUNDS` at most. Never too many.
 * From a thousand on it may be a thousandth too low; more if the rounds have over a million steps.
 */
export function roundsLeft(
  requested: {
    readonly epsilon: number
    readonly delta: number
    readonly round: NoisySteps
    readonly spent?: readonly NoisySteps[]
  },
  accounting: Accounting = createAccounting(),
): number {
  const { epsilon, delta, round, spent = [] } = requested
  const rounds = (count: number): NoisySteps[] => [{ ...round, steps: round.steps * count }]
  const count = largestWithin({
    limit: epsilon,
    max: MAX_ROUNDS,
    precision: ROUNDS_PRECISION,
    isWhole: true,
    cheap: (x) => accounting.rdp([...spent, ...rounds(x)], delta),
    exact: (x) => accounting.loss(rounds(x), delta, { points: SEARCH.points, spent }).epsilon,
  })
  return count ?? 0
}

interface Search {
  readonly limit: number
  readonly max: number
  readonly precision: number
  /** Search only whole numbers. */
  readonly isWhole: boolean
  /** Two upper bounds of a cost that grows with x; `exact` never exceeds `cheap`. */
  readonly cheap: (x: number) => number
  readonly exact: (x: number) => number
}

interface Point {
  readonly x: number
  readonly cost: number
}

/** Returns the largest x from 1 to `max` whose cost is within the limit, up to the precision; null if even 1 is not. */
const largestWithin = (search: Search): number | null => {
  const { limit, max, precision, isWhole, exact } = search
  const start = cheapestBound(search)
  if (start === max) return max
  let before: Point | null = null
  let latest: Point = { x: start, cost: exact(start) }
  if (latest.cost > limit) return null
  let low = start
  let high = max * (1 + precision) + (isWhole ? 1 : 0)
  for (let n = 1; n < MAX_EVALUATIONS; n++) {
    if (low >= max || high - low <= Math.max(low * precision, isWhole ? 1 : 0)) break
    // Halves the interval every fourth time, or if the guess is unusable, so that the search ends however the cost behaves.
    const guess = n % 4 === 0 ? Number.NaN : guessed(limit, latest, before)
    const target = guess > low && guess < high ? guess : Math.sqrt(low * high)
    const inside = Math.min(high / (1 + 0.9 * precision), max, Math.max(low * (1 + 0.9 * precision), target))
    const x = isWhole ? Math.min(Math.ceil(high) - 1, Math.max(low + 1, Math.floor(inside))) : inside
    before = latest
    latest = { x, cost: exact(x) }
    if (latest.cost <= limit) low = x
    else high = x
  }
  return low
}

/** Returns an x that is within the limit by the cheap bound, and so by the exact one; or 1. */
const cheapestBound = ({ limit, max, isWhole, cheap }: Search): number => {
  if (cheap(max) <= limit) return max
  let low = 1
  let high = max
  while (high > low * 1.02 && high - low > 1e-9) {
    const middle = Math.sqrt(low * high)
    const x = isWhole ? Math.floor(middle) : middle
    if (isWhole && x <= low) break
    if (cheap(x) <= limit) low = x
    else high = middle
  }
  return low
}

/** Returns where a line through two points in log space meets the limit; for one point, assumes a slope of 0.75. */
const guessed = (limit: number, latest: Point, before: Point | null): number => {
  const rise = before === null ? 0.75 : Math.log(before.cost / latest.cost) / Math.log(before.x / latest.x)
  return latest.x * (limit / latest.cost) ** (1 / rise)
}
