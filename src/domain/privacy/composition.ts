import { type Fourier, fourierOf } from './fft.ts'
import { DIRECTIONS, type LossGrid, lossGrid } from './loss-grid.ts'
import type { NoisySteps } from './mechanism.ts'
import { type TotalLoss, totalLossOn } from './total-loss.ts'

/** The part of the axis of losses that a circular grid covers: `size` points, a power of two, up to `top`. */
export interface Window {
  readonly width: number
  readonly size: number
  readonly top: number
  /** For each direction the k at which E[e^(k loss)] shows best how little lies above `top`. */
  readonly orders: readonly number[]
}

interface Settings {
  /** How many standard deviations of the noise the steps' outputs are followed. */
  readonly reach: number
  readonly tilt: number
}

interface Spectrum {
  readonly re: Float64Array
  readonly im: Float64Array
}

/** One direction's steps, as they are put together. */
interface Sum {
  readonly spectrum: Spectrum
  readonly grids: { readonly grid: LossGrid; readonly steps: number }[]
  /** ln of what the tilted probabilities were divided by. */
  logScale: number
  /** The probability of an infinite loss. */
  infinite: number
}

/**
 * The total privacy loss of all steps, in both directions. Both are real sequences: one goes through the transform as the
 * real part, the other as the imaginary one.
 */
export const composeLosses = (
  kinds: readonly NoisySteps[],
  window: Window,
  { reach, tilt }: Settings,
): readonly TotalLoss[] => {
  const { size, width, top, orders } = window
  const fourier = fourierOf(size)
  const sums = DIRECTIONS.map((): Sum => ({ spectrum: ones(size / 2 + 1), grids: [], logScale: 0, infinite: 0 }))
  const parts = [new Float64Array(size), new Float64Array(size)] as const
  for (const { noiseMultiplier, sampleRate, steps } of kinds) {
    for (const [at, direction] of DIRECTIONS.entries()) {
      const grid = lossGrid(noiseMultiplier, sampleRate, direction, width, reach)
      const sum = sums[at]!
      sum.grids.push({ grid, steps })
      sum.infinite += steps * grid.infinite
      sum.logScale += steps * placeTilted(grid, tilt, parts[at]!)
    }
    fourier.forward(...parts)
    multiplyPowers(sums[0]!.spectrum, sums[1]!.spectrum, parts, steps)
  }
  transformBack(fourier, sums[0]!.spectrum, sums[1]!.spectrum, parts)
  return sums.map(({ grids, logScale, infinite }, at) => {
    // Losses beyond the window were wrapped around to its other end; Chernoff's bound says how many at most.
    const k = orders[at]!
    const cut = grids.reduce((sum, { grid, steps }) => sum + steps * logMomentOn(grid, k), 0) - k * top
    return totalLossOn(window, parts[at]!, { tilt, logScale, beyond: infinite + Math.exp(cut) })
  })
}

const ones = (length: number): Spectrum => ({ re: new Float64Array(length).fill(1), im: new Float64Array(length) })

/** Puts e^(tilt loss) P(loss), divided so that it sums to 1, on a circular grid; returns the logarithm of the divisor. */
const placeTilted = (grid: LossGrid, tilt: number, into: Float64Array): number => {
  const { width, first, masses } = grid
  const logScale = logMomentOn(grid, tilt)
  const mask = into.length - 1
  into.fill(0)
  for (let bin = 0; bin < masses.length; bin++) {
    const at = (first + bin) & mask
    into[at] = into[at]! + masses[bin]! * Math.exp(tilt * width * (first + bin) - logScale)
  }
  return logScale
}

/** ln E[e^(k loss)] of one step on its grid, without overflow. */
const logMomentOn = ({ width, first, masses }: LossGrid, k: number): number => {
  let largest = Number.NEGATIVE_INFINITY
  for (let bin = 0; bin < masses.length; bin++) {
    if (masses[bin]! > 0) largest = Math.max(largest, Math.log(masses[bin]!) + k * width * (first + bin))
  }
  let sum = 0
  for (let bin = 0; bin < masses.length; bin++) sum += masses[bin]! * Math.exp(k * width * (first + bin) - largest)
  return largest + Math.log(sum)
}

/** Takes the transform of two real sequences apart, raises both to a power and multiplies them into their spectra. */
const multiplyPowers = (
  a: Spectrum,
  b: Spectrum,
  [re, im]: readonly [Float64Array, Float64Array],
  power: number,
): void => {
  const size = re.length
  for (let k = 0; k <= size / 2; k++) {
    const other = (size - k) % size
    multiplyByPower(a, k, (re[k]! + re[other]!) / 2, (im[k]! - im[other]!) / 2, power)
    multiplyByPower(b, k, (im[k]! + im[other]!) / 2, (re[other]! - re[k]!) / 2, power)
  }
}

const multiplyByPower = (into: Spectrum, k: number, re: number, im: number, power: number): void => {
  let [x, y] = [into.re[k]!, into.im[k]!]
  for (let left = power; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) {
      const product = x * re - y * im
      y = x * im + y * re
      x = product
    }
    const square = re * re - im * im
    im = 2 * re * im
    re = square
  }
  into.re[k] = x
  into.im[k] = y
}

const transformBack = (
  fourier: Fourier,
  a: Spectrum,
  b: Spectrum,
  [re, im]: readonly [Float64Array, Float64Array],
): void => {
  const { size } = fourier
  for (let k = 0; k <= size / 2; k++) {
    const other = (size - k) % size
    re[k] = a.re[k]! - b.im[k]!
    im[k] = a.im[k]! + b.re[k]!
    re[other] = a.re[k]! + b.im[k]!
    im[other] = b.re[k]! - a.im[k]!
  }
  // At the two frequencies that are their own mirror images both spectra are real.
  for (const k of [0, size / 2]) {
    re[k] = a.re[k]!
    im[k] = b.re[k]!
  }
  fourier.inverse(re, im)
}
