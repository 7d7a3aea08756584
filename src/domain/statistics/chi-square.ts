import { chiSquareUpper } from './special-functions.ts'

export interface ChiSquare {
  readonly statistic: number
  readonly pValue: number
  readonly degreesOfFreedom: number
}

export interface Independence extends ChiSquare {
  /** Cramér's V: 0 without any association, 1 with a perfect one. */
  readonly cramersV: number
  /** The approximation is unreliable below 5. */
  readonly smallestExpected: number
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/**
 * Pearson's test of independence on a table of counts, rows by columns, without Yates's correction. Ignores empty rows and
 * columns; null if fewer than two of either remain.
 */
export const independenceTest = (table: readonly (readonly number[])[]): Independence | null => {
  const rows = table.filter((row) => sum(row) > 0)
  const columns = (rows[0] ?? []).map((_, at) => sum(rows.map((row) => row[at]!)))
  const filled = columns.flatMap((total, at) => (total > 0 ? [at] : []))
  if (rows.length < 2 || filled.length < 2) return null
  const whole = sum(columns)
  let statistic = 0
  let smallestExpected = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const total = sum(row)
    for (const at of filled) {
      const expected = (total * columns[at]!) / whole
      statistic += (row[at]! - expected) ** 2 / expected
      smallestExpected = Math.min(smallestExpected, expected)
    }
  }
  const degreesOfFreedom = (rows.length - 1) * (filled.length - 1)
  return {
    statistic,
    pValue: chiSquareUpper(statistic, degreesOfFreedom),
    degreesOfFreedom,
    cramersV: Math.sqrt(statistic / (whole * (Math.min(rows.length, filled.length) - 1))),
    smallestExpected,
  }
}

/** Pearson's test of counts against expected shares; null without counts or with fewer than two shares. */
export const fitTest = (counts: readonly number[], shares: readonly number[]): ChiSquare | null => {
  const whole = sum(counts)
  const total = sum(shares)
  if (whole === 0 || counts.length < 2 || shares.some((share) => share <= 0)) return null
  const statistic = sum(
    counts.map((count, at) => (count - (whole * shares[at]!) / total) ** 2 / ((whole * shares[at]!) / total)),
  )
  const degreesOfFreedom = counts.length - 1
  return { statistic, pValue: chiSquareUpper(statistic, degreesOfFreedom), degreesOfFreedom }
}
