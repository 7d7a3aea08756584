import type { NoisySteps } from './mechanism.ts'
import { logMoment } from './sampled-gaussian.ts'

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** The orders of Opacus and TensorFlow Privacy: 1.1 to 10.9 by tenths, 12 to 63, 128, 256, 512. */
export const ORDERS: readonly number[] = [
  ...range(11, 109).map((tenths) => tenths / 10),
  ...range(12, 63),
  128,
  256,
  512,
]

/** Rényi differential privacy of one step, at an order above 1 (Mironov, Talwar, Zhang 2019). */
export const rdpOf = (sigma: number, q: number, order: number): number => logMoment(sigma, q, order) / (order - 1)

/** Rényi differential privacy of all steps together, at every order: Rényi divergences add up. `rdp` is that of one step. */
export const composedRdp = (
  rounds: readonly NoisySteps[],
  rdp: (step: NoisySteps) => ArrayLike<number>,
): readonly number[] => {
  const sums = ORDERS.map(() => 0)
  for (const round of rounds) {
    const step = rdp(round)
    for (let n = 0; n < sums.length; n++) sums[n]! += round.steps * step[n]!
  }
  return sums
}

export interface RdpEpsilon {
  readonly epsilon: number
  /** The order with this epsilon; null if it is infinite. */
  readonly order: number | null
}

/**
 * Returns the smallest epsilon of all orders for a delta (Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020),
 * converted once, after composition. Adding up epsilons of single rounds would greatly overestimate it.
 */
export const epsilonOfRdp = (rdp: readonly number[], delta: number): RdpEpsilon => {
  let best: RdpEpsilon = { epsilon: Number.POSITIVE_INFINITY, order: null }
  for (const [at, order] of ORDERS.entries()) {
    const epsilon = rdp[at]! + Math.log1p(-1 / order) - (Math.log(delta) + Math.log(order)) / (order - 1)
    if (epsilon < best.epsilon) best = { epsilon, order }
  }
  return { ...best, epsilon: Math.max(0, best.epsilon) }
}
