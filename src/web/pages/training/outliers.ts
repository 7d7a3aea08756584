/** Scales the MAD to estimate the standard deviation of a normal distribution. */
const MAD_SCALE = 1.4826
const FAR = 3.5
const ENOUGH = 4

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * Flags values far from the others: with a modified z-score above 3.5 (Iglewicz and Hoaglin 1993), which a few outliers cannot
 * mask. Fewer than four values are never flagged.
 */
export const outliers = (values: readonly (number | null)[]): readonly boolean[] => {
  const present = values.filter((value): value is number => value !== null && Number.isFinite(value))
  if (present.length < ENOUGH) return values.map(() => false)
  const middle = median(present)
  const spread = median(present.map((value) => Math.abs(value - middle))) * MAD_SCALE
  return values.map((value) => value !== null && spread > 0 && Math.abs(value - middle) / spread > FAR)
}
