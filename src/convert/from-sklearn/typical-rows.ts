// Generates rows similar to an estimator's training data, from its statistics, as inputs for validating a conversion.
import { createRandom } from '../../domain/random-numbers.ts'
import { isObject, type PickledFile } from '../../tensors/sklearn-objects.ts'
import { columnParts } from './compose.ts'
import { Estimator, readingOf } from './estimator.ts'

const ROWS = 32
const MAX_COLUMNS = 10_000
const MAX_DEPTH = 16

type Draw = (row: number) => readonly number[]
interface Random {
  readonly uniform: () => number
  readonly normal: () => number
}

/** Attributes with points of the training data or their centers: [points, columns]. */
const POINTS = ['support_vectors_', 'cluster_centers_', 'centroids_', '_fit_X', 'means_', 'theta_', 'quantiles_']

/** Attributes with the center and the spread of each column. */
const SPREADS = [
  ['mean_', 'scale_'],
  ['center_', 'scale_'],
  ['statistics_', ''],
  ['_x_mean', '_x_std'],
] as const

/** Of every four rows, two are close to a point, one is a spread away, and one is farther. Every eighth may be a point. */
const DISTANCES = [0.1, 0.3, 1, 3]

/** The least distance of rows from points whose distance is an output, as a share of a step. */
const APART = 0.5

const distanceOf = (row: number, isExact: boolean): number =>
  isExact && row % 8 === 0 ? 0 : DISTANCES[row % DISTANCES.length]!

const aroundPoints = (estimator: Estimator, name: string, columns: number, random: Random): Draw => {
  const { rows, data } = estimator.matrix(name, columns)
  const [means, spreads] = [new Float64Array(columns), new Float64Array(columns)]
  for (let at = 0; at < rows * columns; at++) means[at % columns]! += data[at]! / rows
  for (let at = 0; at < rows * columns; at++) spreads[at % columns]! += (data[at]! - means[at % columns]!) ** 2 / rows
  // Rows equal to training points may have several nearest neighbors at the same distance, in a different order. Support
  // vectors of OneClassSVM lie where its label changes. Distances to clusters are outputs, which in float32 are not precise
  // at centers: their rows are apart in each column.
  const isApart = name === 'cluster_centers_'
  const isExact = name !== '_fit_X' && !isApart && estimator.type !== 'OneClassSVM'
  const step = (): number => {
    const value = random.normal()
    return isApart ? value + Math.sign(value) * APART : value
  }
  return (row) => {
    const point = row === 0 ? rows - 1 : Math.floor(random.uniform() * rows)
    const distance = distanceOf(row, isExact)
    return Array.from(spreads, (spread, at) => {
      const width = Math.sqrt(spread) || Math.abs(means[at]!) / 20 || 1
      return data[point * columns + at]! + distance * width * step()
    })
  }
}

const aroundMeans = (means: ArrayLike<number>, spreads: ArrayLike<number> | null, random: Random): Draw => {
  const widths = Array.from(means, (mean, at) => spreads?.[at] || Math.abs(mean) / 10 || 1)
  return () => widths.map((width, at) => means[at]! + width * random.normal())
}

/** Draws a listed value for each column; in every second row, a number close to one. */
const amongValues = (columns: readonly ArrayLike<number>[], random: Random): Draw => {
  const widths = columns.map((values) => {
    const finite = Array.from(values).filter(Number.isFinite)
    return (Math.max(...finite) - Math.min(...finite)) / finite.length || 1
  })
  return (row) =>
    columns.map((values, at) => {
      const value = values[row === 0 ? values.length - 1 : Math.floor(random.uniform() * values.length)] ?? 0
      return row % 2 === 0 ? value : value + widths[at]! * random.normal()
    })
}

const principalSpreads = (estimator: Estimator, columns: number): ArrayLike<number> | null => {
  if (!estimator.has('components_') || !estimator.has('explained_variance_')) return null
  const { rows, data } = estimator.matrix('components_', columns)
  const variances = estimator.vector('explained_variance_', rows)
  return Array.from({ length: columns }, (_, at) =>
    Math.sqrt(variances.reduce((sum, variance, row) => sum + variance * data[row * columns + at]! ** 2, 0)),
  )
}

const own = (estimator: Estimator, columns: number, random: Random): Draw | null => {
  const points = POINTS.find((name) => estimator.has(name))
  if (points !== undefined) return aroundPoints(estimator, points, columns, random)
  if (estimator.has('data_min_') && estimator.has('data_max_')) {
    const [least, most] = ['data_min_', 'data_max_'].map((name) => estimator.vector(name, columns))
    return amongValues(
      least!.map((value, at) => [value, (value + most![at]!) / 2, most![at]!]),
      random,
    )
  }
  const statistics = SPREADS.find(([center]) => estimator.has(center))
  if (statistics !== undefined) {
    const [center, spread] = statistics
    const spreads = estimator.has(spread) ? estimator.vector(spread, columns) : principalSpreads(estimator, columns)
    return aroundMeans(estimator.vector(center, columns), spreads, random)
  }
  if (estimator.has('scale_')) return aroundMeans(Array(columns).fill(0), estimator.vector('scale_', columns), random)
  if (estimator.has('X_thresholds_')) return amongValues([estimator.numbers('X_thresholds_').data], random)
  const lists = ['bin_edges_', 'categories_'].find((name) => estimator.has(name))
  if (lists === undefined) return null
  return amongValues(
    estimator.list(lists).map((value) => estimator.asNumbers(value, lists).data),
    random,
  )
}

/** Each part generates its own columns; the remaining columns are standard normal. */
const ofParts = (estimator: Estimator, columns: number, random: Random, depth: number): Draw => {
  const parts = columnParts(estimator, columns).map(({ value, columns: indices }) => {
    const part = isObject(value) ? new Estimator(value, estimator.reading) : null
    return { indices, draw: part && drawOf(part, indices.length, random, depth + 1) }
  })
  return (row) => {
    const values = Array.from({ length: columns }, random.normal)
    for (const { indices, draw } of parts) {
      const drawn = draw?.(row) ?? []
      for (const [at, column] of indices.entries()) values[column] = drawn[at] ?? values[column]!
    }
    return values
  }
}

/** Uses the statistics of the estimator, or of the first estimator inside it with the same number of columns. */
const drawOf = (estimator: Estimator, columns: number, random: Random, depth = 0): Draw | null => {
  if (depth > MAX_DEPTH) return null
  if (estimator.type === 'ColumnTransformer') return ofParts(estimator, columns, random, depth)
  try {
    const found = own(estimator, columns, random)
    if (found !== null) return found
  } catch {
    // The statistics have another form, such as strings.
  }
  for (const inner of estimator.inner()) {
    if (inner.number('n_features_in_', columns) !== columns) continue
    const found = drawOf(inner, columns, random, depth + 1)
    if (found !== null) return found
  }
  return null
}

/** Generates rows similar to the training data; null if the estimator has no statistics of its columns. Never throws. */
export const typicalRows = (file: PickledFile, columns: number): readonly (readonly number[])[] | null => {
  if (columns > MAX_COLUMNS) return null
  const uniform = createRandom(1)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  try {
    const estimator = Estimator.of(file.value, readingOf(file), 'The object in the file')
    const draw = drawOf(estimator, columns, { uniform, normal })
    const rows = draw && Array.from({ length: ROWS }, (_, row) => Array.from(draw(row), (value) => value || 0))
    return rows?.every((row) => row.length === columns && row.every(Number.isFinite)) ? rows : null
  } catch {
    return null
  }
}
