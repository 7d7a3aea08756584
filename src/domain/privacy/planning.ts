import { privacyLoss } from './accountant.ts'
import type { NoisySteps } from './mechanism.ts'

/** Lets others run between two computations: a search makes a dozen of them. */
export type Pause = () => Promise<void>

const NO_PAUSE: Pause = async () => {}
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
export const noiseForEpsilon = async (
  wanted: {
    readonly epsilon: number
    readonly delta: number
    readonly sampleRate: number
    readonly steps: number
    readonly spent?: readonly NoisySteps[]
  },
  pause: Pause = NO_PAUSE,
): Promise<number | null> => {
  const { epsilon, delta, sampleRate, steps, spent = [] } = wanted
  const fits = async (noiseMultiplier: number): Promise<boolean> => {
    await pause()
    const rounds = [...spent, { noiseMultiplier, sampleRate, steps }]
    return privacyLoss(rounds, delta, { enough: epsilon, tolerance: TOLERANCE }).epsilon <= epsilon
  }
  let enough = 1
  while (!(await fits(enough))) {
    enough *= 2
    if (enough > MOST_NOISE) return null
  }
  let tooLittle = enough / 2
  while (tooLittle > 1 / 64 && (await fits(tooLittle))) {
    enough = tooLittle
    tooLittle /= 2
  }
  while (enough - tooLittle > enough * NOISE_PRECISION) {
    const middle = (enough + tooLittle) / 2
    if (await fits(middle)) enough = middle
    else tooLittle = middle
  }
  return enough
}

/**
 * How many more such rounds fit an epsilon on top of what was spent; `MOST_ROUNDS` at most. Never too many, and from a
 * thousand on up to a thousandth too few.
 */
export const roundsLeft = async (
  wanted: {
    readonly epsilon: number
    readonly delta: number
    readonly round: NoisySteps
    readonly spent?: readonly NoisySteps[]
  },
  pause: Pause = NO_PAUSE,
): Promise<number> => {
  const { epsilon, delta, round, spent = [] } = wanted
  const allows = async (count: number): Promise<boolean> => {
    await pause()
    const rounds = [...spent, { ...round, steps: round.steps * count }]
    return privacyLoss(rounds, delta, { enough: epsilon }).epsilon <= epsilon
  }
  if (!(await allows(1))) return 0
  let low = 1
  let high = 2
  while (high <= MOST_ROUNDS && (await allows(high))) {
    low = high
    high *= 2
  }
  high = Math.min(high, MOST_ROUNDS + 1)
  while (high - low > Math.max(1, low * ROUNDS_PRECISION)) {
    const middle = Math.floor((low + high) / 2)
    if (await allows(middle)) low = middle
    else high = middle
  }
  return low
}
