import { percent } from '../text/format.ts'

/** One line of a chart: a job's points, by ascending x; y is null if nothing was measured. */
export interface Series {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number | null])[]
  /** Confidence intervals, in the order of the points. */
  readonly band?: readonly (readonly [lower: number | null, upper: number | null])[]
}

/** Returns the edges of each band as two series: lower, then upper. */
export const bandEdges = (series: readonly Series[]): Series[] =>
  series.flatMap(({ name, points, band }) =>
    band === undefined
      ? []
      : ([0, 1] as const).map((edge) => ({
          name,
          points: points.map(([x], n) => [x, band[n]?.[edge] ?? null] as const),
        })),
  )

/** Converts series to uPlot's data: a shared column of x, and a column of y per series. */
export const align = (series: readonly Series[]): (number | null)[][] => {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b)
  const place = new Map(xs.map((x, index) => [x, index]))
  const columns = series.map(({ points }) => {
    const column: (number | null)[] = xs.map(() => null)
    for (const [x, y] of points) column[place.get(x)!] = y !== null && Number.isFinite(y) ? y : null
    return column
  })
  return [xs, ...columns]
}

/**
 * Exponential moving average with weight `keep` for previous values, corrected for the initial bias (Kingma and Ba 2015,
 * section 3), like TensorBoard's smoothing.
 */
export const smooth = (values: readonly (number | null)[], keep: number): (number | null)[] => {
  let sum = 0
  let weight = 0
  return values.map((value) => {
    if (value === null) return null
    sum = keep * sum + (1 - keep) * value
    weight = keep * weight + (1 - keep)
    return sum / weight
  })
}

/** Returns the point with the lowest or highest y, the first one of equals; null if there is none. */
export const best = (
  points: Series['points'],
  direction: 'lowest' | 'highest',
): { readonly x: number; readonly y: number } | null => {
  let found: { x: number; y: number } | null = null
  for (const [x, y] of points) {
    if (y === null || !Number.isFinite(y)) continue
    if (found === null || (direction === 'lowest' ? y < found.y : y > found.y)) found = { x, y }
  }
  return found
}

/** Returns the range around the only x; null if there are several, or none. */
export const aroundOne = (xs: readonly number[], distance: number): [from: number, to: number] | null =>
  xs.length === 1 ? [xs[0]! - distance, xs[0]! + distance] : null

/** Limits of an axis of shares, in uPlot's form: its usual padding, but neither below 0% nor above 100% unless the values are. */
export const shareLimits = (lowest: number, highest: number) => {
  const usual = { pad: 0.1, soft: 0, mode: 3 } as const
  return { min: { ...usual, hard: Math.min(0, lowest) }, max: { ...usual, hard: Math.max(1, highest) } }
}

const MAX_DIGITS = 20

/** Labels for ticks, in equal distances: formatted with `format`, or with more digits if some would be the same. */
export const tickLabels = (values: readonly number[], format: (value: number) => string): string[] => {
  const labels = values.map((value) => format(value))
  if (new Set(labels).size === labels.length) return labels
  // Distances are 1, 2, 2.5, or 5 times a power of ten.
  const [mantissa, exponent] = (values[1]! - values[0]!).toExponential(1).split('e')
  const digits = Math.min(MAX_DIGITS, Math.max(0, (mantissa!.endsWith('.0') ? 0 : 1) - Number(exponent)))
  const isShare = labels[0]!.endsWith('%')
  return values.map((value) => (isShare ? percent(value, Math.max(0, digits - 2)) : value.toFixed(digits)))
}
