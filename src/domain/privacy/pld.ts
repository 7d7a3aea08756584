import type { Compose } from './composition.ts'
import { gaussianEpsilon } from './gaussian.ts'
import { grouped, type NoisySteps, stepsOf } from './mechanism.ts'
import type { Moments } from './moments.ts'
import { planWindow } from './window.ts'

/** The share of delta reserved for rounding in 64-bit arithmetic. */
const ROUNDING = 1e-6
/** If rounding in the transform takes a larger share of delta, a smaller tilt may give a better bound. */
const NOISE = 1e-4
/** Smaller deltas underflow a double in intermediate results. */
const MIN_DELTA = 1e-100
/** With less noise, losses spread over millions, and there is no protection. */
const MIN_SIGMA = 0.01
/** With higher powers, a transform's rounding errors exceed `ROUNDING`. */
const MAX_STEPS = 1e9
const MAX_POINTS = 2 ** 20

export interface PldOptions {
  /** The order chosen by Rényi accounting, minus 1. */
  readonly tilt: number
  readonly tolerance?: number
  /** The maximum number of grid points: fewer are faster. */
  readonly points?: number
}

export interface Steps {
  /** Earlier steps, which will be requested again with further steps. */
  readonly spent: readonly NoisySteps[]
  readonly more: readonly NoisySteps[]
}

/**
 * Returns an upper bound of epsilon by numerical composition of privacy losses (Koskela, Jaelkoe, Honkela 2020), in both
 * directions. Losses are rounded up to a grid, weighted by e^(tilt * loss) so that the decisive part has the most precision,
 * and convolved by FFT. `tolerance` is what the grid may add to epsilon. If that grid would be too large, a coarser one is
 * used, which only increases the bound.
 * @returns null for deltas below 1e-100, noise below 0.01, over 1e9 steps, and losses too large for any grid
 */
export function epsilonOfPld(
  steps: Steps,
  delta: number,
  { tilt, tolerance = 1e-4, points = MAX_POINTS }: PldOptions,
  { moments, compose }: { readonly moments: Moments; readonly compose: Compose },
): number | null {
  const { spent, more } = withOneGaussian(steps)
  const kinds = grouped([...spent, ...more])
  // A participant that never took part has lost nothing; the probability of taking part is covered by delta.
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
    // A bound without any rounding error is the window's lower end: the tilt is so high that smaller losses vanish.
    const isBelow = worse.noise === 0 && worse.epsilon > 0
    if (worse.noise < NOISE && !isBelow) break
  }
  return Number.isFinite(best) ? best : null
}

/** Steps with all participants form one Gaussian mechanism: their losses are Gaussian, and the variances add up. */
const withOneGaussian = ({ spent, more }: Steps): Steps => {
  const gaussians = grouped([...spent, ...more]).filter(({ sampleRate }) => sampleRate === 1)
  const sampled = (kinds: readonly NoisySteps[]) => grouped(kinds.filter(({ sampleRate }) => sampleRate < 1))
  if (gaussians.length === 0) return { spent: sampled(spent), more: sampled(more) }
  const precision = gaussians.reduce((sum, { noiseMultiplier, steps }) => sum + steps / noiseMultiplier ** 2, 0)
  const one = { noiseMultiplier: 1 / Math.sqrt(precision), sampleRate: 1, steps: 1 }
  return { spent: sampled(spent), more: [...sampled(more), one] }
}
