import { type Fourier, fourierOf } from './fft.ts'
import { gaussianEpsilon } from './gaussian.ts'
import { type Direction, type LossGrid, lossGrid } from './loss-grid.ts'
import { grouped, type NoisySteps } from './mechanism.ts'
import { logMoment } from './sampled-gaussian.ts'

const DIRECTIONS = ['remove', 'add'] as const
const SMALLEST_GRID = 2 ** 13
const LARGEST_GRID = 2 ** 20
/** What may be cut off at the ends of a grid, as a part of delta; all of it is added to delta again. */
const CUT = 1e-9
/** Room for rounding in 64-bit arithmetic, as a part of delta. */
const ROUNDING = 1e-6
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
 * @returns null for deltas below 1e-100 and noise below 0.01
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
  const plan = planGrid(kinds, delta, tilt, tolerance)
  const reach = Math.sqrt(2 * Math.log(plan.steps / (CUT * delta)))
  const composed = compose(kinds, plan, reach, tilt)
  return Math.max(...composed.map((one) => one.epsilonAt(delta * (1 - ROUNDING))))
}

/** Steps that everybody takes part in are one Gaussian mechanism: their losses are Gaussian, whose variances add up. */
const withOneGaussian = (kinds: readonly NoisySteps[]): NoisySteps[] => {
  const gaussians = kinds.filter(({ sampleRate }) => sampleRate === 1)
  if (gaussians.length === 0) return [...kinds]
  const precision = gaussians.reduce((sum, { noiseMultiplier, steps }) => sum + steps / noiseMultiplier ** 2, 0)
  const others = kinds.filter(({ sampleRate }) => sampleRate < 1)
  return [...others, { noiseMultiplier: 1 / Math.sqrt(precision), sampleRate: 1, steps: 1 }]
}

interface GridPlan {
  readonly width: number
  readonly size: number
  readonly bottom: number
  readonly top: number
  readonly steps: number
}

/** ln E[e^(k loss)] of everything together, exactly. */
const logMomentOf = (kinds: readonly NoisySteps[], direction: Direction, k: number): number =>
  kinds.reduce(
    (sum, { noiseMultiplier, sampleRate, steps }) =>
      sum + steps * logMoment(noiseMultiplier, sampleRate, direction === 'remove' ? k + 1 : -k),
    0,
  )

/** A window that holds the tilted total loss but for `CUT` (Chernoff's bound), and how fine its grid has to be. */
const planGrid = (kinds: readonly NoisySteps[], delta: number, tilt: number, tolerance: number): GridPlan => {
  let top = Number.NEGATIVE_INFINITY
  let bottom = Number.POSITIVE_INFINITY
  for (const direction of DIRECTIONS) {
    const moment = (k: number): number => logMomentOf(kinds, direction, k)
    const tops = [1.15, 1.3, 1.6, 2, 3].map((times) => (moment(tilt * times) - Math.log(CUT * delta)) / (tilt * times))
    const tilted = moment(tilt)
    const bottoms = [tilt / 4, tilt / 2, tilt, tilt + 0.5, tilt + 1, 2 * tilt + 1, 4 * tilt + 2].map(
      (k) => (Math.log(CUT) + tilted - moment(tilt - k)) / k,
    )
    top = Math.max(top, Math.min(...tops))
    bottom = Math.min(bottom, Math.max(...bottoms))
  }
  const steps = kinds.reduce((sum, kind) => sum + kind.steps, 0)
  // Splitting adds width^2 / 6 to the variance of each step's loss, thus so much to ln E[e^(tilt loss)] / tilt.
  const wanted = Math.sqrt((12 * tolerance) / (steps * (tilt + 1)))
  let size = SMALLEST_GRID
  while (size < LARGEST_GRID && size * wanted < top - bottom) size *= 2
  return { width: (top - bottom) / size, size, bottom, top, steps }
}

interface Composed {
  epsilonAt(delta: number): number
}

/** Both directions are real sequences: one goes through the transform as the real part, the other as the imaginary. */
const compose = (kinds: readonly NoisySteps[], plan: GridPlan, reach: number, tilt: number): [Composed, Composed] => {
  const { size, width } = plan
  const fourier = fourierOf(size)
  const spectra = DIRECTIONS.map(() => ({
    re: new Float64Array(size / 2 + 1).fill(1),
    im: new Float64Array(size / 2 + 1),
  }))
  const logScales = [0, 0]
  const infinite = [0, 0]
  const grids: LossGrid[][] = [[], []]
  const re = new Float64Array(size)
  const im = new Float64Array(size)
  for (const { noiseMultiplier, sampleRate, steps } of kinds) {
    re.fill(0)
    im.fill(0)
    for (const [at, direction] of DIRECTIONS.entries()) {
      const grid = lossGrid(noiseMultiplier, sampleRate, direction, width, reach)
      grids[at]!.push(grid)
      infinite[at] = infinite[at]! + steps * grid.infinite
      logScales[at] = logScales[at]! + steps * addTilted(grid, tilt, at === 0 ? re : im)
    }
    fourier.forward(re, im)
    for (let k = 0; k <= size / 2; k++) {
      const other = (size - k) % size
      multiplyByPower(spectra[0]!, k, (re[k]! + re[other]!) / 2, (im[k]! - im[other]!) / 2, steps)
      multiplyByPower(spectra[1]!, k, (im[k]! + im[other]!) / 2, (re[other]! - re[k]!) / 2, steps)
    }
  }
  backTransform(fourier, spectra[0]!, spectra[1]!, re, im)
  const composed = (at: 0 | 1, tilted: Float64Array): Composed => {
    const cut = Math.exp(
      Math.min(
        ...[1, 1.15, 1.3, 1.6, 2, 3].map(
          (times) => gridMoment(grids[at]!, kinds, tilt * times) - tilt * times * plan.top,
        ),
      ),
    )
    return composedOn(plan, tilted, { tilt, logScale: logScales[at]!, beyond: infinite[at]! + cut })
  }
  return [composed(0, re), composed(1, im)]
}

/** Adds e^(tilt loss) P(loss), scaled to sum to 1, to a circular array; returns the logarithm of the scale. */
const addTilted = ({ width, first, masses }: LossGrid, tilt: number, into: Float64Array): number => {
  const logScale = logSum(masses, tilt * width, first)
  const mask = into.length - 1
  for (let bin = 0; bin < masses.length; bin++) {
    const at = (first + bin) & mask
    into[at] = into[at]! + masses[bin]! * Math.exp(tilt * width * (first + bin) - logScale)
  }
  return logScale
}

/** ln of the sum of masses[i] e^(rate (first + i)) */
const logSum = (masses: Float64Array, rate: number, first: number): number => {
  const largest = rate * (first + masses.length - 1)
  let sum = 0
  let part = 0
  let shift = largest
  // From the largest exponent down; the shift follows where the first masses are too small to count.
  for (let bin = masses.length - 1; bin >= 0; bin--) {
    const exponent = rate * (first + bin)
    if (masses[bin] === 0) continue
    const term = Math.log(masses[bin]!) + exponent
    if (sum === 0 && part === 0) shift = term
    if (term > shift + 600) {
      part = (part + sum) * Math.exp(shift - term)
      sum = 1
      shift = term
    } else sum += Math.exp(term - shift)
  }
  return shift + Math.log(sum + part)
}

const gridMoment = (grids: readonly LossGrid[], kinds: readonly NoisySteps[], k: number): number =>
  grids.reduce((sum, { masses, width, first }, at) => sum + kinds[at]!.steps * logSum(masses, k * width, first), 0)

interface Spectrum {
  readonly re: Float64Array
  readonly im: Float64Array
}

const multiplyByPower = (into: Spectrum, k: number, re: number, im: number, power: number): void => {
  let [x, y] = [into.re[k]!, into.im[k]!]
  let left = power
  while (left > 0) {
    if (left % 2 === 1) {
      const product = x * re - y * im
      y = x * im + y * re
      x = product
    }
    left = Math.floor(left / 2)
    const square = re * re - im * im
    im = 2 * re * im
    re = square
  }
  into.re[k] = x
  into.im[k] = y
}

const backTransform = (fourier: Fourier, a: Spectrum, b: Spectrum, re: Float64Array, im: Float64Array): void => {
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

/** Reads the total loss from the top down, until the delta that lies above is the one asked for. */
const composedOn = (
  { size, width, top }: GridPlan,
  tilted: Float64Array,
  { tilt, logScale, beyond }: { readonly tilt: number; readonly logScale: number; readonly beyond: number },
): Composed => ({
  epsilonAt(delta) {
    const highest = Math.floor(top / width)
    const mask = size - 1
    const shrink = -Math.expm1(-width)
    let gap = beyond
    // Of the losses above the grid point: the sum of their probabilities times e^(point - loss).
    let weight = 0
    if (gap > delta) return Number.POSITIVE_INFINITY
    for (let k = highest; k > highest - size; k--) {
      // gap is delta at (k, k+1]'s upper end; one step down it grows by what the shift of the exponent adds.
      const mass = Math.max(0, tilted[k & mask]!) * Math.exp(logScale - tilt * width * k)
      const lower = gap
      if (k * width <= 0 && lower <= delta) return 0
      const next = gap + shrink * (weight + mass)
      if (next > delta) {
        // Between grid points delta is linear in e^epsilon.
        const share = (delta - lower) / (next - lower)
        return Math.max(0, k * width + Math.log1p(share * Math.expm1(-width)))
      }
      gap = next
      weight = (weight + mass) * (1 - shrink)
    }
    return Math.max(0, (highest - size) * width)
  },
})
