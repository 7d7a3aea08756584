import type { Compose } from './composition.ts'
import { gaussianEpsilon } from './gaussian.ts'
import { grouped, type NoisySteps, stepsOf } from './mechanism.ts'
import type { Moments } from './moments.ts'
import { planWindow } from './window.ts'

/** Room for rounding in 64-bit arithmetic, as a part of delta. */
const ROUNDING = 1e-6
/** Where rounding in the transform takes more of delta than this, weighing losses less may give a better bound. */
const NOISE = 1e-4
/** Smaller deltas leave the range of a double on the way. */
const MIN_DELTA = 1e-100
/** Losses under less noise are spread over millions, and protect nobody. */
const MIN_SIGMA = 0.01
/** Raised to higher powers, what is rounded in a transform grows to more than `ROUNDING`. */
const MAX_STEPS = 1e9
const MAX_POINTS = 2 ** 20

export interface PldOptions {
  /** The order that Renyi accounting chose, minus 1. */
  readonly tilt: number
  readonly tolerance?: number
  /** The most points that a grid may have: fewer take less time. */
  readonly points?: number
}

export interface Steps {
  /** What is there already, and is asked for again with other steps on top. */
  readonly spent: readonly NoisySteps[]
  readonly more: readonly NoisySteps[]
}

/**
 * An upper bound of epsilon by numerical composition of privacy losses (Koskela, Jaelkoe, Honkela 2020), in both
 * directions. Losses are put on a grid from above, weighed by e^(tilt * loss) so that the part that decides has the most
 * digits, and convolved by FFT. `tolerance` is what the grid may add to epsilon; a grid that would be too large for it is
 * coarser instead, which still errs upwards only.
 * @returns null for deltas below 1e-100, noise below 0.01, over 1e9 steps, and losses so large that no grid shows them
 */
export function epsilonOfPld(
  steps: Steps,
  delta: number,
  { tilt, tolerance = 1e-4, points = MAX_POINTS }: PldOptions,
  { moments, compose }: { readonly moments: Moments; readonly compose: Compose },
): number | null {
  const { spent, more } = withOneGaussian(steps)
  const kinds = grouped([...spent, ...more])
  // Whoever never took part has lost nothing, and all others together count as delta.
  if (kinds.reduce((sum, { sampleRate, steps }) => sum + sampleRate * steps, 0) <= delta) return 0
  if (delta < MIN_DELTA) return null
  if (kinds.length === 1 && kinds[0]!.sampleRate === 1) {
    const { noiseMultiplier, steps } = kinds[0]!
    return gaussianEpsilon(noiseMultiplier / Math.sqrt(steps), delta)
  }
  if (stepsOf(kinds) > MAX_STEPS || kinds.some(({ noiseMultiplier }) => noiseMultiplier < MIN_SIGMA)) return null
  let best = Number.POSITIVE_INFINITY
  for (const less of [1, 2, 4]) {
    const window = planWindow(kinds, { delta, tilt: tilt / less, tolerance, points }, moments)
    const totals = compose(spent, more, window)
    const bounds = totals.map((total) => total.epsilonAt(delta * (1 - ROUNDING)))
    if (!bounds.every(({ epsilon }) => Number.isFinite(epsilon))) break
    const worse = bounds.reduce((one, other) => (other.epsilon > one.epsilon ? other : one))
    best = Math.min(best, worse.epsilon)
    if (worse.noise < NOISE) break
  }
  return Number.isFinite(best) ? best : null
}

/** Steps that everybody takes part in are one Gaussian mechanism: their losses are Gaussian, whose variances add up. */
const withOneGaussian = ({ spent, more }: Steps): Steps => {
  const gaussians = grouped([...spent, ...more]).filter(({ sampleRate }) => sampleRate === 1)
  const sampled = (kinds: readonly NoisySteps[]) => grouped(kinds.filter(({ sampleRate }) => sampleRate < 1))
  if (gaussians.length === 0) return { spent: sampled(spent), more: sampled(more) }
  const precision = gaussians.reduce((sum, { noiseMultiplier, steps }) => sum + steps / noiseMultiplier ** 2, 0)
  const one = { noiseMultiplier: 1 / Math.sqrt(precision), sampleRate: 1, steps: 1 }
  return { spent: sampled(spent), more: [...sampled(more), one] }
}
