/** Returns the cosine of the angle between two vectors of the same length, -1 to 1; null if one is zero or not finite. */
export const cosine = (a: readonly number[], b: readonly number[]): number | null => {
  let [dot, squareA, squareB] = [0, 0, 0]
  for (const [index, x] of a.entries()) {
    const y = b[index] ?? Number.NaN
    dot += x * y
    squareA += x * x
    squareB += y * y
  }
  const value = dot / Math.sqrt(squareA * squareB)
  return Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : null
}
