/**
 * P-values of several tests, adjusted so that the chance of even one false finding stays at the level of a single test
 * (Holm 1979). Nulls are tests that could not be made: they stay null and count for nothing.
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
