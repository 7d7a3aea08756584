/** The distribution of a total privacy loss. */
export interface TotalLoss {
  /** The smallest epsilon whose delta is not above the one given; infinite where none is. */
  epsilonAt(delta: number): number
}

/**
 * Read from a circular grid of tilted probabilities.
 * @param tilted e^(tilt loss - logScale) P(loss)
 * @param beyond the probability of losses that are not on the grid: as bad as infinite ones
 */
export const totalLossOn = (
  { size, width, top }: { readonly size: number; readonly width: number; readonly top: number },
  tilted: Float64Array,
  { tilt, logScale, beyond }: { readonly tilt: number; readonly logScale: number; readonly beyond: number },
): TotalLoss => ({
  epsilonAt(delta) {
    if (beyond > delta) return Number.POSITIVE_INFINITY
    const highest = Math.floor(top / width)
    const shrink = -Math.expm1(-width)
    // Of the losses above a grid point: their delta, the sum of P(loss) (1 - e^(point - loss)), and that of
    // P(loss) e^(point - loss). One step down, both follow from sums of positive numbers: nothing cancels.
    let gap = beyond
    let weight = 0
    for (let k = highest; k > highest - size; k--) {
      if (k * width <= 0) return 0
      const mass = Math.max(0, tilted[k & (size - 1)]!) * Math.exp(logScale - tilt * width * k)
      const next = gap + shrink * (weight + mass)
      if (next > delta) {
        // Between grid points delta is linear in e^epsilon.
        const share = (delta - gap) / (next - gap)
        return Math.max(0, k * width + Math.log1p(share * Math.expm1(-width)))
      }
      gap = next
      weight = (weight + mass) * (1 - shrink)
    }
    return Math.max(0, (highest - size) * width)
  },
})
