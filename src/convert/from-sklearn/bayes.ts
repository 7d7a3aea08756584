import { type Estimator, type Labels, labelCount } from './estimator.ts'
import { byProbability, type Converter, classesOf } from './result.ts'
import type { TableGraph } from './table.ts'

/** The class of the largest joint log-likelihood, [batch, classes], whose softmax are the probabilities. */
const byLikelihood = (graph: TableGraph, classes: Labels, likelihood: string) => ({
  ...byProbability(graph, classes, graph.softmax(likelihood)),
  index: graph.argMax(likelihood),
})

const logPriors = (estimator: Estimator, count: number): number[] => estimator.vector('class_log_prior_', count)

export const gaussianBayes: Converter = (estimator, x, graph) => {
  const classes = classesOf(estimator)
  const count = labelCount(classes)
  const means = estimator.matrix('theta_', x.columns)
  const variances = estimator.matrix(estimator.has('var_') ? 'var_' : 'sigma_', x.columns)
  if (means.rows !== count || variances.rows !== count) estimator.refuse('theta_ does not have a row for each class.')
  const constants = estimator.vector('class_prior_', count).map((prior, at) => {
    const own = Array.from({ length: x.columns }, (_, k) => Math.log(2 * Math.PI * variances.data[at * x.columns + k]!))
    return Math.log(prior) - 0.5 * own.reduce((sum, value) => sum + value, 0)
  })
  const rows = graph.node('Unsqueeze', [graph.as(x, 'f64'), graph.integers([1])])
  const apart = graph.subtract(rows, graph.matrix(count, x.columns, means.data, 'means'))
  const scaled = graph.divide(graph.multiply(apart, apart), graph.matrix(count, x.columns, variances.data, 'variances'))
  const sums = graph.multiply(graph.sum(scaled, 2, false), graph.scalar(-0.5))
  return byLikelihood(graph, classes, graph.add(sums, graph.vector(constants)))
}

export const multinomialBayes: Converter = (estimator, x, graph) => {
  const classes = classesOf(estimator)
  const count = labelCount(classes)
  const { rows, data } = estimator.matrix('feature_log_prob_', x.columns)
  if (rows !== count) estimator.refuse('feature_log_prob_ does not have a row for each class.')
  const sums = graph.timesTransposed(graph.as(x, 'f64'), count, x.columns, data)
  // Complement naive Bayes uses its priors only where there is a single class.
  const likelihood =
    estimator.type === 'ComplementNB' ? sums : graph.add(sums, graph.vector(logPriors(estimator, count)))
  return byLikelihood(graph, classes, likelihood)
}

export const bernoulliBayes: Converter = (estimator, x, graph) => {
  const classes = classesOf(estimator)
  const count = labelCount(classes)
  const { rows, data } = estimator.matrix('feature_log_prob_', x.columns)
  if (rows !== count) estimator.refuse('feature_log_prob_ does not have a row for each class.')
  const input = graph.as(x, 'f64')
  const isBinary = estimator.has('binarize')
  const ones = isBinary
    ? graph.indicator(graph.node('Greater', [input, graph.scalar(estimator.number('binarize'))]))
    : input
  const absent = Array.from(data, (value) => Math.log(1 - Math.exp(value)))
  const constants = logPriors(estimator, count).map((prior, at) =>
    absent.slice(at * x.columns, (at + 1) * x.columns).reduce((sum, value) => sum + value, prior),
  )
  const weights = Array.from(data, (value, at) => value - absent[at]!)
  const sums = graph.timesTransposed(ones, count, x.columns, weights)
  return byLikelihood(graph, classes, graph.add(sums, graph.vector(constants)))
}
