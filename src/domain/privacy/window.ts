import { DIRECTIONS } from './loss-grid.ts'
import { type NoisySteps, stepsOf } from './mechanism.ts'
import type { Moments } from './moments.ts'
import { lossOf } from './sampled-gaussian.ts'

/** The part of the loss axis that a circular grid covers: `size` points, a power of two, up to `top`. */
export interface Window {
  readonly width: number
  readonly size: number
  readonly top: number
  /** The range of outputs considered, in standard deviations of the noise. */
  readonly reach: number
  /** Probabilities are weighted by e^(tilt * loss). */
  readonly tilt: number
  /** Whether the grid is as fine as the tolerance requires. */
  readonly isFine: boolean
}

interface Requested {
  readonly delta: number
  readonly tilt: number
  readonly tolerance: number
  /** The maximum size. */
  readonly points: number
}

const MIN_GRID = 2 ** 10
/** Each kind of step costs several transforms of the whole grid, so many kinds use a smaller grid. */
const KINDS_ON_LARGEST = 4
const MIN_OF_MANY = 2 ** 14
/** How many times the tolerance grid points may be apart: the loss of few steps is known only up to that distance. */
const WIDEST = 10
/** Lower tilts do not make a window smaller. */
const MIN_TILT = 1 / 4
/** With a lower tilt, the decisive part of delta varies faster than the tilt tells, so the grid must be finer. */
const FINER = 8
/** What may be cut off at the ends of a grid, as a share of delta. All of it is added back to delta. */
const CUT = 1e-9
/** Widths, tilts and reaches are rounded to steps, so that cached sums fit again when a round is added. */
const WIDTHS = 4
const TILTS = 2
const REACHES = 4

/** Multiples of the tilt at which E[e^(k loss)] may give the best bound on the loss above the window. */
export const TOPS = [1.15, 1.3, 1.6, 2, 3]
const FAR_TOPS = [0.25, 0.5, 1, 2, 4]

/**
 * Returns the window of the highest tilt, at most the requested one, whose grid is fine enough; if there is none, that of the
 * requested one. At low sampling rates, the order chosen by Rényi accounting may lie where moments explode, and its window
 * is far too large.
 */
export function planWindow(kinds: readonly NoisySteps[], requested: Requested, moments: Moments): Window {
  const first = windowAt(kinds, requested, moments)
  let window = first
  for (let tilt = requested.tilt / 2; !window.isFine && tilt >= MIN_TILT; tilt /= 2) {
    window = windowAt(kinds, { ...requested, tilt, tolerance: requested.tolerance / FINER }, moments)
  }
  return window.isFine ? window : first
}

/**
 * Returns a window that contains the tilted total loss except for `CUT` (Chernoff's bound), on a grid that adds about
 * `tolerance` to epsilon at the order `tilt` + 1.
 */
function windowAt(kinds: readonly NoisySteps[], requested: Requested, moments: Moments): Window {
  const { delta, tolerance } = requested
  const count = stepsOf(kinds)
  const tilt = 2 ** (Math.round(Math.log2(requested.tilt) * TILTS) / TILTS)
  const tops = TOPS.map((times) => tilt * times)
  const tiltedTops = [...FAR_TOPS, tilt / 2, tilt, 2 * tilt, 4 * tilt]
  const bottoms = [tilt / 4, tilt / 2, tilt, tilt + 0.5, tilt + 1, 2 * tilt + 1, 4 * tilt + 2]
  const orders = [tilt, ...tops, ...tiltedTops.map((k) => tilt + k), ...bottoms.map((k) => tilt - k)]
  let top = Number.NEGATIVE_INFINITY
  let bottom = Number.POSITIVE_INFINITY
  for (const direction of DIRECTIONS) {
    const sums = orders.map(() => 0)
    for (const kind of kinds) {
      for (const [at, k] of orders.entries()) {
        sums[at]! += kind.steps * moments.logMoment(kind, direction, k)
      }
    }
    const [tilted, ...others] = sums
    const ofTops = tops.map((order, at) => (others[at]! - Math.log(CUT * delta)) / order)
    // Weighted losses above the window wrap around to its lower end, where the weight that is divided out is smaller.
    const above = others.slice(tops.length)
    const ofTiltedTops = tiltedTops.map((k, at) => (above[at]! - tilted! - Math.log(CUT)) / k)
    const below = above.slice(tiltedTops.length)
    const ofBottoms = bottoms.map((k, at) => (Math.log(CUT) + tilted! - below[at]!) / k)
    top = Math.max(top, Math.min(...ofTops), Math.min(...ofTiltedTops))
    bottom = Math.min(bottom, Math.max(...ofBottoms))
  }
  // Splitting adds width^2 / 6 to the variance of each step's loss, and so the tolerance to ln E[e^(tilt loss)] / tilt.
  const finest = Math.min(WIDEST * tolerance, Math.sqrt((12 * tolerance) / (count * (requested.tilt + 1))))
  const reach = Math.ceil(Math.sqrt(2 * Math.log(count / (CUT * delta))) * REACHES) / REACHES
  const largest = largestGrid(kinds.length, requested.points)
  const widest = Math.max(...kinds.map((kind) => lossRange(kind, reach)))
  const fits = Math.max((top - bottom) / largest, widest / (largest / 2))
  const width = finest > fits ? onLadder(finest, Math.floor) : onLadder(fits, Math.ceil)
  let size = MIN_GRID
  while (size < largest && size * width < top - bottom) size *= 2
  return { width, size, top, reach, tilt, isFine: finest > fits }
}

const largestGrid = (kinds: number, points: number): number => {
  if (kinds <= KINDS_ON_LARGEST) return points
  return Math.min(points, Math.max(MIN_OF_MANY, 2 ** Math.floor(Math.log2((points * KINDS_ON_LARGEST) / kinds))))
}

/** Returns the range from the smallest to the largest loss of one step within reach. */
const lossRange = ({ noiseMultiplier: sigma, sampleRate: q }: NoisySteps, reach: number): number => {
  const lossAt = (z: number) => lossOf(q, (2 * z - 1) / (2 * sigma * sigma))
  return lossAt(1 + reach * sigma) - lossAt(-reach * sigma)
}

const onLadder = (width: number, round: (x: number) => number): number =>
  2 ** (round(Math.log2(width) * WIDTHS) / WIDTHS)
