/** The distribution of a total privacy loss. */
export interface TotalLoss {
  /** The smallest epsilon whose delta is at most the given one; infinite if there is none. */
  epsilonAt(delta: number): EpsilonBound
}

export interface EpsilonBound {
  readonly epsilon: number
  /** The share of delta that only covers the transform's rounding. If it is large, so is the bound. */
  readonly noise: number
}

/**
 * Reads the total loss from a circular grid of tilted probabilities.
 * @param tilted e^(tilt loss - logScale) P(loss)
 * @param beyond the probability of losses outside the grid, which count as infinite
 */
export function totalLossOn(
  { size, width, top }: { readonly size: number; readonly width: number; readonly top: number },
  tilted: Float64Array,
  { tilt, logScale, beyond }: { readonly tilt: number; readonly logScale: number; readonly beyond: number },
): TotalLoss {
  // Probabilities cannot be negative, so the lowest value shows the size of rounding errors.
  let lowest = 0
  for (let k = 0; k < size; k++) {
    lowest = Math.min(lowest, tilted[k]!)
  }
  const floor = -lowest
  return {
    epsilonAt(delta) {
      if (beyond > delta) return { epsilon: Number.POSITIVE_INFINITY, noise: 0 }
      const highest = Math.floor(top / width)
      const shrink = -Math.expm1(-width)
      // For the losses above a grid point: their delta, the sum of P(loss) (1 - e^(point - loss)), and the sum of P(loss)
      // e^(point - loss). One point lower, both follow from sums of positive numbers, so nothing cancels.
      let gap = beyond
      let weight = 0
      let noise = 0
      let weightOfNoise = 0
      for (let k = highest; k > highest - size; k--) {
        if (k * width <= 0) return { epsilon: 0, noise: noise / delta }
        const scale = Math.exp(logScale - tilt * width * k)
        const mass = (Math.max(0, tilted[k & (size - 1)]!) + floor) * scale
        const next = gap + shrink * (weight + mass)
        if (next > delta) {
          // Between grid points delta is linear in e^epsilon.
          const share = (delta - gap) / (next - gap)
          return { epsilon: Math.max(0, k * width + Math.log1p(share * Math.expm1(-width))), noise: noise / delta }
        }
        gap = next
        weight = (weight + mass) * (1 - shrink)
        noise += shrink * (weightOfNoise + floor * scale)
        weightOfNoise = (weightOfNoise + floor * scale) * (1 - shrink)
      }
      return { epsilon: Math.max(0, (highest - size) * width), noise: noise / delta }
    },
  }
}
