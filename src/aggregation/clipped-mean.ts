import { conflict } from '../domain/errors.ts'
import { showName } from '../tensors/shape.ts'
import type { PrivacyPlan } from './aggregation-messages.ts'
import { GaussianNoise, NOISE } from './gaussian-noise.ts'
import { isFloat, type Kernel, padded } from './kernel.ts'
import { firstNonFinite } from './non-finite.ts'
import { type Mean, sampleMean } from './sample-mean.ts'
import type { Chunk, Round, Survey } from './strategy.ts'

const LEARNING_RATE = 0.2
const TARGET_QUANTILE = 0.5

/**
 * Splits the noise between the sum of changes, in units of the clip norm, and the centered count of unclipped updates, in
 * updates, so that together they cost as much as the noise multiplier z alone: z_sum = (z^-2 - (2 * z_count)^-2)^-1/2 (Andrew
 * et al. 2021, theorem 1). This holds because one update changes the centered count by at most 1/2 (see `centeredCount`).
 * Without adaptive clipping, the sum gets z. Throws conflict if the count's noise leaves nothing for the sum.
 */
export const noiseShares = (plan: PrivacyPlan): { readonly sum: number; readonly count: number } => {
  const { noiseMultiplier, denominator, adaptive } = plan
  if (adaptive === null) return { sum: noiseMultiplier, count: 0 }
  const count = adaptive.countNoise ?? Math.max(denominator / 20, noiseMultiplier)
  if (noiseMultiplier === 0) return { sum: 0, count }
  if (2 * count <= noiseMultiplier)
    throw conflict(
      `With a noise multiplier of ${noiseMultiplier}, adaptive clipping needs a count_noise above ` +
        `${noiseMultiplier / 2}, got ${count}. Raise count_noise.`,
    )
  return { sum: (noiseMultiplier ** -2 - (2 * count) ** -2) ** -0.5, count }
}

/**
 * sum (b_k - 1/2), where b_k is 1 if update k is within the clip norm, otherwise 0. Every update, clipped or not, changes it
 * by exactly 1/2, but could change a plain count by 1 (Andrew et al. 2021, section 3.1).
 */
export const centeredCount = (norms: readonly number[], clipNorm: number): number =>
  norms.reduce((sum, norm) => sum + (norm <= clipNorm ? 0.5 : -0.5), 0)

/** Scales numbers whose squares exceed the range of 64-bit floats; a power of two. */
const DOWN = 2 ** -540

/** The L2 norm of every row's change. Works for finite changes of any size: squares of huge ones are summed scaled. */
class ChangeNorms {
  readonly #squares: Float64Array
  /** Sums of (change * DOWN)^2; the squares of changes that are not huge vanish in them or are negligible. */
  readonly #scaled: Float64Array

  constructor(rows: number) {
    this.#squares = new Float64Array(rows)
    this.#scaled = new Float64Array(rows)
  }

  /** Adds the squared norm of part of row k's change; computes it from `values()` if `square` is out of range. */
  add(k: number, square: number, values: () => readonly [Float64Array, Float64Array]): void {
    this.#squares[k]! += square
    this.#scaled[k]! += Number.isFinite(square) ? square * DOWN * DOWN : scaledSquare(...values())
  }

  isHuge(k: number): boolean {
    return !Number.isFinite(this.#squares[k]!)
  }

  /** Infinite if huge. */
  of(k: number): number {
    return Math.sqrt(this.#squares[k]!)
  }

  /** The norm * DOWN of a huge change. */
  scaledOf(k: number): number {
    return Math.sqrt(this.#scaled[k]!)
  }

  all(): readonly number[] {
    return Array.from(this.#squares, Math.sqrt)
  }
}

const scaledSquare = (to: Float64Array, from: Float64Array): number => {
  let sum = 0
  for (let i = 0; i < to.length; i++) sum += (to[i]! * DOWN - from[i]! * DOWN) ** 2
  return sum
}

/** The grid is at most 2^-20 of the noise's standard deviation. */
const GRID_BITS = 20

/**
 * Returns the grid to which the noisy sum is rounded, a power of two; 0 without noise or out of range. It does not depend on
 * anything that devices sent, so rounding to it is post-processing. It removes low bits of the sum.
 */
export const gridOf = (deviation: number): number => {
  const grid = 2 ** (Math.floor(Math.log2(deviation)) - GRID_BITS)
  return deviation > 0 && Number.isFinite(grid) && Number.isFinite(1 / grid) ? grid : 0
}

/**
 * w_t + (sum of clipped changes + N(0, (z C)^2)) / m, the Gaussian mechanism on the sum of updates with user-level
 * sensitivity C: each change w_k - w_t is scaled to an L2 norm of at most C over all float tensors, all have equal weight,
 * and the denominator m is fixed (McMahan et al. 2018, "Learning Differentially Private Recurrent Language Models", section
 * 2). Integer tensors keep the global model's values. The noise is a function of the plan's seed.
 *
 * Noise and sum are floating-point numbers, whose gaps an adversary could exploit (Mironov 2012, "On Significance of the
 * Least Significant Bits for Differential Privacy"). Therefore each noise value combines four draws, and the noisy sum is
 * rounded to a grid. This makes the attack harder but proves nothing: a proof would require noise from a discrete
 * distribution and a sum of integers (Canonne, Kamath and Steinke 2020).
 */
const clippedMean = (kernel: Kernel, plan: PrivacyPlan, rows: number, columns: number, row: number): Mean => {
  const shares = noiseShares(plan)
  const { clipNorm, denominator, adaptive, hardened } = plan
  const deviation = shares.sum * clipNorm
  const grid = hardened ? gridOf(deviation) : 0
  const noise = new GaussianNoise(plan.noiseSeed)
  const bytes = padded(columns) * 8
  const [global, update, moved] = [kernel.allocate(bytes), kernel.allocate(bytes), kernel.allocate(bytes)]
  const numbers = new Float64Array(columns)
  const others = new Float64Array(hardened ? columns : 0)
  const norms = new ChangeNorms(rows)

  const requireFinite = (chunk: Chunk): void => {
    const broken = firstNonFinite(kernel, chunk, row)
    if (broken !== null) throw broken
    if (kernel.doubles(global, chunk.length).every(Number.isFinite)) return
    throw conflict(
      `The model of the round contains NaN or infinity in tensor ${showName(chunk.tensor)}. Nothing was aggregated: start from ` +
        'another version of the model.',
    )
  }
  const measure: Survey = (chunk) => {
    const { dtype, length } = chunk
    if (!isFloat(dtype)) return
    chunk.loadGlobal(row)
    kernel.decode(dtype, row, global, length)
    for (let k = 0; k < rows; k++) {
      chunk.load(k, row)
      kernel.decode(dtype, row, update, length)
      const square = kernel.squaredDistance(update, global, length)
      if (!Number.isFinite(square)) requireFinite(chunk)
      norms.add(k, square, () => [kernel.doubles(update, length), kernel.doubles(global, length)])
    }
  }
  /** Adds the clipped change of row k, which is at `update`. */
  const addClipped = (k: number, length: number): void => {
    if (!norms.isHuge(k)) {
      kernel.addDelta(update, global, moved, length, Math.min(1, clipNorm / norms.of(k)))
      return
    }
    const [to, from, sum] = [
      kernel.doubles(update, length),
      kernel.doubles(global, length),
      kernel.doubles(moved, length),
    ]
    const factor = clipNorm / norms.scaledOf(k)
    for (let i = 0; i < length; i++) sum[i]! += factor * (to[i]! * DOWN - from[i]! * DOWN)
  }
  return {
    needs: { global: true },
    sums: global,
    total: 1,
    surveys: () => [measure],
    sum: (chunk) => {
      const { dtype, length, place, start } = chunk
      chunk.loadGlobal(row)
      kernel.decode(dtype, row, global, length)
      kernel.bytes(moved, padded(length) * 8).fill(0)
      for (let k = 0; k < rows; k++) {
        chunk.load(k, row)
        kernel.decode(dtype, row, update, length)
        addClipped(k, length)
      }
      const draws = numbers.subarray(0, length)
      if (hardened) noise.fillWithFour(draws, others.subarray(0, length), place, start)
      else noise.fill(draws, NOISE.elements, place, start)
      const [result, sum] = [kernel.doubles(global, length), kernel.doubles(moved, length)]
      for (let i = 0; i < length; i++) {
        const noisy = sum[i]! + deviation * draws[i]!
        result[i]! += (grid === 0 ? noisy : Math.round(noisy / grid) * grid) / denominator
      }
    },
    integers: (chunk) => {
      chunk.loadGlobal(row)
      return row
    },
    weights: () => Array.from({ length: rows }, () => 1 / denominator),
    privacy: () => {
      if (adaptive === null) return { clippedFraction: null, nextClipNorm: null }
      // Andrew et al. 2021, algorithm 1: C <- C exp(-eta (b - gamma)), with b the noisy share of unclipped updates.
      const count = centeredCount(norms.all(), clipNorm) + shares.count * noise.single(NOISE.count)
      const share = count / denominator + 0.5
      const { learningRate = LEARNING_RATE, targetQuantile = TARGET_QUANTILE } = adaptive
      return {
        clippedFraction: Math.min(1, Math.max(0, 1 - share)),
        nextClipNorm: clipNorm * Math.exp(-learningRate * (share - targetQuantile)),
      }
    },
  }
}

/** The clipped mean in a private round, otherwise the mean weighted by samples. */
export const meanOf = (kernel: Kernel, { samples, privacy }: Round, columns: number, row: number): Mean =>
  privacy === null
    ? sampleMean(kernel, samples, columns, row)
    : clippedMean(kernel, privacy, samples.length, columns, row)
