import { composeLosses, type Window } from './composition.ts'
import { gaussianEpsilon } from './gaussian.ts'
import { DIRECTIONS, type Direction } from './loss-grid.ts'
import { grouped, type NoisySteps } from './mechanism.ts'
import { logMoment } from './sampled-gaussian.ts'

const SMALLEST_GRID = 2 ** 13
const LARGEST_GRID = 2 ** 20
/** What may be cut off at the ends of a grid, as a part of delta; all of it is added to delta again. */
const CUT = 1e-9
/** Room for rounding in 64-bit arithmetic, as a part of delta. */
const ROUNDING = 1e-6
/** Where rounding in the transform takes more of delta than this, weighing losses less may give a better bound. */
const NOISE = 1e-4
/** Smaller deltas leave the range of a double on the way. */
const SMALLEST_DELTA = 1e-100
/** Losses under less noise are spread over millions, and protect nobody. */
const SMALLEST_SIGMA = 0.01

/**
 * An upper bound of epsilon by numerical composition of privacy losses (Koskela, Jaelkoe, Honkela 2020), in both
 * directions. Losses are put on a grid from above, weighed by e^(tilt * loss) so that the part that decides has the most
 * digits, and convolved by FFT. `tolerance` is what the grid may add to epsilon; a grid that would be too large for it is
 * coarser instead, which still errs upwards only.
 * @param tilt the order that Renyi accounting chose, minus 1
 * @returns null for deltas below 1e-100, noise below 0.01, and losses so large that no grid shows them
 */
export const epsilonOfPld = (
  rounds: readonly NoisySteps[],
  delta: number,
  { tilt, tolerance = 1e-4 }: { readonly tilt: number; readonly tolerance?: number },
): number | null => {
  const kinds = withOneGaussian(grouped(rounds))
  if (kinds.length === 0) return 0
  if (kinds.length === 1 && kinds[0]!.sampleRate === 1) {
    const { noiseMultiplier, steps } = kinds[0]!
    return gaussianEpsilon(noiseMultiplier / Math.sqrt(steps), delta)
  }
  if (delta < SMALLEST_DELTA || kinds.some(({ noiseMultiplier }) => noiseMultiplier < SMALLEST_SIGMA)) return null
  const reach = Math.sqrt(2 * Math.log(stepsOf(kinds) / (CUT * delta)))
  let best = Number.POSITIVE_INFINITY
  for (const less of [1, 2, 4]) {
    const settings = { reach, tilt: tilt / less }
    const totals = composeLosses(kinds, planWindow(kinds, delta, settings.tilt, tolerance), settings)
    const bounds = totals.map((total) => total.epsilonAt(delta * (1 - ROUNDING)))
    if (!bounds.every(({ epsilon }) => Number.isFinite(epsilon))) break
    const worse = bounds.reduce((one, other) => (other.epsilon > one.epsilon ? other : one))
    best = Math.min(best, worse.epsilon)
    if (worse.noise < NOISE) break
  }
  return Number.isFinite(best) ? best : null
}

const stepsOf = (kinds: readonly NoisySteps[]): number => kinds.reduce((sum, { steps }) => sum + steps, 0)

/** Steps that everybody takes part in are one Gaussian mechanism: their losses are Gaussian, whose variances add up. */
const withOneGaussian = (kinds: readonly NoisySteps[]): NoisySteps[] => {
  const gaussians = kinds.filter(({ sampleRate }) => sampleRate === 1)
  if (gaussians.length === 0) return [...kinds]
  const precision = gaussians.reduce((sum, { noiseMultiplier, steps }) => sum + steps / noiseMultiplier ** 2, 0)
  const others = kinds.filter(({ sampleRate }) => sampleRate < 1)
  return [...others, { noiseMultiplier: 1 / Math.sqrt(precision), sampleRate: 1, steps: 1 }]
}

/** ln E[e^(k loss)] of everything together, exactly. */
const logMomentOf = (kinds: readonly NoisySteps[], direction: Direction, k: number): number =>
  kinds.reduce(
    (sum, { noiseMultiplier, sampleRate, steps }) =>
      sum + steps * logMoment(noiseMultiplier, sampleRate, direction === 'remove' ? k + 1 : -k),
    0,
  )

/** A window that holds the tilted total loss but for `CUT` (Chernoff's bound), and how fine its grid has to be. */
const planWindow = (kinds: readonly NoisySteps[], delta: number, tilt: number, tolerance: number): Window => {
  let top = Number.NEGATIVE_INFINITY
  let bottom = Number.POSITIVE_INFINITY
  const orders: number[] = []
  for (const direction of DIRECTIONS) {
    const moment = (k: number): number => logMomentOf(kinds, direction, k)
    const tops = [1.15, 1.3, 1.6, 2, 3].map((times) => {
      const order = tilt * times
      return { order, at: (moment(order) - Math.log(CUT * delta)) / order }
    })
    const lowest = tops.reduce((best, next) => (next.at < best.at ? next : best))
    const tilted = moment(tilt)
    // Weighed losses above the window come back at its lower end, where less weight is taken off them again.
    const tiltedTops = [0.25, 0.5, 1, 2, 4, tilt / 2, tilt, 2 * tilt, 4 * tilt].map(
      (k) => (moment(tilt + k) - tilted - Math.log(CUT)) / k,
    )
    const bottoms = [tilt / 4, tilt / 2, tilt, tilt + 0.5, tilt + 1, 2 * tilt + 1, 4 * tilt + 2].map(
      (k) => (Math.log(CUT) + tilted - moment(tilt - k)) / k,
    )
    top = Math.max(top, lowest.at, Math.min(...tiltedTops))
    orders.push(lowest.order)
    bottom = Math.min(bottom, Math.max(...bottoms))
  }
  // Splitting adds width^2 / 6 to the variance of each step's loss, thus so much to ln E[e^(tilt loss)] / tilt.
  const wanted = Math.sqrt((12 * tolerance) / (stepsOf(kinds) * (tilt + 1)))
  let size = SMALLEST_GRID
  while (size < LARGEST_GRID && size * wanted < top - bottom) size *= 2
  return { width: (top - bottom) / size, size, top, orders }
}
