// Pipelines and transformers that contain other estimators.
import { badRequest } from '../../domain/errors.ts'
import { isArray } from '../../tensors/numpy-pickle.ts'
import type { PickleValue } from '../../tensors/pickle-value.ts'
import { isObject } from '../../tensors/sklearn-objects.ts'
import { Estimator } from './estimator.ts'
import type { Converter, Result } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** True for a step that passes its input through: 'passthrough', or None in older versions. */
const isPassed = (value: PickleValue | undefined): boolean => value === 'passthrough' || value === null

/** The second item of each tuple (name, estimator, …) in a list. */
export const stepsOf = (
  estimator: Estimator,
  name: string,
): { name: string; value: PickleValue; rest: PickleValue[] }[] =>
  estimator.list(name).map((step) => {
    if (!Array.isArray(step) || step.length < 2)
      return estimator.refuse(`${name} is not a list of names and estimators.`)
    return { name: String(step[0]), value: step[1]!, rest: step.slice(2) }
  })

const tableOf = (result: Result, type: string): Table => {
  if (result.kind === 'table') return result.table
  if (result.kind === 'classes' && result.transform !== undefined) return result.transform()
  throw badRequest(`${type} is followed by another step, but it is not a transformer.`)
}

/** The output of one of several transformers, times its weight if it has one. */
const transformed = (
  estimator: Estimator,
  { name, value }: { name: string; value: PickleValue },
  x: Table,
  graph: TableGraph,
  convert: Converter,
): Table => {
  const step = Estimator.of(value, estimator.reading, `The transformer '${name}'`)
  return weightedTable(estimator, name, tableOf(convert(step, x, graph, convert), step.type), graph)
}

export const pipeline: Converter = (estimator, x, graph, convert) => {
  let result: Result = { kind: 'table', table: x }
  let before = ''
  for (const { name, value } of stepsOf(estimator, 'steps')) {
    if (isPassed(value)) continue
    const step = Estimator.of(value, estimator.reading, `The step '${name}'`)
    const table = before === '' ? x : tableOf(result, before)
    result = convert(step, table, graph, convert)
    before = step.type
  }
  return result
}

/** Delegates to an inner fitted estimator, such as the best one of a search or RANSAC's inlier model. */
export const wrapper: Converter = (estimator, x, graph, convert) =>
  convert(estimator.inner()[0] ?? estimator.refuse('it is not fitted.'), x, graph, convert)

const joined = (graph: TableGraph, tables: readonly Table[]): Result => {
  const columns = tables.reduce((sum, table) => sum + table.columns, 0)
  const types = tables.map((table) => graph.typeOf(table))
  if (types.includes('string') && types.some((type) => type !== 'string'))
    throw badRequest('A ColumnTransformer outputs text columns together with numbers. Encode or drop the text columns.')
  const type = types.find((own) => own !== 'f32') ?? 'f32'
  const name = graph.concat(tables.map((table) => graph.as(table, type)))
  return { kind: 'table', table: graph.table(name, type, columns) }
}

const weightedTable = (estimator: Estimator, name: string, table: Table, graph: TableGraph): Table => {
  const weights = estimator.get('transformer_weights')
  const weight = weights instanceof Map ? weights.get(name) : undefined
  if (typeof weight !== 'number') return table
  return graph.table(graph.multiply(graph.as(table, 'f64'), graph.scalar(weight)), 'f64', table.columns)
}

export const featureUnion: Converter = (estimator, x, graph, convert) => {
  const tables = stepsOf(estimator, 'transformer_list').flatMap((step) => {
    if (step.value === 'drop' || step.value === null) return []
    return [step.value === 'passthrough' ? x : transformed(estimator, step, x, graph, convert)]
  })
  return tables.length > 0 ? joined(graph, tables) : estimator.refuse('it drops everything.')
}

/** A bound of a Python slice: a position, or a column name; a named end is included. */
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

/** The indices of columns given by index, name, slice, or booleans. */
export const columnsOf = (estimator: Estimator, requested: PickleValue, columns: number): number[] => {
  if (isObject(requested) && requested.type === 'builtins.slice') return sliceOf(estimator, requested.args, columns)
  let list: readonly PickleValue[]
  if (Array.isArray(requested)) list = requested
  else if (!isArray(requested)) list = [requested]
  else if (requested.type?.type === 'O') list = requested.items
  else {
    const labels = requested.type?.type === 'U' ? estimator.asLabels(requested, 'columns') : null
    const isText = labels !== null && 'texts' in labels
    list = isText ? labels.texts : Array.from(estimator.asNumbers(requested, 'columns').data)
    if (requested.type?.type === 'b') list = list.map((value) => value !== 0)
  }
  estimator.spend(list.length)
  const names = list.some((value) => typeof value === 'string') ? estimator.columnNames() : []
  if (list.length === columns && list.every((value) => typeof value === 'boolean'))
    return [...list.keys()].filter((at) => list[at] === true)
  return list.map((value) => {
    const index = typeof value === 'string' ? names.indexOf(value) : Number(value)
    const positive = index < 0 && typeof value === 'number' ? index + columns : index
    if (Number.isInteger(positive) && positive >= 0 && positive < columns) return positive
    return estimator.refuse(`the column ${JSON.stringify(String(value))} is not one of its ${columns} columns.`)
  })
}

/** The transformers of a fitted ColumnTransformer that have columns, with the indices of those. */
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
  const tables = columnParts(estimator, x.columns).map((part) => {
    const own = graph.select(x, part.columns)
    if (isPassed(part.value)) return weightedTable(estimator, part.name, own, graph)
    return transformed(estimator, part, own, graph, convert)
  })
  return tables.length > 0 ? joined(graph, tables) : estimator.refuse('it drops all columns.')
}
