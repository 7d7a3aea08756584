import { ownEntry } from '../../domain/own-entry.ts'
import type { PickleValue } from '../../tensors/pickle-value.ts'
import { isObject } from '../../tensors/sklearn-objects.ts'
import { int } from '../onnx/model.ts'
import { scalarOf, stringTensorOf, tensorOf } from '../onnx/tensors.ts'
import type { Estimator } from './estimator.ts'
import { type Converter, type Result, tableResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** (x - mean) / scale_; either may be absent. */
const centered =
  (mean: string): Converter =>
  (estimator, x, graph) => {
    // Since scikit-learn 1.8, the constants of StandardScaler are rounded to the type of its input.
    const isRounded = estimator.type === 'StandardScaler' && estimator.version() >= 1.08 && graph.typeOf(x) === 'f32'
    const constant = (name: string) => {
      const values = estimator.vector(name, x.columns)
      return graph.vector(isRounded ? values.map(Math.fround) : values, name)
    }
    const steps: ((x: string) => string)[] = []
    if (estimator.has(mean) && estimator.flag('with_mean', true))
      steps.push((name) => graph.subtract(name, constant(mean)))
    if (estimator.has('scale_')) steps.push((name) => graph.divide(name, constant('scale_')))
    if (estimator.flag('clip')) steps.push((name) => graph.clipped(name, -1, 1))
    return { kind: 'table', table: graph.inPlace(x, steps) }
  }

export const standardScaler = centered('mean_')
export const robustScaler = centered('center_')
export const maxAbsScaler = centered('')

export const minMaxScaler: Converter = (estimator, x, graph) => {
  const constant = (name: string) => graph.vector(estimator.vector(name, x.columns), name)
  const steps = [
    (name: string) => graph.multiply(name, constant('scale_')),
    (name: string) => graph.add(name, constant('min_')),
  ]
  if (estimator.flag('clip')) {
    const range = estimator.numbers('feature_range').data
    steps.push((name) => graph.clipped(name, range[0]!, range[1]!))
  }
  return { kind: 'table', table: graph.inPlace(x, steps) }
}

/** Divides rows by their norm, if a norm is set. */
export const normed = (estimator: Estimator, input: string, graph: TableGraph): string => {
  if (!estimator.has('norm')) return input
  const absolute = graph.emit('Abs', [input])
  const norms: Record<string, () => string> = {
    l1: () => graph.sum(absolute, 1),
    l2: () => graph.emit('Sqrt', [graph.sum(graph.multiply(input, input), 1)]),
    max: () => graph.emit('ReduceMax', [absolute, graph.integers([1])], { keepdims: int(1) }),
  }
  const kind = estimator.text('norm')
  const norm = ownEntry(norms, kind) ?? estimator.refuse(`the norm '${kind}' cannot be converted.`)
  return graph.divide(input, graph.nonzero(norm()))
}

export const normalizer: Converter = (estimator, x, graph) =>
  tableResult(graph, normed(estimator, graph.as(x, 'f64'), graph), x.columns)

export const binarizer: Converter = (estimator, x, graph) => {
  const above = graph.over(graph.as(x, 'f64'), estimator.number('threshold'))
  return tableResult(graph, graph.indicator(above), x.columns)
}

/** PCA and similar; not all have a mean. Whitened components are divided by their standard deviation. */
export const components: Converter = (estimator, x, graph) => {
  const { rows, data } = estimator.matrix('components_', x.columns)
  let name = graph.timesTransposed(graph.centered(estimator, x, 'mean_'), rows, x.columns, data)
  if (estimator.flag('whiten') && estimator.type !== 'FastICA') {
    const variances = estimator.vector('explained_variance_', rows)
    const deviations = variances.map((value) => Math.max(Math.sqrt(value), 2 ** -52))
    name = graph.divide(name, graph.vector(deviations, 'deviations'))
  }
  return tableResult(graph, name, rows)
}

/** Columns without any value during fitting are dropped, or 0 with `keep_empty_features`. */
export const simpleImputer: Converter = (estimator, x, graph) => {
  if (graph.typeOf(x) === 'string') return filledTexts(estimator, x, graph)
  const statistics = estimator.vector('statistics_', x.columns)
  const kept = [...statistics.keys()].filter(
    (at) => estimator.flag('keep_empty_features') || !Number.isNaN(statistics[at]),
  )
  if (kept.length === 0) estimator.refuse('all columns were empty when it was fitted.')
  const values = kept.map((at) => (Number.isNaN(statistics[at]) ? 0 : statistics[at]!))
  const fill = graph.vector(values, 'statistics')
  const filled = (input: string) => graph.emit('Where', [missing(estimator, graph, input), fill, input])
  const table = graph.inPlace(graph.select(x, kept), [filled])
  if (!estimator.flag('add_indicator')) return { kind: 'table', table }
  const gaps = missingIn(estimator.estimator('indicator_'), x, graph)
  return tableResult(graph, graph.concat([graph.as(table, 'f64'), graph.as(gaps, 'f64')]), table.columns + gaps.columns)
}

const missing = (estimator: Estimator, graph: TableGraph, input: string): string => {
  const marker = estimator.number('missing_values', Number.NaN)
  if (Number.isNaN(marker)) return graph.emit('IsNaN', [input])
  return graph.emit('Equal', [input, graph.scalar(Math.fround(marker))])
}

/** Whether values are missing, in the columns of a MissingIndicator. */
const missingIn = (estimator: Estimator, x: Table, graph: TableGraph): Table => {
  const columns = Array.from(estimator.numbers('features_').data)
  if (columns.length === 0) return estimator.refuse('no column had missing values when it was fitted.')
  const own = graph.as(graph.select(x, columns), 'f64')
  return graph.table(graph.indicator(missing(estimator, graph, own)), 'f64', columns.length)
}

export const missingIndicator: Converter = (estimator, x, graph) => ({
  kind: 'table',
  table: missingIn(estimator, x, graph),
})

/** An empty string means missing. */
const filledTexts = (estimator: Estimator, x: Table, graph: TableGraph): Result => {
  const fill = estimator.list('statistics_').map(String)
  if (fill.length !== x.columns || estimator.flag('add_indicator'))
    return estimator.refuse('for text, only an imputer without an indicator can be converted.')
  const input = graph.as(x, 'string')
  const isEmpty = graph.emit('Equal', [graph.numbered(input, ['']), graph.integers([0])])
  const statistics = graph.builder.constant('statistics', stringTensorOf([fill.length], fill))
  const name = graph.emit('Where', [isEmpty, statistics, input])
  return { kind: 'table', table: graph.table(name, 'string', x.columns) }
}

/** The index lists of all monomials of a degree, in the order of itertools.combinations(_with_replacement). */
const monomials = (columns: number, degree: number, interactionOnly: boolean): number[][] => {
  let lists: number[][] = [[]]
  for (let at = 0; at < degree; at++)
    lists = lists.flatMap((list) => {
      const start = list.length === 0 ? 0 : list.at(-1)! + (interactionOnly ? 1 : 0)
      return Array.from({ length: Math.max(0, columns - start) }, (_, k) => [...list, start + k])
    })
  return lists
}

const MAX_MONOMIALS = 100_000

const countOf = (columns: number, degree: number): number => {
  let count = 1
  for (let at = 1; at <= degree; at++) count = (count * (columns + at)) / at
  return count
}

export const polynomialFeatures: Converter = (estimator, x, graph) => {
  const highest = estimator.number(
    '_max_degree',
    estimator.has('_max_degree') ? undefined : estimator.number('degree', 2),
  )
  const lowest = Math.max(1, estimator.number('_min_degree', 0))
  if (!(highest >= 0 && highest <= 100 && countOf(x.columns, highest) <= MAX_MONOMIALS))
    estimator.refuse(`more than ${MAX_MONOMIALS} columns cannot be converted.`)
  const lists: number[][] = estimator.flag('include_bias', true) ? [[]] : []
  for (let degree = lowest; degree <= highest; degree++)
    lists.push(...monomials(x.columns, degree, estimator.flag('interaction_only')))
  if (lists.length === 0) estimator.refuse('it outputs no columns.')
  // A column of ones fills in the missing factors of monomials of a lower degree.
  const pads = graph.builder.constant('pads', tensorOf('i64', [4], [0, 0, 0, 1]))
  const one = graph.builder.constant('one', scalarOf('f64', 1))
  const input = graph.emit('Pad', [graph.as(x, 'f64'), pads, one])
  const factors = (at: number): string => {
    const columns = lists.map((list) => list[at] ?? x.columns)
    return graph.gather(input, columns)
  }
  let name = factors(0)
  for (let at = 1; at < highest; at++) name = graph.multiply(name, factors(at))
  return tableResult(graph, name, lists.length)
}

/** NumPy functions that are supported in FunctionTransformer and TransformedTargetRegressor. */
const FUNCTIONS: Readonly<Record<string, (graph: TableGraph, x: string) => string>> = {
  ...Object.fromEntries(
    Object.entries({
      ...{ log: 'Log', exp: 'Exp', sqrt: 'Sqrt', abs: 'Abs', absolute: 'Abs', fabs: 'Abs', negative: 'Neg' },
      ...{ reciprocal: 'Reciprocal', sign: 'Sign', floor: 'Floor', ceil: 'Ceil', round: 'Round', rint: 'Round' },
      ...{ sin: 'Sin', cos: 'Cos', tanh: 'Tanh', expit: 'Sigmoid' },
    }).map(([name, type]) => [name, (graph: TableGraph, x: string) => graph.emit(type, [x])]),
  ),
  square: (graph, x) => graph.multiply(x, x),
  log1p: (graph, x) => graph.emit('Log', [graph.add(x, graph.scalar(1))]),
  log2: (graph, x) => graph.multiply(graph.emit('Log', [x]), graph.scalar(Math.LOG2E)),
  log10: (graph, x) => graph.multiply(graph.emit('Log', [x]), graph.scalar(Math.LOG10E)),
  expm1: (graph, x) => graph.subtract(graph.emit('Exp', [x]), graph.scalar(1)),
  exp2: (graph, x) => graph.emit('Exp', [graph.multiply(x, graph.scalar(Math.LN2))]),
}

const nameOf = (value: PickleValue | undefined): string =>
  typeof value === 'object' && value !== null && 'name' in value ? String(value.name) : ''

/** Applies the NumPy function in an attribute; returns x if there is none. */
export const applied = (estimator: Estimator, attribute: string, x: string, graph: TableGraph): string => {
  const value = estimator.get(attribute)
  if (value === null) return x
  const name = nameOf(value).split('.').at(-1)!
  const options = estimator.get(attribute === 'func' ? 'kw_args' : 'inv_kw_args')
  const apply = ownEntry(FUNCTIONS, name)
  if (apply === undefined || (options instanceof Map && options.size > 0))
    return estimator.refuse(
      `the code of its ${attribute} is not in the file. These numpy functions can be converted, without options: ${Object.keys(FUNCTIONS).join(', ')}.`,
    )
  return apply(graph, x)
}

/** HistGradientBoosting passes numbers through a function that only checks them. */
const isCheck = (value: PickleValue): boolean =>
  isObject(value) && value.type === 'functools.partial' && /\.check_array$/.test(nameOf(value.args[0]))

export const functionTransformer: Converter = (estimator, x, graph) =>
  estimator.has('func') && !isCheck(estimator.get('func'))
    ? tableResult(graph, applied(estimator, 'func', graph.as(x, 'f64'), graph), x.columns)
    : { kind: 'table', table: x }
