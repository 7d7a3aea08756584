export interface Percentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

const nearestRank = (sorted: readonly number[], percent: number): number =>
  sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN

/** Values that were really measured (nearest rank): of fewer than a hundred, p99 is the worst. */
export const percentilesOf = (values: readonly number[], worst: 'highest' | 'lowest'): Percentiles => {
  const sorted = [...values].sort((a, b) => (worst === 'highest' ? a - b : b - a))
  return { p50: nearestRank(sorted, 50), p90: nearestRank(sorted, 90), p99: nearestRank(sorted, 99) }
}
