// Estimators that consist of others.
import { badRequest } from '../../domain/errors.ts'
import { isArray } from '../../tensors/numpy-pickle.ts'
import type { PickleValue } from '../../tensors/pickle-value.ts'
import { isObject } from '../../tensors/sklearn-objects.ts'
import { Estimator, type Labels, labelCount } from './estimator.ts'
import {
  byProbability,
  byScores,
  type ClassesResult,
  type Converter,
  classesOf,
  type Result,
  valuesResult,
} from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** A step that passes on what it gets: 'passthrough', or None in older versions. */
const isPassed = (value: PickleValue | undefined): boolean => value === 'passthrough' || value === null

/** The second of each tuple (name, estimator, …) of a list. */
export const stepsOf = (
  estimator: Estimator,
  name: string,
): { name: string; value: PickleValue; rest: PickleValue[] }[] =>
  estimator.list(name).map((step) => {
    if (!Array.isArray(step) || step.length < 2)
      return estimator.refuse(`${name} is not a list of names and estimators.`)
    return { name: String(step[0]), value: step[1]!, rest: step.slice(2) }
  })

const tableOf = (graph: TableGraph, result: Result, type: string): Table => {
  if (result.kind === 'table') return result.table
  if (result.kind === 'classes' && result.scores !== null) return graph.table(result.scores, 'f64', result.scoreColumns)
  throw badRequest(`${type} is followed by another step, but it is not a transformer.`)
}

export const pipeline: Converter = (estimator, x, graph, convert) => {
  let result: Result = { kind: 'table', table: x }
  let before = ''
  for (const { name, value } of stepsOf(estimator, 'steps')) {
    if (isPassed(value)) continue
    const step = Estimator.of(value, estimator.reading, `The step '${name}'`)
    const table = before === '' ? x : tableOf(graph, result, before)
    result = convert(step, table, graph, convert)
    before = step.type
  }
  return result
}

/** A search's best estimator. */
export const search: Converter = (estimator, x, graph, convert) =>
  convert(estimator.estimator('best_estimator_'), x, graph, convert)

const joined = (graph: TableGraph, tables: readonly Table[]): Result => {
  const columns = tables.reduce((sum, table) => sum + table.columns, 0)
  const types = tables.map((table) => graph.typeOf(table))
  if (types.includes('string') && types.some((type) => type !== 'string'))
    throw badRequest('A ColumnTransformer passes on texts beside numbers. Encode them, or drop them.')
  const type = types.find((own) => own !== 'f32') ?? 'f32'
  const name = graph.concat(tables.map((table) => graph.as(table, type)))
  return { kind: 'table', table: graph.table(name, type, columns) }
}

export const featureUnion: Converter = (estimator, x, graph, convert) => {
  const weights = estimator.get('transformer_weights')
  const tables = stepsOf(estimator, 'transformer_list').flatMap(({ name, value }) => {
    if (value === 'drop' || value === null) return []
    if (value === 'passthrough') return [x]
    const step = Estimator.of(value, estimator.reading, `The transformer '${name}'`)
    const table = tableOf(graph, convert(step, x, graph, convert), step.type)
    const weight = weights instanceof Map ? weights.get(name) : undefined
    if (typeof weight !== 'number') return [table]
    return [graph.table(graph.multiply(graph.as(table, 'f64'), graph.scalar(weight)), 'f64', table.columns)]
  })
  return tables.length > 0 ? joined(graph, tables) : estimator.refuse('it drops everything.')
}

/** A bound of a Python slice: a position, or the name of a column, whose end is part of the slice. */
const sliceOf = (estimator: Estimator, args: readonly PickleValue[], columns: number): number[] => {
  const names = estimator.columnNames()
  const bound = (value: PickleValue, absent: number, isEnd: boolean): number => {
    if (typeof value === 'number') return value < 0 ? value + columns : Math.min(value, columns)
    if (typeof value === 'string' && names.includes(value)) return names.indexOf(value) + (isEnd ? 1 : 0)
    return absent
  }
  const [start, stop] = [bound(args[0] ?? null, 0, false), bound(args[1] ?? null, columns, true)]
  estimator.spend(columns)
  if ((args[2] ?? 1) !== 1) estimator.refuse('a slice of columns with a step cannot be converted.')
  return Array.from({ length: Math.max(0, stop - start) }, (_, at) => start + at)
}

/** The indices of columns that are given by index, name, slice or truth values. */
const columnsOf = (estimator: Estimator, asked: PickleValue, columns: number): number[] => {
  if (isObject(asked) && asked.type === 'builtins.slice') return sliceOf(estimator, asked.args, columns)
  const isText = (value: unknown) => typeof value === 'string'
  let list: readonly PickleValue[]
  if (Array.isArray(asked)) list = asked
  else if (isArray(asked) && asked.type?.type !== 'O') {
    const labels = asked.type?.type === 'U' ? estimator.asLabels(asked, 'columns') : null
    list =
      labels !== null && 'texts' in labels ? [...labels.texts] : Array.from(estimator.asNumbers(asked, 'columns').data)
    if (asked.type?.type === 'b') list = list.map((value) => value !== 0)
  } else if (isArray(asked)) list = asked.items
  else list = [asked]
  estimator.spend(list.length)
  const names = list.some(isText) ? estimator.columnNames() : []
  if (list.length === columns && list.every((value) => typeof value === 'boolean'))
    return [...list.keys()].filter((at) => list[at] === true)
  return list.map((value) => {
    const index = typeof value === 'string' ? names.indexOf(value) : Number(value)
    const positive = index < 0 && typeof value === 'number' ? index + columns : index
    if (Number.isInteger(positive) && positive >= 0 && positive < columns) return positive
    return estimator.refuse(`the column ${JSON.stringify(String(value))} is not one of its ${columns} columns.`)
  })
}

/** The transformers of a fitted ColumnTransformer that have columns, with their indices. */
export const columnParts = (
  estimator: Estimator,
  columns: number,
): { name: string; value: PickleValue; columns: number[] }[] =>
  stepsOf(estimator, 'transformers_').flatMap(({ name, value, rest }) => {
    if (value === 'drop') return []
    const own = columnsOf(estimator, rest[0] ?? [], columns)
    return own.length === 0 ? [] : [{ name, value, columns: own }]
  })

export const columnTransformer: Converter = (estimator, x, graph, convert) => {
  const weights = estimator.get('transformer_weights')
  if (weights !== null) estimator.refuse('transformer_weights cannot be converted.')
  const tables = columnParts(estimator, x.columns).map(({ name, value, columns }) => {
    const own = graph.select(x, columns)
    if (isPassed(value)) return own
    const step = Estimator.of(value, estimator.reading, `The transformer '${name}'`)
    return tableOf(graph, convert(step, own, graph, convert), step.type)
  })
  return tables.length > 0 ? joined(graph, tables) : estimator.refuse('it drops all columns.')
}

const weighted = (graph: TableGraph, parts: readonly string[], weights: readonly number[]): string => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return parts
    .map((part, at) => graph.multiply(part, graph.scalar(weights[at]! / total)))
    .reduce((sum, part) => graph.add(sum, part))
}

const weightsOf = (estimator: Estimator, count: number): number[] =>
  estimator.has('weights') ? estimator.vector('weights', count) : Array<number>(count).fill(1)

const classResult = (estimator: Estimator, result: Result): ClassesResult =>
  result.kind === 'classes' ? result : estimator.refuse('it consists of something that is not a classifier.')

const requireProbabilities = (estimator: Estimator, result: ClassesResult, classes: Labels): string =>
  result.probabilities !== null && labelCount(result.classes) === labelCount(classes)
    ? result.probabilities
    : estimator.refuse('it needs the probabilities of all classes from each of its classifiers.')

export const votingClassifier: Converter = (estimator, x, graph, convert) => {
  const classes = classesOf(estimator)
  const members = estimator.estimators('estimators_')
  const weights = weightsOf(estimator, members.length)
  const results = members.map((member) => classResult(estimator, convert(member, x, graph, convert)))
  if (estimator.text('voting') === 'soft') {
    const each = results.map((result) => requireProbabilities(estimator, result, classes))
    return byProbability(graph, classes, weighted(graph, each, weights))
  }
  const count = labelCount(classes)
  // The members were fitted to the indices of the classes.
  const votes = results.map(({ index }) => {
    const column = graph.node('Reshape', [index, graph.integers([-1, 1])])
    return graph.indicator(graph.node('Equal', [column, graph.integers(Array.from({ length: count }, (_, at) => at))]))
  })
  const index = graph.argMax(weighted(graph, votes, weights))
  return { kind: 'classes', classes, index, probabilities: null, scores: null, scoreColumns: 0 }
}

const valuesOf = (estimator: Estimator, result: Result): string =>
  result.kind === 'values' && result.columns === 1
    ? result.values
    : estimator.refuse('it consists of something that is not a regressor of one value.')

export const votingRegressor: Converter = (estimator, x, graph, convert) => {
  const members = estimator.estimators('estimators_')
  const values = members.map((member) => valuesOf(estimator, convert(member, x, graph, convert)))
  return valuesResult(weighted(graph, values, weightsOf(estimator, members.length)), 1)
}

/** The members of a bagging, each of which gets its own columns. */
const bagged = (estimator: Estimator, x: Table, graph: TableGraph, convert: Converter): Result[] => {
  const subsets = estimator.list('estimators_features_')
  return estimator.estimators('estimators_').map((member, at) => {
    const own = columnsOf(estimator, subsets[at] ?? null, x.columns)
    return convert(member, graph.select(x, own), graph, convert)
  })
}

const mean = (graph: TableGraph, parts: readonly string[]): string =>
  weighted(
    graph,
    parts,
    parts.map(() => 1),
  )

export const baggingClassifier: Converter = (estimator, x, graph, convert) => {
  const classes = classesOf(estimator)
  const each = bagged(estimator, x, graph, convert).map((result) =>
    requireProbabilities(estimator, classResult(estimator, result), classes),
  )
  return byProbability(graph, classes, mean(graph, each))
}

export const baggingRegressor: Converter = (estimator, x, graph, convert) => {
  const each = bagged(estimator, x, graph, convert).map((result) => valuesOf(estimator, result))
  return valuesResult(mean(graph, each), 1)
}

/** The mean of classifiers whose scores were calibrated. Source: sklearn/calibration.py, _CalibratedClassifier. */
export const calibratedClassifier: Converter = (estimator, x, graph, convert) => {
  const classes = classesOf(estimator)
  const count = labelCount(classes)
  const each = estimator.estimators('calibrated_classifiers_').map((member) => {
    const inner = member.estimator(member.has('estimator') ? 'estimator' : 'base_estimator')
    const result = classResult(estimator, convert(inner, x, graph, convert))
    const positive = () => graph.gather(requireProbabilities(estimator, result, classes), [1])
    const columns =
      count === 2 ? (result.scores ?? positive()) : (result.scores ?? requireProbabilities(estimator, result, classes))
    const calibrators = member.estimators('calibrators')
    if (
      calibrators.some(({ type }) => type !== '_SigmoidCalibration') ||
      calibrators.length !== (count === 2 ? 1 : count)
    )
      member.refuse('only method="sigmoid" with all classes in each fold can be converted.')
    const slopes = graph.vector(calibrators.map((calibrator) => -calibrator.number('a_')))
    const offsets = graph.vector(calibrators.map((calibrator) => -calibrator.number('b_')))
    const calibrated = graph.node('Sigmoid', [graph.add(graph.multiply(columns, slopes), offsets)])
    return count === 2 ? graph.twoClasses(calibrated) : graph.divide(calibrated, graph.sum(calibrated, 1))
  })
  return byProbability(
    graph,
    classes,
    weighted(
      graph,
      each,
      each.map(() => 1),
    ),
  )
}

export const oneVersusRest: Converter = (estimator, x, graph, convert) => {
  const classes = estimator.estimator('label_binarizer_').labels('classes_')
  const members = estimator.estimators('estimators_')
  const results = members.map((member) => classResult(estimator, convert(member, x, graph, convert)))
  if (labelCount(classes) !== Math.max(2, members.length)) estimator.refuse('several labels a row cannot be converted.')
  const columns = results.map(
    ({ scores, probabilities }) =>
      scores ?? graph.gather(probabilities ?? estimator.refuse('a member has no scores.'), [1]),
  )
  const scores = graph.concat(columns)
  if (results.some(({ probabilities }) => probabilities === null)) return byScores(graph, classes, scores, null)
  const each = graph.concat(results.map(({ probabilities }) => graph.gather(probabilities!, [1])))
  if (members.length === 1) return byProbability(graph, classes, graph.twoClasses(each))
  return {
    ...byProbability(graph, classes, graph.divide(each, graph.sum(each, 1))),
    index: graph.argMax(columns.length > 0 ? scores : each),
  }
}
