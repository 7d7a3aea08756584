import { ownEntry } from '../../domain/own-entry.ts'
import { int } from '../onnx/model.ts'
import type { Estimator, Labels } from './estimator.ts'
import { byProbability, type Converter, classesOf } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** The class with the largest joint log-likelihood, [batch, classes], whose softmax gives the probabilities. */
const byLikelihood = (graph: TableGraph, classes: Labels, likelihood: string) => ({
  ...byProbability(graph, classes, graph.softmax(likelihood)),
  index: graph.argMax(likelihood),
})

const logPriors = (estimator: Estimator, count: number): number[] => estimator.vector('class_log_prior_', count)

const sumOfLogs = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + Math.log(value), 0)

const rowOf = (data: ArrayLike<number>, row: number, columns: number): number[] =>
  Array.from({ length: columns }, (_, at) => data[row * columns + at]!)

export const gaussianBayes: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const means = estimator.matrix('theta_', x.columns)
  const variances = estimator.matrix(estimator.has('var_') ? 'var_' : 'sigma_', x.columns)
  if (means.rows !== count || variances.rows !== count) estimator.refuse('theta_ does not have a row for each class.')
  const constants = estimator.vector('class_prior_', count).map((prior, at) => {
    const own = rowOf(variances.data, at, x.columns).map((variance) => 2 * Math.PI * variance)
    return Math.log(prior) - 0.5 * sumOfLogs(own)
  })
  const rows = graph.unsqueeze(graph.as(x, 'f64'), [1])
  const apart = graph.subtract(rows, graph.matrix(count, x.columns, means.data, 'means'))
  const scaled = graph.divide(graph.multiply(apart, apart), graph.matrix(count, x.columns, variances.data, 'variances'))
  const sums = graph.multiply(graph.sum(scaled, 2, false), graph.scalar(-0.5))
  return byLikelihood(graph, classes, graph.add(sums, graph.vector(constants)))
}

/** The log-probabilities of the columns in each class: [classes, columns]. */
const logProbabilities = (estimator: Estimator, x: Table, count: number): ArrayLike<number> => {
  const { rows, data } = estimator.matrix('feature_log_prob_', x.columns)
  return rows === count ? data : estimator.refuse('feature_log_prob_ does not have a row for each class.')
}

export const multinomialBayes: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const data = logProbabilities(estimator, x, count)
  const sums = graph.timesTransposed(graph.as(x, 'f64'), count, x.columns, data)
  // Complement naive Bayes uses its priors only if there is a single class.
  const likelihood =
    estimator.type === 'ComplementNB' ? sums : graph.add(sums, graph.vector(logPriors(estimator, count)))
  return byLikelihood(graph, classes, likelihood)
}

export const bernoulliBayes: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const data = logProbabilities(estimator, x, count)
  const input = graph.as(x, 'f64')
  const ones = estimator.has('binarize') ? graph.indicator(graph.over(input, estimator.number('binarize'))) : input
  const absent = Array.from(data, (value) => Math.log(1 - Math.exp(value)))
  const constants = logPriors(estimator, count).map((prior, at) =>
    rowOf(absent, at, x.columns).reduce((sum, value) => sum + value, prior),
  )
  const weights = Array.from(data, (value, at) => value - absent[at]!)
  const sums = graph.timesTransposed(ones, count, x.columns, weights)
  return byLikelihood(graph, classes, graph.add(sums, graph.vector(constants)))
}

/** Each feature, an integer category, adds to the log-likelihood of each class. */
export const categoricalBayes: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const codes = graph.castTo(graph.as(x, 'f64'), 'i64')
  const terms = estimator.list('feature_log_prob_').map((item, column) => {
    const { shape, data } = estimator.asNumbers(item, 'feature_log_prob_')
    const width = shape[1] ?? 0
    if (shape[0] !== count) estimator.refuse('feature_log_prob_ does not have a row for each class.')
    const rows = Array.from({ length: width * count }, (_, at) => data[(at % count) * width + Math.floor(at / count)]!)
    const table = graph.matrix(width, count, rows, 'likelihoods')
    return graph.emit('Gather', [table, graph.flat(graph.gather(codes, [column]))], { axis: int(0) })
  })
  const start = graph.vector(logPriors(estimator, count))
  return byLikelihood(graph, classes, terms.reduce(graph.add, start))
}

/** log N(x; mean, Σ) + constant for each class, where Σ⁻¹ = W · Wᵀ and W is [columns, rank]. */
const likelihoods = (
  graph: TableGraph,
  x: Table,
  parts: readonly { mean: ArrayLike<number>; whitening: ArrayLike<number>; constant: number }[],
): string => {
  const input = graph.as(x, 'f64')
  const squares = parts.map(({ mean, whitening }) => {
    const matrix = graph.matrix(x.columns, whitening.length / x.columns, whitening, 'whitening')
    const own = graph.emit('MatMul', [graph.subtract(input, graph.vector(mean, 'mean')), matrix])
    return graph.sum(graph.multiply(own, own), 1)
  })
  const scaled = graph.multiply(graph.concat(squares), graph.scalar(-0.5))
  return graph.add(scaled, graph.vector(parts.map(({ constant }) => constant)))
}

/** Source: QuadraticDiscriminantAnalysis._decision_function. */
export const quadraticDiscriminant: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const means = estimator.matrix('means_', x.columns).data
  const priors = estimator.vector('priors_', count)
  const [rotations, scalings] = [estimator.list('rotations_'), estimator.list('scalings_')]
  const parts = priors.map((prior, at) => {
    const scales = estimator.asNumbers(scalings[at] ?? null, 'scalings_').data
    const { data } = estimator.asNumbers(rotations[at] ?? null, 'rotations_')
    if (data.length !== x.columns * scales.length) estimator.refuse(`rotations_[${at}] does not fit its scalings.`)
    const whitening = Float64Array.from(data, (value, cell) => value / Math.sqrt(scales[cell % scales.length]!))
    return { mean: rowOf(means, at, x.columns), whitening, constant: Math.log(prior) - 0.5 * sumOfLogs(scales) }
  })
  return byLikelihood(graph, classes, likelihoods(graph, x, parts))
}

/** The most likely component as `label`. Source: sklearn/mixture/_gaussian_mixture.py. */
export const gaussianMixture: Converter = (estimator, x, graph) => {
  const d = x.columns
  const { rows, data: means } = estimator.matrix('means_', d)
  const weights = estimator.vector('weights_', rows)
  const { data } = estimator.numbers('precisions_cholesky_')
  const sizes: Record<string, number> = { full: rows * d * d, tied: d * d, diag: rows * d, spherical: rows }
  const kind = estimator.text('covariance_type')
  if (data.length !== ownEntry(sizes, kind)) estimator.refuse('precisions_cholesky_ does not fit its covariance_type.')
  const isDense = kind === 'full' || kind === 'tied'
  estimator.spend(rows * d * d)
  const parts = weights.map((weight, at) => {
    const own = Array.from(data)
      .slice(kind === 'tied' ? 0 : (at * data.length) / rows)
      .slice(0, isDense ? d * d : d)
    const diagonal = Array.from({ length: d }, (_, k) => own[isDense ? k * (d + 1) : kind === 'diag' ? k : 0]!)
    const whitening = isDense
      ? own
      : Array.from({ length: d * d }, (_, k) => (k % (d + 1) === 0 ? diagonal[k % d]! : 0))
    return { mean: rowOf(means, at, d), whitening, constant: Math.log(weight) + sumOfLogs(diagonal) }
  })
  return byLikelihood(graph, { numbers: [...weights.keys()] }, likelihoods(graph, x, parts))
}
