/** A sample in a form that can be merged without loss: count, mean, and the sum of squared deviations from the mean. */
export interface Moments {
  readonly count: number
  readonly mean: number
  readonly m2: number
}

export const NO_MOMENTS: Moments = { count: 0, mean: 0, m2: 0 }

/** Merges two samples (Chan, Golub, LeVeque 1979): precise even where sums of squares would cancel. */
export const mergeMoments = (a: Moments, b: Moments): Moments => {
  if (a.count === 0) return b
  if (b.count === 0) return a
  const count = a.count + b.count
  const apart = b.mean - a.mean
  return {
    count,
    mean: a.mean + (apart * b.count) / count,
    m2: a.m2 + b.m2 + (apart * apart * a.count * b.count) / count,
  }
}

/** The moments of values, by Welford's update. */
export const momentsOf = (values: Iterable<number>): Moments => {
  let count = 0
  let mean = 0
  let m2 = 0
  for (const value of values) {
    count += 1
    const apart = value - mean
    mean += apart / count
    m2 += apart * (value - mean)
  }
  return { count, mean, m2 }
}

/** Divides by n - 1; null for fewer than two values. */
export const varianceOf = ({ count, m2 }: Moments): number | null => (count < 2 ? null : m2 / (count - 1))

/** The p-th quantile (0..1) of sorted values, linear between neighbors (Hyndman and Fan 1996, type 7); null without values. */
export const quantileOf = (sorted: ArrayLike<number>, p: number): number | null => {
  if (sorted.length === 0) return null
  const at = (sorted.length - 1) * p
  const below = Math.floor(at)
  const low = sorted[below]!
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!
  return low + (high - low) * (at - below)
}
