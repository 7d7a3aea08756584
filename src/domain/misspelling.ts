/**
 * Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbors each cost 1, and no part
 * is edited twice (Damerau 1964; restricted form of Boytsov 2011, section 3.1). O(a * b) time.
 */
const editDistance = (a: string, b: string): number => {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, substitution)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) best = Math.min(best, beforeLast[j - 2]! + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}

const withoutStyle = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase()

const MAX_EDITS = 2
/** Known names are much shorter; the limit bounds the cost of comparing any input. */
const MAX_LENGTH = 100

/**
 * Returns the known name that `name` appears to misspell, or null. They must be equal except for case, underscores and hyphens,
 * or differ by at most 2 edits and one edit per three characters. The nearest wins; ties go to the first.
 */
export const meantBy = (name: string, known: Iterable<string>): string | null => {
  if (name.length > MAX_LENGTH) return null
  const plain = withoutStyle(name)
  let nearest: string | null = null
  let fewest = MAX_EDITS + 1
  for (const candidate of known) {
    if (withoutStyle(candidate) === plain) return candidate
    const allowed = Math.min(MAX_EDITS, Math.floor(Math.max(name.length, candidate.length) / 3))
    if (Math.abs(candidate.length - name.length) > allowed) continue
    const edits = editDistance(name, candidate)
    if (edits > allowed || edits >= fewest) continue
    nearest = candidate
    fewest = edits
  }
  return nearest
}
