import { graphBuilder } from '../onnx/graph-builder.ts'
import { int } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'
import { squaredDistances } from './distances.ts'
import type { Estimator } from './estimator.ts'
import { byIndex, byScores, type Converter, classesOf, inliers, valuesResult } from './result.ts'
import { type Table, TableGraph } from './table.ts'

/** The kernel values of rows and support vectors, [batch, vectors]. Source: libsvm, Kernel::k_function. */
const kernel = (estimator: Estimator, x: Table, graph: TableGraph): { name: string; vectors: number } => {
  const { rows: vectors, data } = estimator.matrix('support_vectors_', x.columns)
  const input = graph.as(x, 'f64')
  const factor = estimator.number('_gamma')
  const gamma = graph.scalar(factor)
  const product = () => graph.timesTransposed(input, vectors, x.columns, data)
  const affine = () => graph.add(graph.multiply(product(), gamma), graph.scalar(estimator.number('coef0')))
  switch (estimator.text('kernel')) {
    case 'linear':
      return { name: product(), vectors }
    case 'poly':
      return { name: graph.emit('Pow', [affine(), graph.scalar(estimator.number('degree'))]), vectors }
    case 'sigmoid':
      return { name: graph.emit('Tanh', [affine()]), vectors }
    case 'rbf': {
      // The error of a weighted sum of exponentials, for independent errors of the distances.
      const coefficients = Array.from(estimator.numbers('_dual_coef_').data)
      const weight = factor * Math.max(1, Math.sqrt(coefficients.reduce((sum, value) => sum + value ** 2, 0)))
      const squared = squaredDistances(graph, input, x.columns, vectors, data, { weight })
      return { name: graph.emit('Exp', [graph.emit('Neg', [graph.multiply(squared, gamma)])]), vectors }
    }
    default:
      return estimator.refuse(
        `the kernel '${estimator.text('kernel')}' cannot be converted; linear, poly, rbf, and sigmoid can.`,
      )
  }
}

/** One decision, [batch, 1]. */
const decision = (estimator: Estimator, x: Table, graph: TableGraph): string => {
  const { name, vectors } = kernel(estimator, x, graph)
  const { data } = estimator.matrix('_dual_coef_', vectors)
  const sum = graph.timesTransposed(name, 1, vectors, data)
  return graph.add(sum, graph.scalar(estimator.number('_intercept_')))
}

export const supportVectorRegressor: Converter = (estimator, x, graph) => valuesResult(decision(estimator, x, graph), 1)

export const oneClassSvm: Converter = (estimator, x, graph) => inliers(graph, decision(estimator, x, graph), 'Greater')

/** Pairs of classes (i, j), i < j, in libsvm's order. */
export const pairsOf = (classes: number): [number, number][] =>
  Array.from({ length: classes }, (_, i) => i).flatMap((i) =>
    Array.from({ length: classes - 1 - i }, (_, k): [number, number] => [i, i + 1 + k]),
  )

/** The decision of each pair, [batch, pairs]: positive for the first class. Source: libsvm, svm_predict_values. */
const pairDecisions = (estimator: Estimator, x: Table, graph: TableGraph, classes: number): string => {
  const { name, vectors } = kernel(estimator, x, graph)
  const { data } = estimator.matrix('_dual_coef_', vectors)
  const counts = estimator.vector('_n_support', classes)
  const pairs = pairsOf(classes)
  if (data.length !== (classes - 1) * vectors || counts.reduce((sum, count) => sum + count, 0) !== vectors)
    estimator.refuse(`its coefficients do not fit ${vectors} support vectors of ${classes} classes.`)
  const owner = counts.flatMap((count, own) => Array<number>(count).fill(own))
  estimator.spend(pairs.length * vectors)
  const rows = pairs.flatMap(([i, j]) =>
    owner.map((own, at) => (own === i ? data[(j - 1) * vectors + at]! : own === j ? data[i * vectors + at]! : 0)),
  )
  const sum = graph.timesTransposed(name, pairs.length, vectors, rows)
  return graph.add(sum, graph.vector(estimator.vector('_intercept_', pairs.length)))
}

/** Multiplies by a matrix [pairs, columns] with the value of `entry` for each element. */
const timesPairs = (
  graph: TableGraph,
  x: string,
  classes: number,
  entry: (pair: readonly [number, number], column: number) => number,
  columns = classes,
): string => {
  const pairs = pairsOf(classes)
  const values = pairs.flatMap((pair) => Array.from({ length: columns }, (_, column) => entry(pair, column)))
  return graph.emit('MatMul', [x, graph.matrix(pairs.length, columns, values, 'pairs')])
}

/** The votes for each class, [batch, classes]; `first` is 1 where a pair votes for its first class. */
export const votesOf = (graph: TableGraph, first: string, classes: number): string => {
  const second = graph.subtract(graph.scalar(1), first)
  const forFirst = timesPairs(graph, first, classes, ([i], own) => Number(own === i))
  return graph.add(
    forFirst,
    timesPairs(graph, second, classes, ([, j], own) => Number(own === j)),
  )
}

/** Votes with ties broken by the sums of decisions. Source: sklearn.utils.multiclass._ovr_decision_function. */
export const pairScores = (graph: TableGraph, decisions: string, votes: string, classes: number): string => {
  const sums = timesPairs(graph, decisions, classes, ([i, j], own) => Number(own === i) - Number(own === j))
  const scale = graph.multiply(graph.add(graph.emit('Abs', [sums]), graph.scalar(1)), graph.scalar(3))
  return graph.add(votes, graph.divide(sums, scale))
}

/** One iteration that couples the pairwise probabilities, as a loop body. */
const couplingStep = (classes: number, q: string, rowsOfQ: readonly string[], diagonal: readonly string[]) => {
  const body = graphBuilder('coupling')
  const graph = new TableGraph(body, 'loop_')
  body.input('loop_round', 'i64', [])
  body.input('loop_before', 'bool', [])
  const p = body.input('loop_p', 'f64', ['batch', classes])
  let product = graph.sum(graph.multiply(q, graph.unsqueeze(p, [1])), 2, false)
  let total = graph.sum(graph.multiply(p, product), 1)
  const apart = graph.emit('Abs', [graph.subtract(product, total)])
  const error = graph.emit('ReduceMax', [apart, graph.integers([1])], { keepdims: int(1) })
  const goesOn = graph.emit('GreaterOrEqual', [error, graph.scalar(0.005 / classes)])
  let next = p
  for (let t = 0; t < classes; t++) {
    const own = graph.gather(product, [t])
    const step = graph.divide(graph.subtract(total, own), diagonal[t]!)
    const grown = graph.add(step, graph.scalar(1))
    const change = graph.multiply(step, graph.add(graph.multiply(step, diagonal[t]!), graph.add(own, own)))
    total = graph.divide(graph.divide(graph.add(total, change), grown), grown)
    product = graph.divide(graph.add(product, graph.multiply(step, rowsOfQ[t]!)), grown)
    const unit = Array.from({ length: classes }, (_, at) => Number(at === t))
    next = graph.divide(graph.add(next, graph.multiply(step, graph.vector(unit, 'loop_unit'))), grown)
  }
  const flags = graph.flat(graph.castTo(goesOn, 'i64'))
  const any = graph.emit('ReduceMax', [flags, graph.integers([0])], { keepdims: int(0) })
  body.output('loop_goes_on', graph.castTo(any, 'bool'), 'bool', [])
  body.output('loop_next', graph.emit('Where', [goesOn, next, p]), 'f64', ['batch', classes])
  return body.build().graph
}

/**
 * Class probabilities from pairwise ones, by libsvm's iteration, which stops before it has converged. Source: libsvm,
 * multiclass_probability (Wu, Lin and Weng, 2004).
 */
const coupled = (graph: TableGraph, pairs: string, classes: number): string => {
  const cells = classes ** 2
  const upper = timesPairs(graph, pairs, classes, ([i, j], cell) => Number(cell === i * classes + j), cells)
  const others = graph.subtract(graph.scalar(1), pairs)
  const lower = timesPairs(graph, others, classes, ([i, j], cell) => Number(cell === j * classes + i), cells)
  const shape = graph.integers([-1, classes, classes])
  const r = graph.emit('Reshape', [graph.add(upper, lower), shape])
  const transposed = graph.transpose(r, [0, 2, 1])
  const sums = graph.sum(graph.multiply(r, r), 1)
  const identity = Array.from({ length: cells }, (_, at) => Number(at % (classes + 1) === 0))
  const diagonal = graph.multiply(sums, graph.matrix(classes, classes, identity, 'identity'))
  const q = graph.subtract(diagonal, graph.multiply(r, transposed))
  const rows = Array.from({ length: classes }, (_, t) => graph.reshape(graph.gather(q, [t]), [-1, classes]))
  const own = rows.map((row, t) => graph.gather(row, [t]))
  const start = graph.add(graph.multiply(rows[0]!, graph.scalar(0)), graph.scalar(1 / classes))
  const rounds = graph.builder.constant('rounds', scalarOf('i64', Math.max(100, classes)))
  const begin = graph.builder.constant('begin', tensorOf('bool', [], [1]))
  return graph.emit('Loop', [rounds, begin, start], {
    body: { kind: 'graph', value: couplingStep(classes, q, rows, own) },
  })
}

const probabilitiesOf = (
  estimator: Estimator,
  graph: TableGraph,
  decisions: string,
  classes: number,
): string | null => {
  const pairs = pairsOf(classes).length
  if (!estimator.has('_probA') || estimator.numbers('_probA').data.length !== pairs) return null
  const scaled = graph.multiply(decisions, graph.vector(estimator.vector('_probA', pairs)))
  const exponent = graph.add(scaled, graph.vector(estimator.vector('_probB', pairs)))
  const each = graph.emit('Sigmoid', [graph.emit('Neg', [exponent])])
  const inside = graph.clipped(each, 1e-7, 1 - 1e-7)
  return coupled(graph, inside, classes)
}

export const supportVectorClassifier: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  if (count > 50) estimator.refuse('more than 50 classes cannot be converted.')
  const decisions = pairDecisions(estimator, x, graph, count)
  const probabilities = probabilitiesOf(estimator, graph, decisions, count)
  if (count === 2) return byScores(graph, classes, graph.emit('Neg', [decisions]), probabilities)
  const first = graph.indicator(graph.over(decisions, 0))
  const votes = votesOf(graph, first, count)
  const scores = pairScores(graph, decisions, votes, count)
  const isOvo = estimator.text('decision_function_shape', 'ovr') === 'ovo'
  const index = graph.argMax(estimator.flag('break_ties') && !isOvo ? scores : votes)
  const result = isOvo
    ? byIndex(classes, index, decisions, pairsOf(count).length)
    : byIndex(classes, index, scores, count)
  return { ...result, probabilities }
}
