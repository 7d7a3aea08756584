/**
 * Adjusts the p-values of several tests so that the probability of even one false finding stays at the level of a single test
 * (Holm 1979). Nulls are tests that could not be run: they stay null and are not counted.
 */
export const holmAdjusted = (pValues: readonly (number | null)[]): (number | null)[] => {
  const made = pValues.flatMap((p, index) => (p === null ? [] : [{ p, index }])).sort((a, b) => a.p - b.p)
  const adjusted: (number | null)[] = pValues.map(() => null)
  let largest = 0
  for (const [rank, { p, index }] of made.entries()) {
    largest = Math.max(largest, Math.min(1, p * (made.length - rank)))
    adjusted[index] = largest
  }
  return adjusted
}
