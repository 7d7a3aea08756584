import { type Accounting, createAccounting } from './accountant.ts'
import type { NoisySteps } from './mechanism.ts'
import type { Work } from './work.ts'

/** The largest noise worth asking for. */
const MOST_NOISE = 1e6
/** How close, relative to itself, the noise comes to the least that does. */
const NOISE_PRECISION = 1e-4
const TOLERANCE = 5e-4
const ROUNDS_PRECISION = 1e-3
export const MOST_ROUNDS = 10_000_000

/**
 * The least noise multiplier with which `planned` steps, on top of what was spent, stay within an epsilon; null when no
 * noise does. Never too little: the answer itself has been checked.
 */
export function* noiseForEpsilon(
  wanted: {
    readonly epsilon: number
    readonly delta: number
    readonly sampleRate: number
    readonly steps: number
    readonly spent?: readonly NoisySteps[]
  },
  accounting: Accounting = createAccounting(),
): Work<number | null> {
  const { epsilon, delta, sampleRate, steps, spent = [] } = wanted
  function* fits(noiseMultiplier: number): Work<boolean> {
    const options = { spent, enough: epsilon, tolerance: TOLERANCE }
    return (yield* accounting.loss([{ noiseMultiplier, sampleRate, steps }], delta, options)).epsilon <= epsilon
  }
  let enough = 1
  while (!(yield* fits(enough))) {
    enough *= 2
    if (enough > MOST_NOISE) return null
  }
  let tooLittle = enough / 2
  while (tooLittle > 1 / 64 && (yield* fits(tooLittle))) {
    enough = tooLittle
    tooLittle /= 2
  }
  while (enough - tooLittle > enough * NOISE_PRECISION) {
    const middle = (enough + tooLittle) / 2
    if (yield* fits(middle)) enough = middle
    else tooLittle = middle
  }
  return enough
}

/**
 * How many more such rounds fit an epsilon on top of what was spent; `MOST_ROUNDS` at most. Never too many, and from a
 * thousand on up to a thousandth too few.
 */
export function* roundsLeft(
  wanted: {
    readonly epsilon: number
    readonly delta: number
    readonly round: NoisySteps
    readonly spent?: readonly NoisySteps[]
  },
  accounting: Accounting = createAccounting(),
): Work<number> {
  const { epsilon, delta, round, spent = [] } = wanted
  function* allows(count: number): Work<boolean> {
    const rounds = [{ ...round, steps: round.steps * count }]
    return (yield* accounting.loss(rounds, delta, { spent, enough: epsilon })).epsilon <= epsilon
  }
  if (!(yield* allows(1))) return 0
  let low = 1
  let high = 2
  while (high <= MOST_ROUNDS && (yield* allows(high))) {
    low = high
    high *= 2
  }
  high = Math.min(high, MOST_ROUNDS + 1)
  while (high - low > Math.max(1, low * ROUNDS_PRECISION)) {
    const middle = Math.floor((low + high) / 2)
    if (yield* allows(middle)) low = middle
    else high = middle
  }
  return low
}
