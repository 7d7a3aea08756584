import { int } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'
import type { Estimator } from './estimator.ts'
import { type Converter, tableResult } from './result.ts'
import type { TableGraph } from './table.ts'

/** (x - mean) / scale; each may be absent. */
const centered =
  (mean: string, scale: string): Converter =>
  (estimator, x, graph) => {
    // StandardScaler itself is rounded to the type of its input since scikit-learn 1.8.
    const isRounded = estimator.type === 'StandardScaler' && estimator.version() >= 1.08 && graph.typeOf(x) === 'f32'
    const constant = (name: string) => {
      const values = estimator.vector(name, x.columns)
      return graph.vector(isRounded ? values.map(Math.fround) : values, name)
    }
    const steps: ((x: string) => string)[] = []
    if (estimator.has(mean)) steps.push((name) => graph.subtract(name, constant(mean)))
    if (estimator.has(scale)) steps.push((name) => graph.divide(name, constant(scale)))
    if (estimator.flag('clip')) steps.push((name) => clipped(graph, name, -1, 1))
    return { kind: 'table', table: graph.inPlace(x, steps) }
  }

const clipped = (graph: TableGraph, x: string, low: number, high: number): string =>
  graph.node('Max', [graph.node('Min', [x, graph.scalar(high)]), graph.scalar(low)])

export const standardScaler = centered('mean_', 'scale_')
export const robustScaler = centered('center_', 'scale_')
export const maxAbsScaler = centered('', 'scale_')

export const minMaxScaler: Converter = (estimator, x, graph) => {
  const constant = (name: string) => graph.vector(estimator.vector(name, x.columns), name)
  const steps = [
    (name: string) => graph.multiply(name, constant('scale_')),
    (name: string) => graph.add(name, constant('min_')),
  ]
  if (estimator.flag('clip')) {
    const range = estimator.asNumbers(estimator.get('feature_range'), 'feature_range').data
    steps.push((name) => clipped(graph, name, range[0]!, range[1]!))
  }
  return { kind: 'table', table: graph.inPlace(x, steps) }
}

export const normalizer: Converter = (estimator, x, graph) => {
  const input = graph.as(x, 'f64')
  const absolute = graph.node('Abs', [input])
  const norms: Record<string, () => string> = {
    l1: () => graph.sum(absolute, 1),
    l2: () => graph.node('Sqrt', [graph.sum(graph.multiply(input, input), 1)]),
    max: () => graph.node('ReduceMax', [absolute, graph.integers([1])], { keepdims: int(1) }),
  }
  const kind = estimator.text('norm')
  const norm = Object.hasOwn(norms, kind) ? norms[kind]!() : estimator.refuse(`the norm '${kind}' cannot be converted.`)
  const isZero = graph.node('Equal', [norm, graph.scalar(0)])
  const divisor = graph.node('Where', [isZero, graph.scalar(1), norm])
  return tableResult(graph, graph.divide(input, divisor), x.columns)
}

export const binarizer: Converter = (estimator, x, graph) => {
  const above = graph.node('Greater', [graph.as(x, 'f64'), graph.scalar(estimator.number('threshold'))])
  return tableResult(graph, graph.indicator(above), x.columns)
}

/** PCA, and TruncatedSVD, which has no mean. Whitened components are divided by their standard deviation. */
export const components: Converter = (estimator, x, graph) => {
  const { rows, data } = estimator.matrix('components_', x.columns)
  let name = graph.as(x, 'f64')
  if (estimator.has('mean_')) name = graph.subtract(name, graph.vector(estimator.vector('mean_', x.columns), 'mean'))
  name = graph.timesTransposed(name, rows, x.columns, data)
  if (estimator.flag('whiten')) {
    const deviations = estimator
      .vector('explained_variance_', rows)
      .map((value) => Math.max(Math.sqrt(value), 2 ** -52))
    name = graph.divide(name, graph.vector(deviations, 'deviations'))
  }
  return tableResult(graph, name, rows)
}

/** Columns that had no value at all when it was fitted are dropped, or 0 with `keep_empty_features`. */
export const simpleImputer: Converter = (estimator, x, graph) => {
  if (estimator.flag('add_indicator')) estimator.refuse('add_indicator cannot be converted. Fit it without.')
  const statistics = estimator.vector('statistics_', x.columns)
  const kept = [...statistics.keys()].filter(
    (at) => estimator.flag('keep_empty_features') || !Number.isNaN(statistics[at]),
  )
  if (kept.length === 0) estimator.refuse('all columns were empty when it was fitted.')
  const marker = estimator.number('missing_values', Number.NaN)
  const missing = (input: string) =>
    Number.isNaN(marker)
      ? graph.node('IsNaN', [input])
      : graph.node('Equal', [input, graph.scalar(Math.fround(marker))])
  const fill = graph.vector(
    kept.map((at) => (Number.isNaN(statistics[at]) ? 0 : statistics[at]!)),
    'statistics',
  )
  const filled = (input: string) => graph.node('Where', [missing(input), fill, input])
  return { kind: 'table', table: graph.inPlace(graph.select(x, kept), [filled]) }
}

/** Index lists of all monomials of a degree, in the order of itertools.combinations(_with_replacement). */
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
  if (lists.length === 0) estimator.refuse('it makes no columns.')
  // A column of ones stands for the factors that a monomial of a lower degree does not have.
  const pads = graph.graph.constant('pads', tensorOf('i64', [4], [0, 0, 0, 1]))
  const one = graph.graph.constant('one', scalarOf('f64', 1))
  const input = graph.node('Pad', [graph.as(x, 'f64'), pads, one])
  let name = graph.gather(
    input,
    lists.map((list) => list[0] ?? x.columns),
  )
  for (let factor = 1; factor < highest; factor++)
    name = graph.multiply(
      name,
      graph.gather(
        input,
        lists.map((list) => list[factor] ?? x.columns),
      ),
    )
  return tableResult(graph, name, lists.length)
}

/** Those of numpy that a FunctionTransformer is most often given. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  log: 'Log',
  exp: 'Exp',
  sqrt: 'Sqrt',
  abs: 'Abs',
  absolute: 'Abs',
}

const functionName = (estimator: Estimator): string | null => {
  const value = estimator.get('func')
  return typeof value === 'object' && value !== null && 'name' in value ? String(value.name) : null
}

export const functionTransformer: Converter = (estimator, x, graph) => {
  if (!estimator.has('func')) return { kind: 'table', table: x }
  const name = functionName(estimator)?.split('.').at(-1) ?? ''
  const input = graph.as(x, 'f64')
  if (name === 'log1p') return tableResult(graph, graph.node('Log', [graph.add(input, graph.scalar(1))]), x.columns)
  if (name === 'square') return tableResult(graph, graph.multiply(input, input), x.columns)
  if (!Object.hasOwn(FUNCTIONS, name))
    return estimator.refuse(
      'its function is not in the file. numpy.log1p, log, exp, sqrt, square and abs can be converted.',
    )
  return tableResult(graph, graph.node(FUNCTIONS[name]!, [input]), x.columns)
}
