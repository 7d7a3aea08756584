// Estimators based on distances: neighbors, KMeans, nearest centroids.
import { int } from '../onnx/model.ts'
import type { Estimator } from './estimator.ts'
import { byIndex, byProbability, type Converter, classesOf, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/**
 * Up to this many coordinates of points, differences are computed individually, [batch, points, columns]: for few coordinates;
 * if rounding matters; if ties do. More would take much time and memory per batch.
 */
const MAX_FEW = 2000
const MAX_ROUNDED = 20_000
const MAX_TIES = 50_000

const squaredLength = (rows: number, columns: number, data: ArrayLike<number>): Float64Array => {
  const sums = new Float64Array(rows)
  for (let at = 0; at < rows * columns; at++) sums[Math.floor(at / columns)]! += data[at]! ** 2
  return sums
}

/** Columns whose mean is more than this many times their spread are centered. */
const FAR = 16

/**
 * The columns' means, rounded to float32; 0 for columns near the origin with `onlyFar`. Far from the origin, float32 is not
 * precise enough for differences between points.
 */
const centerOf = (points: number, columns: number, data: ArrayLike<number>, onlyFar: boolean): Float32Array => {
  const means = new Float64Array(columns)
  for (let at = 0; at < points * columns; at++) means[at % columns]! += data[at]! / points
  const spread = new Float64Array(columns)
  for (let at = 0; at < points * columns; at++)
    spread[at % columns] = Math.max(spread[at % columns]!, Math.abs(data[at]! - means[at % columns]!))
  return Float32Array.from(means, (mean, at) => (onlyFar && Math.abs(mean) <= FAR * spread[at]! ? 0 : mean))
}

const movedBy = (center: Float32Array, data: ArrayLike<number>): Float64Array =>
  Float64Array.from(data, (value, at) => value - center[at % center.length]!)

/** Differences to constant points, [batch, points, columns]. */
const differences = (
  graph: TableGraph,
  x: string,
  columns: number,
  points: number,
  data: ArrayLike<number>,
  onlyFar = true,
): string => {
  const center = centerOf(points, columns, data, onlyFar)
  const isMoved = center.some((value) => value !== 0)
  const input = isMoved ? graph.subtract(x, graph.vector(center, 'center')) : x
  const row = graph.unsqueeze(input, [1])
  return graph.subtract(row, graph.matrix(points, columns, isMoved ? movedBy(center, data) : data, 'points'))
}

interface DistanceOptions {
  /** True if points at the same distance must stay so; they are in any order if distances are rounded. */
  readonly ties?: boolean
  /** How much a distance changes the result, which should be right to about 1e-4. */
  readonly weight?: number
  /** The divisors of differences in each column. */
  readonly scales?: readonly number[]
}

/**
 * In float32, rounding |x|² - 2x·p + |p|² changes it by about 2^-22 of the largest |p|² (relative to the points' mean). If that
 * changes the result by more than half of the 1e-4 to which results are validated, differences are computed individually.
 */
const MAX_ERROR = 5e-5
const ROUNDING = 2 ** -22

const isIndividual = (coordinates: number, lengths: Float64Array, { ties, weight = 0 }: DistanceOptions): boolean => {
  if (ties) return coordinates <= MAX_TIES
  const error = weight * ROUNDING * lengths.reduce((most, length) => Math.max(most, length), 0)
  return coordinates <= (error > MAX_ERROR ? MAX_ROUNDED : MAX_FEW)
}

/**
 * Squared Euclidean distances to constant points, [batch, points]: |x|² - 2x·p + |p|² around the points' mean, never below 0;
 * the sums of squared differences if the points are few or need it.
 */
export const squaredDistances = (
  graph: TableGraph,
  x: string,
  columns: number,
  points: number,
  data: ArrayLike<number>,
  options: DistanceOptions = {},
): string => {
  const { scales } = options
  const scaled = (value: string) => (scales === undefined ? value : graph.divide(value, graph.vector(scales, 'scales')))
  const center = centerOf(points, columns, data, false)
  const moved = movedBy(center, data).map((value, at) => value / (scales?.[at % columns] ?? 1))
  const lengths = squaredLength(points, columns, moved)
  if (isIndividual(points * columns, lengths, options)) {
    const apart = scaled(differences(graph, x, columns, points, data, options.ties === true))
    return graph.sum(graph.multiply(apart, apart), 2, false)
  }
  const input = scaled(graph.subtract(x, graph.vector(center, 'center')))
  const own = graph.sum(graph.multiply(input, input), 1)
  const doubled = moved.map((value) => -2 * value)
  const mixed = graph.timesTransposed(input, points, columns, doubled)
  const sum = graph.add(graph.add(mixed, graph.vector(lengths)), own)
  return graph.emit('Max', [sum, graph.scalar(0)])
}

const distancesTo = (estimator: Estimator, x: Table, graph: TableGraph): { distances: string; points: number } => {
  const { rows: points, data } = estimator.matrix('_fit_X', x.columns)
  const metric = estimator.text('effective_metric_')
  const name = graph.as(x, 'f64')
  if (metric === 'euclidean' || metric === 'sqeuclidean') {
    const squared = squaredDistances(graph, name, x.columns, points, data, { ties: true })
    return { distances: metric === 'euclidean' ? graph.emit('Sqrt', [squared]) : squared, points }
  }
  const apart = () => graph.emit('Abs', [differences(graph, name, x.columns, points, data)])
  if (metric === 'manhattan') return { distances: graph.sum(apart(), 2, false), points }
  if (metric === 'chebyshev')
    return { distances: graph.emit('ReduceMax', [apart(), graph.integers([2])], { keepdims: int(0) }), points }
  if (metric === 'minkowski') {
    const params = estimator.get('effective_metric_params_')
    const p = Number(params instanceof Map && (params.get('w') ?? null) === null ? params.get('p') : Number.NaN)
    if (!(p > 0)) estimator.refuse('weights of the metric minkowski cannot be converted.')
    const powers = graph.sum(graph.emit('Pow', [apart(), graph.scalar(p)]), 2, false)
    return { distances: graph.emit('Pow', [powers, graph.scalar(1 / p)]), points }
  }
  if (metric === 'cosine') {
    const lengths = Array.from(squaredLength(points, x.columns, data), (value) => Math.sqrt(value) || 1)
    const unit = Float64Array.from(data, (value, at) => value / lengths[Math.floor(at / x.columns)]!)
    const length = graph.emit('Sqrt', [graph.sum(graph.multiply(name, name), 1)])
    const product = graph.timesTransposed(graph.divide(name, graph.nonzero(length)), points, x.columns, unit)
    return { distances: graph.subtract(graph.scalar(1), product), points }
  }
  return estimator.refuse(
    `the metric '${metric}' cannot be converted; euclidean, manhattan, chebyshev, minkowski, and cosine can.`,
  )
}

/** The rows of `values` for the nearest points, [batch, neighbors, width], and their weights, [batch, neighbors, 1]. */
const neighbors = (
  estimator: Estimator,
  x: Table,
  graph: TableGraph,
  width: number,
  valuesOf: (points: number) => ArrayLike<number>,
) => {
  const { distances, points } = distancesTo(estimator, x, graph)
  const count = estimator.number('n_neighbors')
  if (!(count >= 1 && count <= points)) estimator.refuse(`n_neighbors is ${count}, but it has ${points} points.`)
  // onnxruntime 1.30 divides by the number of rows where TopK is along the last axis, and ends the process if there are none.
  const turned = (name: string) => graph.transpose(name, [1, 0])
  const found = graph.builder.nodes('TopK', [turned(distances), graph.integers([count])], ['nearest', 'index'], {
    largest: int(0),
    axis: int(0),
  })
  const [nearest, index] = found.map(turned)
  estimator.spend(points * width)
  const values = graph.matrix(points, width, valuesOf(points), 'targets')
  const own = graph.emit('Gather', [values, index!], { axis: int(0) })
  const kind = estimator.get('weights') ?? 'uniform'
  if (kind !== 'uniform' && kind !== 'distance') estimator.refuse('a function for weights cannot be converted.')
  if (kind === 'uniform') return { sum: graph.sum(own, 1, false), total: graph.scalar(count) }
  // If some points are at distance zero, only they count.
  const isSame = graph.emit('Equal', [nearest!, graph.scalar(0)])
  const same = graph.indicator(isSame)
  const hasSame = graph.over(graph.sum(same, 1), 0)
  const inverse = graph.divide(graph.scalar(1), graph.emit('Where', [isSame, graph.scalar(1), nearest!]))
  const weights = graph.emit('Where', [hasSame, same, inverse])
  const column = graph.unsqueeze(weights, [2])
  return { sum: graph.sum(graph.multiply(own, column), 1, false), total: graph.sum(weights, 1) }
}

export const neighborsClassifier: Converter = (estimator, x, graph) => {
  const { classes, count: width } = classesOf(estimator)
  const { sum, total } = neighbors(estimator, x, graph, width, (points) => {
    const labels = estimator.vector('_y', points)
    return Float64Array.from({ length: points * width }, (_, at) =>
      Number(labels[Math.floor(at / width)] === at % width),
    )
  })
  return byProbability(graph, classes, graph.divide(sum, total))
}

export const neighborsRegressor: Converter = (estimator, x, graph) => {
  const { shape } = estimator.numbers('_y')
  const width = shape[1] ?? 1
  const { sum, total } = neighbors(estimator, x, graph, width, (points) => {
    const { data } = estimator.matrix('_y', width)
    return data.length === points * width ? data : estimator.refuse('_y does not have a row for each point.')
  })
  return valuesResult(graph.divide(sum, total), width)
}

/** The nearest center as `label` and the distances as `scores`. */
export const kMeans: Converter = (estimator, x, graph) => {
  const { rows, data } = estimator.matrix('cluster_centers_', x.columns)
  const squared = squaredDistances(graph, graph.as(x, 'f64'), x.columns, rows, data)
  const distances = graph.emit('Sqrt', [squared])
  const index = graph.argMax(graph.emit('Neg', [squared]))
  const classes = { numbers: [...Array(rows).keys()] }
  return { ...byIndex(classes, index, distances, rows), transform: () => graph.table(distances, 'f64', rows) }
}

/** Source: NearestCentroid.predict, predict_proba since scikit-learn 1.6. */
export const nearestCentroid: Converter = (estimator, x, graph) => {
  const { classes } = classesOf(estimator)
  const { rows, data } = estimator.matrix('centroids_', x.columns)
  if (estimator.text('metric') !== 'euclidean') estimator.refuse('only metric="euclidean" can be converted.')
  const input = graph.as(x, 'f64')
  const distances = squaredDistances(graph, input, x.columns, rows, data)
  const index = graph.argMax(graph.emit('Neg', [distances]))
  if (!estimator.has('class_prior_')) return byIndex(classes, index)
  const priors = estimator.vector('class_prior_', rows)
  const deviations = estimator.vector('within_class_std_dev_', x.columns).map((value) => value || 1)
  const apart = squaredDistances(graph, input, x.columns, rows, data, { scales: deviations })
  const scores = graph.subtract(graph.vector(priors.map((prior) => 2 * Math.log(prior))), apart)
  const result = byProbability(graph, classes, graph.softmax(scores))
  return priors.every((prior) => Math.abs(prior * rows - 1) < 1e-5 * rows) ? { ...result, index } : result
}
