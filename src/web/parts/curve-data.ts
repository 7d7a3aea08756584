/** One line of a curve: the points of one job, by ascending x; null where there was nothing to measure. */
export interface Series {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number | null])[]
  /** An interval around each point, where there is one, in the order of the points. */
  readonly band?: readonly (readonly [lower: number | null, upper: number | null])[]
}

/** The two edges of the bands as series of their own: lower and upper of the first series with a band, then of the next. */
export const bandEdges = (series: readonly Series[]): Series[] =>
  series.flatMap(({ name, points, band }) =>
    band === undefined
      ? []
      : ([0, 1] as const).map((edge) => ({
          name,
          points: points.map(([x], n) => [x, band[n]?.[edge] ?? null] as const),
        })),
  )

/** What uPlot draws: one common column of x, and a column of y for each series. */
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
 * Exponential moving average of weight `keep` for what was before, with the beginning's bias taken out (Kingma and Ba 2015,
 * section 3), as TensorBoard smooths.
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

/** The best point: the lowest or highest y, the first of equals; null where there is none. */
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
