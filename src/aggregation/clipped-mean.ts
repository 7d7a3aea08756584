import { conflict } from '../domain/errors.ts'
import { GaussianNoise, NOISE } from './gaussian-noise.ts'
import type { PrivacyPlan } from './job.ts'
import { isFloat, type Kernel, padded } from './kernel.ts'
import { blameNonFinite } from './non-finite.ts'
import type { Mean } from './sample-mean.ts'
import type { Survey } from './strategy.ts'

const LEARNING_RATE = 0.2
const TARGET_QUANTILE = 0.5

/**
 * How much noise the sum and the count of unclipped updates get, each in units of its sensitivity, so that both together
 * cost what the noise multiplier z alone would (Andrew et al. 2021, theorem 1): z_sum = (z^-2 - (2 * z_count)^-2)^-1/2.
 * Without adaptive clipping the sum gets z. Throws conflict when the count's noise leaves nothing for the sum.
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

/** Two to the -20th of the noise's standard deviation, at most. */
const GRID_BITS = 20

/**
 * The power of two to multiples of which the noisy sum is rounded; 0 where there is no noise, or it is out of range. It depends
 * on nothing that a device sent, so that rounding to it is post-processing, and takes away low bits of the sum.
 */
export const gridOf = (deviation: number): number => {
  const grid = 2 ** (Math.floor(Math.log2(deviation)) - GRID_BITS)
  return deviation > 0 && Number.isFinite(grid) && Number.isFinite(1 / grid) ? grid : 0
}

/**
 * w_t + (sum of clipped changes + N(0, (z C)^2)) / m, the Gaussian mechanism on the sum of updates with user-level
 * sensitivity C: each change w_k - w_t is scaled to an L2 norm of at most C over all float tensors, all count the same,
 * and the denominator m is fixed (McMahan et al. 2018, "Learning Differentially Private Recurrent Language Models",
 * section 2). Integer tensors keep the global model's values. The noise is a function of the plan's seed.
 *
 * Noise and sum are floating-point numbers, whose gaps an adversary could exploit (Mironov 2012, "On Significance of the Least
 * Significant Bits for Differential Privacy"). Against that every number of the noise is made of four, and the noisy sum is
 * rounded to a grid. It makes the attack harder and is no proof: that would take noise drawn from a discrete distribution, and
 * a sum of integers (Canonne, Kamath and Steinke 2020).
 */
export const clippedMean = (kernel: Kernel, plan: PrivacyPlan, rows: number, columns: number, row: number): Mean => {
  const shares = noiseShares(plan)
  const { clipNorm, denominator, adaptive, hardened } = plan
  const deviation = shares.sum * clipNorm
  const grid = hardened ? gridOf(deviation) : 0
  const noise = new GaussianNoise(plan.noiseSeed)
  const bytes = padded(columns) * 8
  const [global, update, moved] = [kernel.allocate(bytes), kernel.allocate(bytes), kernel.allocate(bytes)]
  const numbers = new Float64Array(columns)
  const others = new Float64Array(hardened ? columns : 0)
  const squares = new Float64Array(rows)
  const vector = (address: number, length: number): Float64Array =>
    new Float64Array(kernel.bytes(address, 0).buffer, address, length)
  const factor = (k: number): number => Math.min(1, clipNorm / Math.sqrt(squares[k]!))

  const measure: Survey = (chunk) => {
    const { dtype, length } = chunk
    if (!isFloat(dtype)) return
    chunk.loadGlobal(row)
    kernel.decode(dtype, row, global, length)
    for (let k = 0; k < rows; k++) {
      chunk.load(k, row)
      kernel.decode(dtype, row, update, length)
      squares[k]! += kernel.squaredDistance(update, global, length)
    }
    if (!squares.every(Number.isFinite)) throw blameNonFinite(kernel, chunk, row)
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
        kernel.addDelta(update, global, moved, length, factor(k))
      }
      const draws = numbers.subarray(0, length)
      if (hardened) noise.fillWithFour(draws, others.subarray(0, length), place, start)
      else noise.fill(draws, NOISE.elements, place, start)
      const [result, sum] = [vector(global, length), vector(moved, length)]
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
      // Andrew et al. 2021, algorithm 1: C <- C exp(-eta (b - gamma)), b the noisy share of unclipped updates.
      const unclipped = squares.reduce((count, square) => count + (Math.sqrt(square) <= clipNorm ? 1 : 0), 0)
      const share = (unclipped + shares.count * noise.single(NOISE.count)) / denominator
      const { learningRate = LEARNING_RATE, targetQuantile = TARGET_QUANTILE } = adaptive
      return {
        clippedFraction: Math.min(1, Math.max(0, 1 - share)),
        nextClipNorm: clipNorm * Math.exp(-learningRate * (share - targetQuantile)),
      }
    },
  }
}
