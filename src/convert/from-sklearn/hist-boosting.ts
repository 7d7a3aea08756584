import { tensorOf } from '../onnx/tensors.ts'
import { floatAtMost, TreeEnsemble, type TreeNode } from '../onnx/tree-ensemble.ts'
import { Estimator } from './estimator.ts'
import { byProbability, type Converter, classesOf, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'
import { byMargins, sumOf } from './trees.ts'

/** Categories are numbers below 256; the row behind them stands for missing and unknown ones. */
const CATEGORIES = 256

/** A split by categories: 0 for each that goes left, 1 for each that goes right, and which of them unknown ones do. */
interface CategorySplit {
  readonly feature: number
  readonly right: Float32Array
}

const has = (words: ArrayLike<number>, from: number, bit: number): boolean =>
  ((words[from + (bit >> 5)]! >>> (bit & 31)) & 1) === 1

/** Source: sklearn/ensemble/_hist_gradient_boosting/_predictor.pyx, _predict_one_from_raw_data. */
const splitOf = (
  feature: number,
  words: ArrayLike<number>,
  at: number,
  known: ReadonlySet<number>,
  missingLeft: boolean,
): CategorySplit => {
  const right = Float32Array.from({ length: CATEGORIES + 1 }, (_, code) => {
    if (code < CATEGORIES && has(words, at * (CATEGORIES / 32), code)) return 0
    return known.has(code) || !missingLeft ? 1 : 0
  })
  return { feature, right }
}

/** A column for each split by categories, 0 where a row goes left. */
const columnsOf = (graph: TableGraph, x: string, splits: readonly CategorySplit[]): string => {
  const own = graph.gather(
    x,
    splits.map(({ feature }) => feature),
  )
  const isCode = graph.node('And', [
    graph.node('GreaterOrEqual', [own, graph.scalar(0)]),
    graph.node('Less', [own, graph.scalar(CATEGORIES)]),
  ])
  const code = graph.cast(graph.node('Where', [isCode, own, graph.scalar(CATEGORIES)]), 'i64')
  const place = graph.add(code, graph.integers(splits.map((_, at) => at * (CATEGORIES + 1))))
  const all = splits.flatMap(({ right }) => [...right])
  return graph.node('Gather', [graph.graph.constant('categories', tensorOf('f32', [all.length], all)), place])
}

/** Source: sklearn/ensemble/_hist_gradient_boosting/predictor.py, PREDICTOR_RECORD_DTYPE. */
const addTree = (
  ensemble: TreeEnsemble,
  predictor: Estimator,
  target: number,
  columns: number,
  known: (feature: number) => ReadonlySet<number>,
  splits: CategorySplit[],
): void => {
  const nodes = predictor.array('nodes')
  const field = (name: string) => predictor.field(nodes, name)
  const [value, isLeaf, left, right] = [field('value'), field('is_leaf'), field('left'), field('right')]
  const [feature, threshold, missing] = [field('feature_idx'), field('num_threshold'), field('missing_go_to_left')]
  const [isCategorical, place] = [field('is_categorical'), field('bitset_idx')]
  const words = predictor.has('raw_left_cat_bitsets') ? predictor.numbers('raw_left_cat_bitsets').data : []
  const nodeOf = (node: number): TreeNode => {
    if (!(node >= 0 && node < value.length)) return { values: [], target }
    if (isLeaf[node] === 1) return { values: [value[node]!], target }
    const branch = { mode: 'BRANCH_LEQ', whenTrue: left[node]!, whenFalse: right[node]! } as const
    const missingTrue = missing[node] === 1
    if (!(feature[node]! < columns)) predictor.refuse(`it compares feature ${feature[node]} of ${columns}.`)
    if (isCategorical[node] !== 1)
      return { ...branch, feature: feature[node]!, threshold: floatAtMost(threshold[node]!), missingTrue }
    predictor.spend(CATEGORIES)
    splits.push(splitOf(feature[node]!, words, place[node]!, known(feature[node]!), missingTrue))
    return { ...branch, feature: columns + splits.length - 1, threshold: 0.5, missingTrue: false }
  }
  ensemble.add(0, nodeOf, value.length)
}

const boosted = (estimator: Estimator, given: Table, graph: TableGraph, convert: Converter) => {
  const encoded = estimator.has('_preprocessor')
    ? convert(estimator.estimator('_preprocessor'), given, graph, convert)
    : ({ kind: 'table', table: given } as const)
  if (encoded.kind !== 'table') return estimator.refuse('its _preprocessor is not a transformer.')
  const x = encoded.table
  const outputs = estimator.number('n_trees_per_iteration_')
  const categories = new Map<number, ReadonlySet<number>>()
  const known = (feature: number): ReadonlySet<number> => {
    if (!categories.has(feature)) {
      const own = estimator.estimator('_bin_mapper').list('bin_thresholds_')[feature] ?? null
      categories.set(feature, new Set(Array.from(estimator.asNumbers(own, 'bin_thresholds_').data)))
    }
    return categories.get(feature)!
  }
  const splits: CategorySplit[] = []
  const ensemble = new TreeEnsemble(Number.MAX_SAFE_INTEGER, outputs)
  for (const iteration of estimator.list('_predictors')) {
    if (!Array.isArray(iteration) || iteration.length !== outputs)
      return estimator.refuse('an iteration does not have one tree for each output.')
    for (const [target, item] of iteration.entries())
      addTree(ensemble, Estimator.of(item, estimator.reading, 'A tree'), target, x.columns, known, splits)
  }
  const base = estimator.vector('_baseline_prediction', outputs)
  if (splits.length === 0) return { margins: sumOf(ensemble, x, graph, base), outputs }
  const all = graph.concat([graph.as(x, 'f32'), columnsOf(graph, graph.as(x, 'f64'), splits)])
  return { margins: sumOf(ensemble, graph.table(all, 'f32', x.columns + splits.length), graph, base), outputs }
}

export const histRegressor: Converter = (estimator, x, graph, convert) => {
  const { margins } = boosted(estimator, x, graph, convert)
  const isLog = ['poisson', 'gamma'].includes(estimator.text('loss'))
  return valuesResult(isLog ? graph.node('Exp', [margins]) : margins, 1)
}

export const histClassifier: Converter = (estimator, x, graph, convert) => {
  const { margins, outputs } = boosted(estimator, x, graph, convert)
  return byProbability(graph, classesOf(estimator), byMargins(graph, margins, outputs))
}
