import { type Fourier, fourierOf } from './fft.ts'
import { DIRECTIONS, type LossGrid, lossGrid } from './loss-grid.ts'
import { type NoisySteps, nameOfKind } from './mechanism.ts'
import { copyOf, multiplyPowers, ones, type Pair, type Spectrum, transformBack } from './spectrum.ts'
import { type TotalLoss, totalLossOn } from './total-loss.ts'
import { TOPS, type Window } from './window.ts'

/** The composed steps of one direction. */
interface Sum {
  readonly spectrum: Spectrum
  /** ln of the tilted probabilities' divisor. */
  logScale: number
  /** The probability of an infinite loss. */
  infinite: number
  /** ln E[e^(k loss)] at each k of `TOPS` times the tilt. */
  readonly logMoments: Float64Array
}

type Sums = readonly [Sum, Sum]

/** A cached sum, on the grid that `window` identifies. */
interface Remembered {
  readonly window: string
  readonly steps: ReadonlyMap<string, number>
  readonly sums: Sums
}

const MAX_REMEMBERED = 8
/** Two such sums take 2 MB. */
const MAX_REMEMBERED_SIZE = 2 ** 16

/** Composes privacy losses. Caches the sums of `spent`, so that one more round costs one transform. */
export const createCompositions = () => {
  const remembered: Remembered[] = []

  /** Returns the largest cached sum on this grid that contains only some of these steps. */
  const partOf = (window: string, kinds: readonly NoisySteps[]): Remembered | undefined => {
    const requested = new Map(kinds.map((kind) => [nameOfKind(kind), kind.steps]))
    const parts = remembered.filter(
      (one) => one.window === window && [...one.steps].every(([name, steps]) => steps <= (requested.get(name) ?? 0)),
    )
    return parts.reduce<Remembered | undefined>(
      (best, one) => (best === undefined || one.steps.size >= best.steps.size ? one : best),
      undefined,
    )
  }

  const remember = (one: Remembered, insteadOf: Remembered | undefined): void => {
    if (insteadOf !== undefined) {
      const at = remembered.indexOf(insteadOf)
      if (at >= 0) remembered.splice(at, 1)
    }
    remembered.push(one)
    if (remembered.length > MAX_REMEMBERED) remembered.shift()
  }

  function sumsOf(spent: readonly NoisySteps[], window: Window, fourier: Fourier, parts: Pair): Sums {
    const name = [window.width, window.size, window.reach, window.tilt].join(' ')
    const part = partOf(name, spent)
    const sums: Sums =
      part === undefined ? [emptySum(window), emptySum(window)] : [copy(part.sums[0]), copy(part.sums[1])]
    const missing = spent
      .map((kind) => ({ ...kind, steps: kind.steps - (part?.steps.get(nameOfKind(kind)) ?? 0) }))
      .filter(({ steps }) => steps > 0)
    addTo(sums, missing, window, fourier, parts)
    if (spent.length > 0 && window.size <= MAX_REMEMBERED_SIZE) {
      const steps = new Map(spent.map((kind) => [nameOfKind(kind), kind.steps]))
      remember({ window: name, steps, sums: [copy(sums[0]), copy(sums[1])] }, part)
    }
    return sums
  }

  /** Returns the total privacy loss of all steps, in both directions. Only the sums of `spent` are cached. */
  return function compose(
    spent: readonly NoisySteps[],
    more: readonly NoisySteps[],
    window: Window,
  ): readonly TotalLoss[] {
    const { size, top, tilt } = window
    const fourier = fourierOf(size)
    const parts: Pair = [new Float64Array(size), new Float64Array(size)]
    const sums = sumsOf(spent, window, fourier, parts)
    addTo(sums, more, window, fourier, parts)
    transformBack(fourier, sums[0].spectrum, sums[1].spectrum, parts)
    const totals: TotalLoss[] = []
    for (const [at, { logScale, infinite, logMoments }] of sums.entries()) {
      // Losses beyond the window wrapped around to its other end; Chernoff's bound limits their probability.
      const cut = Math.min(...TOPS.map((times, n) => logMoments[n]! - times * tilt * top))
      totals.push(totalLossOn(window, parts[at]!, { tilt, logScale, beyond: infinite + Math.exp(cut) }))
    }
    return totals
  }
}

export type Compose = ReturnType<typeof createCompositions>

const emptySum = ({ size }: Window): Sum => ({
  spectrum: ones(size / 2 + 1),
  logScale: 0,
  infinite: 0,
  logMoments: new Float64Array(TOPS.length),
})

const copy = (sum: Sum): Sum => ({ ...sum, spectrum: copyOf(sum.spectrum), logMoments: sum.logMoments.slice() })

/** Both directions are real sequences: one is transformed as the real part, the other as the imaginary part. */
function addTo(sums: Sums, kinds: readonly NoisySteps[], window: Window, fourier: Fourier, parts: Pair): void {
  for (const { noiseMultiplier, sampleRate, steps } of kinds) {
    for (const [at, direction] of DIRECTIONS.entries()) {
      const grid = lossGrid(noiseMultiplier, sampleRate, direction, window)
      const sum = sums[at]!
      sum.infinite += steps * grid.infinite
      sum.logScale += steps * placeTilted(grid, window.tilt, parts[at]!)
      for (const [n, times] of TOPS.entries()) {
        sum.logMoments[n]! += steps * logMomentOn(grid, times * window.tilt)
      }
    }
    fourier.forward(...parts)
    multiplyPowers(sums[0].spectrum, sums[1].spectrum, parts, steps)
  }
}

/** Returns the index of the largest loss with a non-zero probability. Weights relative to it do not overflow. */
const lastOf = ({ masses }: LossGrid): number => {
  let last = masses.length - 1
  while (last > 0 && masses[last] === 0) last--
  return last
}

/** Puts e^(tilt loss) P(loss), normalized to sum to 1, on a circular grid; returns the logarithm of the divisor. */
function placeTilted(grid: LossGrid, tilt: number, into: Float64Array): number {
  const { width, first, masses } = grid
  const last = lastOf(grid)
  const mask = into.length - 1
  into.fill(0)
  let sum = 0
  for (let bin = last; bin >= 0; bin--) {
    const weighed = masses[bin]! * Math.exp(tilt * width * (bin - last))
    const at = (first + bin) & mask
    into[at] = into[at]! + weighed
    sum += weighed
  }
  // A grid that is wider than the circle overlaps itself.
  const count = Math.min(into.length, last + 1)
  for (let n = 0; n < count; n++) {
    const at = (first + n) & mask
    into[at] = into[at]! / sum
  }
  return Math.log(sum) + tilt * width * (first + last)
}

/** ln E[e^(k loss)] of one step on its grid, without overflow. */
const logMomentOn = (grid: LossGrid, k: number): number => {
  const { width, first, masses } = grid
  const last = lastOf(grid)
  const fall = Math.exp(-k * width)
  let sum = 0
  for (let bin = 0; bin <= last; bin++) sum = sum * fall + masses[bin]!
  return Math.log(sum) + k * width * (first + last)
}
