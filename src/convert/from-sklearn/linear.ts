import { ownEntry } from '../../domain/own-entry.ts'
import type { Estimator } from './estimator.ts'
import { byProbability, byScores, type Converter, classesOf, type ValuesResult, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** X · coefᵀ + intercept: [batch, rows of coef_]. */
export const linearRegressor = (estimator: Estimator, x: Table, graph: TableGraph): ValuesResult => {
  const { rows, data } = estimator.matrix('coef_', x.columns)
  // Partial least squares centers its input.
  const product = graph.timesTransposed(graph.centered(estimator, x, '_x_mean'), rows, x.columns, data)
  return valuesResult(graph.add(product, graph.vector(estimator.vector('intercept_', rows), 'intercept')), rows)
}

/** Generalized linear models with a logarithmic link. */
export const logLinearRegressor: Converter = (estimator, x, graph) => {
  const link = estimator.text('link', 'auto')
  const isLog =
    estimator.type !== 'TweedieRegressor' || link === 'log' || (link === 'auto' && estimator.number('power') > 0)
  const { values, columns } = linearRegressor(estimator, x, graph)
  return valuesResult(isLog ? graph.emit('Exp', [values]) : values, columns)
}

/** One-versus-rest probabilities, normalized; rows that are all zero get equal ones. */
export const normalized = (graph: TableGraph, each: string, classes: number): string => {
  const total = graph.sum(each, 1)
  const none = graph.emit('Equal', [total, graph.scalar(0)])
  const divided = graph.divide(each, graph.emit('Where', [none, graph.scalar(1), total]))
  return graph.emit('Where', [none, graph.scalar(1 / classes), divided])
}

/** 1 / (1 + exp(-x)), accurate down to the smallest numbers, because normalization may scale them up. */
const preciseSigmoid = (graph: TableGraph, x: string): string => {
  const tail = graph.emit('Exp', [graph.emit('Neg', [graph.emit('Abs', [x])])])
  const isNegative = graph.emit('Less', [x, graph.scalar(0)])
  const above = graph.emit('Where', [isNegative, tail, graph.scalar(1)])
  return graph.divide(above, graph.add(tail, graph.scalar(1)))
}

const sigmoids = (graph: TableGraph, scores: string, classes: number): string =>
  classes === 2
    ? graph.twoClasses(graph.emit('Sigmoid', [scores]))
    : normalized(graph, preciseSigmoid(graph, scores), classes)

/** Source: LogisticRegression.predict_proba; before scikit-learn 1.8, `multi_class` decided this. */
const isOneVersusRest = (estimator: Estimator, classes: number): boolean => {
  const requested = estimator.text('multi_class', 'auto')
  const solver = estimator.text('solver', 'lbfgs')
  if (requested === 'ovr' || requested === 'warn') return true
  if (requested === 'multinomial') return false
  return classes === 2 || solver === 'liblinear' || (solver === 'newton-cholesky' && estimator.version() < 1.06)
}

export const logisticRegression: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const scores = linearRegressor(estimator, x, graph).values
  if (isOneVersusRest(estimator, count)) return byScores(graph, classes, scores, sigmoids(graph, scores, count))
  const each = count === 2 ? graph.concat([graph.emit('Neg', [scores]), scores]) : scores
  return byScores(graph, classes, scores, graph.softmax(each))
}

/** Classifiers with a linear `decision_function` and no probabilities. */
export const linearClassifier: Converter = (estimator, x, graph) =>
  byScores(graph, classesOf(estimator).classes, linearRegressor(estimator, x, graph).values, null)

export const sgdClassifier: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const scores = linearRegressor(estimator, x, graph).values
  const loss = estimator.text('loss')
  if (loss === 'log_loss' || loss === 'log') return byScores(graph, classes, scores, sigmoids(graph, scores, count))
  if (loss !== 'modified_huber') return byScores(graph, classes, scores, null)
  const clipped = graph.clipped(scores, -1, 1)
  const each = graph.multiply(graph.add(clipped, graph.scalar(1)), graph.scalar(0.5))
  return byScores(graph, classes, scores, count === 2 ? graph.twoClasses(each) : normalized(graph, each, count))
}

/** Source: LinearDiscriminantAnalysis.transform; the solver "eigen" has no `xbar_`, and "lsqr" has no transformation. */
const discriminants = (estimator: Estimator, x: Table, graph: TableGraph): Table => {
  const { shape, data } = estimator.numbers('scalings_')
  const [rows, all] = [shape[0] ?? 0, shape[1] ?? 0]
  const count = Math.min(all, estimator.number('_max_components'))
  if (rows !== x.columns)
    estimator.refuse(`scalings_ of shape [${shape.join(', ')}] does not fit ${x.columns} columns.`)
  const scalings = Array.from({ length: rows * count }, (_, at) => data[Math.floor(at / count) * all + (at % count)]!)
  const centered = graph.centered(estimator, x, 'xbar_')
  return graph.table(graph.emit('MatMul', [centered, graph.matrix(rows, count, scalings)]), 'f64', count)
}

export const linearDiscriminant: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const scores = linearRegressor(estimator, x, graph).values
  const result = byScores(graph, classes, scores, count === 2 ? sigmoids(graph, scores, 2) : graph.softmax(scores))
  return { ...result, transform: () => discriminants(estimator, x, graph) }
}

const ACTIVATIONS: Readonly<Record<string, (graph: TableGraph, x: string) => string>> = {
  identity: (_, x) => x,
  logistic: (graph, x) => graph.emit('Sigmoid', [x]),
  tanh: (graph, x) => graph.emit('Tanh', [x]),
  relu: (graph, x) => graph.emit('Relu', [x]),
  softmax: (graph, x) => graph.softmax(x),
  exp: (graph, x) => graph.emit('Exp', [x]),
}

export const mlpRegressor = (estimator: Estimator, x: Table, graph: TableGraph): ValuesResult => {
  const coefs = estimator.list('coefs_')
  const intercepts = estimator.list('intercepts_')
  let name = graph.as(x, 'f64')
  let inputs = x.columns
  for (const [at, coef] of coefs.entries()) {
    const { shape, data } = estimator.asNumbers(coef, `coefs_[${at}]`)
    const bias = estimator.asNumbers(intercepts[at] ?? null, `intercepts_[${at}]`)
    const outputs = shape[1] ?? 0
    if (shape[0] !== inputs || bias.data.length !== outputs)
      estimator.refuse(`layer ${at} of shape [${shape.join(', ')}] does not fit ${inputs} inputs.`)
    const product = graph.emit('MatMul', [name, graph.matrix(inputs, outputs, data, 'weights')])
    const activation = estimator.text(at === coefs.length - 1 ? 'out_activation_' : 'activation')
    const activate = ownEntry(ACTIVATIONS, activation)
    if (activate === undefined) estimator.refuse(`the activation '${activation}' cannot be converted.`)
    name = activate(graph, graph.add(product, graph.vector(bias.data, 'intercept')))
    inputs = outputs
  }
  return valuesResult(name, inputs)
}

export const mlpClassifier: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const { values, columns } = mlpRegressor(estimator, x, graph)
  if (columns === count && estimator.text('out_activation_') === 'softmax') return byProbability(graph, classes, values)
  if (columns !== 1 || count !== 2) estimator.refuse('several labels per row cannot be converted.')
  return byProbability(graph, classes, graph.twoClasses(values))
}
