// Classifiers and regressors that contain other estimators.

import { columnsOf, stepsOf } from './compose.ts'
import { isotonic } from './curves.ts'
import { type Estimator, type Labels, labelCount } from './estimator.ts'
import { normalized } from './linear.ts'
import { applied } from './preprocessing.ts'
import type { ClassesResult, Converter, Result } from './result.ts'
import { byIndex, byProbability, byScores, classesOf, valuesResult, votes } from './result.ts'
import { pairScores, pairsOf, votesOf } from './svm.ts'
import type { Table, TableGraph } from './table.ts'

/** The weighted mean; without weights, the mean. */
const weighted = (graph: TableGraph, parts: readonly string[], weights = parts.map(() => 1)): string => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return parts
    .map((part, at) => graph.multiply(part, graph.scalar(weights[at]! / total)))
    .reduce((sum, part) => graph.add(sum, part))
}

/** The weights of the fitted members: the parameter has them for dropped ones too. */
const weightsOf = (estimator: Estimator, count: number): number[] | undefined => {
  if (!estimator.has('weights')) return undefined
  const members = stepsOf(estimator, 'estimators')
  const weights = estimator.vector('weights', members.length).filter((_, at) => members[at]!.value !== 'drop')
  return weights.length === count
    ? weights
    : estimator.refuse(`it has ${weights.length} weights, but ${count} fitted estimators. Save it again.`)
}

const classResult = (estimator: Estimator, result: Result): ClassesResult =>
  result.kind === 'classes' ? result : estimator.refuse('it consists of something that is not a classifier.')

const requireProbabilities = (estimator: Estimator, result: ClassesResult, classes: Labels): string =>
  result.probabilities !== null && labelCount(result.classes) === labelCount(classes)
    ? result.probabilities
    : estimator.refuse('it needs the probabilities of all classes from each of its classifiers.')

/** Converts the members of a voting classifier or of a combination of binary classifiers. */
const classifiers = (estimator: Estimator, x: Table, graph: TableGraph, convert: Converter): ClassesResult[] =>
  estimator.estimators('estimators_').map((member) => classResult(estimator, convert(member, x, graph, convert)))

export const votingClassifier: Converter = (estimator, x, graph, convert) => {
  const { classes, count } = classesOf(estimator)
  const results = classifiers(estimator, x, graph, convert)
  const weights = weightsOf(estimator, results.length)
  if (estimator.text('voting') === 'soft') {
    const each = results.map((result) => requireProbabilities(estimator, result, classes))
    return byProbability(graph, classes, weighted(graph, each, weights))
  }
  // The members were fitted to class indices.
  const each = results.map(({ index }) => votes(graph, index, count))
  return byIndex(classes, graph.argMax(weighted(graph, each, weights)))
}

const valuesOf = (estimator: Estimator, result: Result): string =>
  result.kind === 'values' && result.columns === 1
    ? result.values
    : estimator.refuse('it consists of something that is not a regressor of one value.')

/** Converts members that are regressors of one value. */
const regressors = (estimator: Estimator, x: Table, graph: TableGraph, convert: Converter): string[] =>
  estimator.estimators('estimators_').map((member) => valuesOf(estimator, convert(member, x, graph, convert)))

export const votingRegressor: Converter = (estimator, x, graph, convert) => {
  const values = regressors(estimator, x, graph, convert)
  return valuesResult(weighted(graph, values, weightsOf(estimator, values.length)), 1)
}

/** Converts the members of a bagging estimator, each with its own columns. */
const bagged = (estimator: Estimator, x: Table, graph: TableGraph, convert: Converter): Result[] => {
  const subsets = estimator.list('estimators_features_')
  return estimator.estimators('estimators_').map((member, at) => {
    const own = columnsOf(estimator, subsets[at] ?? null, x.columns)
    return convert(member, graph.select(x, own), graph, convert)
  })
}

export const baggingClassifier: Converter = (estimator, x, graph, convert) => {
  const { classes, count } = classesOf(estimator)
  const each = bagged(estimator, x, graph, convert).map((result) => {
    const own = classResult(estimator, result)
    const isVoting = own.probabilities === null && labelCount(own.classes) === count
    return isVoting ? votes(graph, own.index, count) : requireProbabilities(estimator, own, classes)
  })
  return byProbability(graph, classes, weighted(graph, each))
}

export const baggingRegressor: Converter = (estimator, x, graph, convert) => {
  const each = bagged(estimator, x, graph, convert).map((result) => valuesOf(estimator, result))
  return valuesResult(weighted(graph, each), 1)
}

/** The mean of calibrated classifiers. Source: sklearn/calibration.py, _CalibratedClassifier. */
export const calibratedClassifier: Converter = (estimator, x, graph, convert) => {
  const { classes, count } = classesOf(estimator)
  const each = estimator.estimators('calibrated_classifiers_').map((member) => {
    const inner = member.estimator(member.has('estimator') ? 'estimator' : 'base_estimator')
    const result = classResult(estimator, convert(inner, x, graph, convert))
    const probabilities = () => requireProbabilities(estimator, result, classes)
    const columns = result.scores ?? (count === 2 ? graph.gather(probabilities(), [1]) : probabilities())
    const calibrators = member.estimators('calibrators')
    const known = ['_SigmoidCalibration', 'IsotonicRegression']
    if (!calibrators.every(({ type }) => known.includes(type)) || calibrators.length !== (count === 2 ? 1 : count))
      member.refuse('only method="sigmoid" and "isotonic" with all classes in each fold can be converted.')
    const calibrated = graph.concat(
      calibrators.map((calibrator, at) => {
        const own = count === 2 ? columns : graph.gather(columns, [at])
        if (calibrator.type === 'IsotonicRegression') return isotonic(calibrator, own, graph)
        const scaled = graph.multiply(own, graph.scalar(-calibrator.number('a_')))
        return graph.emit('Sigmoid', [graph.subtract(scaled, graph.scalar(calibrator.number('b_')))])
      }),
    )
    return count === 2 ? graph.twoClasses(calibrated) : normalized(graph, calibrated, count)
  })
  return byProbability(graph, classes, weighted(graph, each))
}

/** The score of the second class, or its probability: [batch, 1]. */
const scoreOf = (estimator: Estimator, { scores, probabilities }: ClassesResult, graph: TableGraph): string =>
  scores ?? graph.gather(probabilities ?? estimator.refuse('a member has no scores.'), [1])

export const oneVersusRest: Converter = (estimator, x, graph, convert) => {
  const { classes, count } = classesOf(estimator)
  const results = classifiers(estimator, x, graph, convert)
  if (count !== Math.max(2, results.length)) estimator.refuse('several labels per row cannot be converted.')
  const scores = graph.concat(results.map((result) => scoreOf(estimator, result, graph)))
  if (results.some(({ probabilities }) => probabilities === null)) return byScores(graph, classes, scores, null)
  const each = graph.concat(results.map(({ probabilities }) => graph.gather(probabilities!, [1])))
  if (results.length === 1) return byProbability(graph, classes, graph.twoClasses(each))
  return {
    ...byProbability(graph, classes, graph.divide(each, graph.sum(each, 1))),
    index: graph.argMax(scores),
  }
}

/** One classifier for each pair of classes; votes and scores are summed. Source: OneVsOneClassifier. */
export const oneVersusOne: Converter = (estimator, x, graph, convert) => {
  const { classes, count } = classesOf(estimator)
  if (estimator.has('pairwise_indices_')) estimator.refuse('precomputed kernels cannot be converted.')
  if (estimator.estimators('estimators_').length !== pairsOf(count).length)
    estimator.refuse('it does not have a classifier for each pair of classes.')
  const results = classifiers(estimator, x, graph, convert)
  const decisions = results.map((result) => graph.emit('Neg', [scoreOf(estimator, result, graph)]))
  const first = results.map(({ index }) => graph.gather(votes(graph, index, 2), [0]))
  const wins = votesOf(graph, graph.concat(first), count)
  const scores = pairScores(graph, graph.concat(decisions), wins, count)
  if (count > 2) return byScores(graph, classes, scores, null)
  // Two classes have the second one's score, which has the vote in it.
  const second = graph.gather(scores, [1])
  return byIndex(classes, results[0]!.index, second, 1)
}

/** The predictions of a stack's members as columns. Source: sklearn/ensemble/_stacking.py, _concatenate_predictions. */
const stacked = (estimator: Estimator, x: Table, graph: TableGraph, convert: Converter): Result => {
  const methods = estimator.list('stack_method_')
  const parts = estimator.estimators('estimators_').map((member, at): Table => {
    const result = convert(member, x, graph, convert)
    if (result.kind === 'values') return graph.table(result.values, 'f64', result.columns)
    const { probabilities, scores, scoreColumns, index, classes } = classResult(estimator, result)
    const count = labelCount(classes)
    if (methods[at] === 'predict_proba' && probabilities !== null)
      return count === 2
        ? graph.table(graph.gather(probabilities, [1]), 'f64', 1)
        : graph.table(probabilities, 'f64', count)
    if (methods[at] === 'decision_function' && scores !== null) return graph.table(scores, 'f64', scoreColumns)
    if (methods[at] !== 'predict')
      return estimator.refuse(`stack_method ${methods[at]} of ${member.type} cannot be converted.`)
    return graph.table(graph.reshape(graph.castTo(index, 'f64'), [-1, 1]), 'f64', 1)
  })
  if (estimator.flag('passthrough')) parts.push(x)
  const columns = parts.reduce((sum, part) => sum + part.columns, 0)
  const table = graph.table(graph.concat(parts.map((part) => graph.as(part, 'f64'))), 'f64', columns)
  return convert(estimator.estimator('final_estimator_'), table, graph, convert)
}

export const stackingRegressor: Converter = (estimator, x, graph, convert) => {
  const result = stacked(estimator, x, graph, convert)
  return valuesResult(valuesOf(estimator, result), 1)
}

/** The final classifier was fitted to class indices. */
export const stackingClassifier: Converter = (estimator, x, graph, convert) => {
  const { classes, count } = classesOf(estimator)
  const result = classResult(estimator, stacked(estimator, x, graph, convert))
  return labelCount(result.classes) === count
    ? { ...result, classes }
    : estimator.refuse('its final classifier does not know all classes.')
}

export const multiOutputRegressor: Converter = (estimator, x, graph, convert) => {
  const each = regressors(estimator, x, graph, convert)
  return valuesResult(graph.concat(each), each.length)
}

/** Each regressor gets the columns and the predictions of those before it. */
export const regressorChain: Converter = (estimator, x, graph, convert) => {
  const members = estimator.estimators('estimators_')
  const order = estimator.vector('order_', members.length)
  const each: string[] = []
  for (const member of members) {
    const all = graph.concat([graph.as(x, 'f64'), ...each])
    const own = graph.table(all, 'f64', x.columns + each.length)
    each.push(valuesOf(estimator, convert(member, own, graph, convert)))
  }
  const places = [...each.keys()].map((at) => order.indexOf(at))
  return valuesResult(graph.gather(graph.concat(each), places), each.length)
}

/** The inverse of a scaler: x · factor + offset. */
const unscaled = (transformer: Estimator, values: string, columns: number, graph: TableGraph): string => {
  const vector = (name: string, absent: number) =>
    transformer.has(name) ? transformer.vector(name, columns) : Array<number>(columns).fill(absent)
  const scale = vector('scale_', 1)
  if (transformer.type === 'MinMaxScaler')
    return graph.divide(graph.subtract(values, graph.vector(vector('min_', 0))), graph.vector(scale))
  const offset = vector(transformer.type === 'RobustScaler' ? 'center_' : 'mean_', 0)
  return graph.add(graph.multiply(values, graph.vector(scale)), graph.vector(offset))
}

export const transformedTarget: Converter = (estimator, x, graph, convert) => {
  const result = convert(estimator.estimator('regressor_'), x, graph, convert)
  if (result.kind !== 'values') return estimator.refuse('its regressor_ is not a regressor.')
  const transformer = estimator.estimator('transformer_')
  const { values, columns } = result
  if (transformer.type === 'FunctionTransformer')
    return valuesResult(applied(transformer, 'inverse_func', values, graph), columns)
  if (!/^(Standard|MinMax|MaxAbs|Robust)Scaler$/.test(transformer.type))
    transformer.refuse('its inverse cannot be converted; the inverses of numpy functions and scalers can.')
  return valuesResult(unscaled(transformer, values, columns, graph), columns)
}
