import { floatAtMost, TreeEnsemble, type TreeNode } from '../onnx/tree-ensemble.ts'
import { Estimator } from './estimator.ts'
import { byProbability, type Converter, classesOf, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'
import { byMargins, sumOf } from './trees.ts'

/** Categories are numbers below this; a set of them is a bit set of eight words. */
const CATEGORIES = 256

/** Source: sklearn/ensemble/_hist_gradient_boosting/predictor.py, PREDICTOR_RECORD_DTYPE. */
const addTree = (
  ensemble: TreeEnsemble,
  predictor: Estimator,
  target: number,
  known: (feature: number) => ReadonlySet<number>,
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
    const missingTrue = missing[node] === 1
    const branch = { feature: feature[node]!, whenTrue: left[node]!, whenFalse: right[node]!, missingTrue }
    if (isCategorical[node] !== 1) return { ...branch, mode: 'BRANCH_LEQ', threshold: floatAtMost(threshold[node]!) }
    predictor.spend(CATEGORIES)
    // Source: _predictor.pyx, _predict_one_from_raw_data. Unknown categories go the same way as missing values.
    const isLeft = (code: number) => ((words[place[node]! * 8 + (code >> 5)]! >>> (code & 31)) & 1) === 1
    const own = known(feature[node]!)
    const isTrue = (code: number | null) =>
      code !== null && (isLeft(code) || own.has(code)) ? isLeft(code) : missingTrue
    return { ...branch, codes: CATEGORIES, isTrue }
  }
  ensemble.add(nodeOf, value.length)
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
  const ensemble = new TreeEnsemble(x.columns, outputs)
  for (const iteration of estimator.list('_predictors')) {
    if (!Array.isArray(iteration) || iteration.length !== outputs)
      return estimator.refuse('an iteration does not have one tree for each output.')
    for (const [target, item] of iteration.entries())
      addTree(ensemble, Estimator.of(item, estimator.reading, 'A tree'), target, known)
  }
  return { margins: sumOf(ensemble, x, graph, estimator.vector('_baseline_prediction', outputs)), outputs }
}

export const histRegressor: Converter = (estimator, x, graph, convert) => {
  const { margins } = boosted(estimator, x, graph, convert)
  const isLog = ['poisson', 'gamma'].includes(estimator.text('loss'))
  return valuesResult(isLog ? graph.emit('Exp', [margins]) : margins, 1)
}

export const histClassifier: Converter = (estimator, x, graph, convert) => {
  const { margins, outputs } = boosted(estimator, x, graph, convert)
  return byProbability(graph, classesOf(estimator).classes, byMargins(graph, margins, outputs))
}
