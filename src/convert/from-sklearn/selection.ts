// Transformers that select columns.

import { ownEntry } from '../../domain/own-entry.ts'
import type { Estimator } from './estimator.ts'
import type { Converter } from './result.ts'
import { treesOf } from './trees.ts'

const finite = (values: ArrayLike<number>): number[] =>
  Array.from(values, (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value))

const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)

/** The `k` columns with the highest scores; among ties the last ones, as in a stable sort. */
const best = (estimator: Estimator, columns: number): number[] => {
  const scores = finite(estimator.vector('scores_', columns))
  const all = [...scores.keys()]
  if (estimator.get('k') === 'all') return all
  const sorted = all.sort((a, b) => scores[a]! - scores[b]! || a - b)
  return ascending(sorted.slice(Math.max(0, columns - estimator.number('k'))))
}

/** A quantile interpolated between the two nearest values, as in numpy.percentile. */
const quantile = (values: readonly number[], share: number): number => {
  const sorted = ascending(values)
  const at = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return low + (high - low) * (at - Math.floor(at))
}

/** The share of columns with the highest scores; among ties at the limit the first ones that fit. */
const bestShare = (estimator: Estimator, columns: number): number[] => {
  const scores = finite(estimator.vector('scores_', columns))
  const percentile = estimator.number('percentile')
  const limit = quantile(scores, 1 - percentile / 100)
  const above = [...scores.keys()].filter((at) => scores[at]! > limit)
  const equal = [...scores.keys()].filter((at) => scores[at] === limit)
  const room = Math.floor((columns * percentile) / 100) - above.length
  return ascending([...above, ...equal.slice(0, Math.max(0, room))])
}

/** The largest accepted p-value for each selector's error rate. */
const P_LIMITS: Readonly<Record<string, (alpha: number, values: readonly number[]) => number>> = {
  SelectFpr: (alpha) => alpha,
  SelectFwe: (alpha, { length }) => alpha / length,
  // Benjamini and Hochberg (1995).
  SelectFdr: (alpha, values) =>
    ascending(values).findLast((value, at) => value <= (alpha / values.length) * (at + 1)) ?? Number.NEGATIVE_INFINITY,
}

/** The impurity decrease of all splits by column. Source: Tree.compute_feature_importances. */
const treeImportances = (estimator: Estimator, columns: number): number[] => {
  const tree = estimator.estimator('tree_')
  const nodes = tree.array('nodes')
  const field = (name: string) => tree.field(nodes, name)
  const [left, right, feature] = [field('left_child'), field('right_child'), field('feature')]
  const [impurity, samples] = [field('impurity'), field('weighted_n_node_samples')]
  const weight = (node: number) => (impurity[node] ?? 0) * (samples[node] ?? 0)
  const sums = Array<number>(columns).fill(0)
  for (let node = 0; node < left.length; node++)
    if (left[node] !== -1) sums[feature[node]!]! += weight(node) - weight(left[node]!) - weight(right[node]!)
  return sums.map((sum) => sum / samples[0]!)
}

const normalized = (values: readonly number[]): number[] => {
  const total = values.reduce((sum, value) => sum + value, 0)
  return total > 0 ? values.map((value) => value / total) : [...values]
}

const importancesOf = (estimator: Estimator, columns: number): number[] => {
  const sums = Array<number>(columns).fill(0)
  if (estimator.has('coef_')) {
    const { data } = estimator.matrix('coef_', columns)
    for (let at = 0; at < data.length; at++) sums[at % columns]! += Math.abs(data[at]!)
    return sums
  }
  const isBoosting = estimator.type.startsWith('GradientBoosting')
  for (const tree of treesOf(estimator)) {
    const own = treeImportances(tree, columns)
    for (const [at, value] of (isBoosting ? own : normalized(own)).entries()) sums[at]! += value
  }
  return normalized(sums)
}

/** The lowest accepted importance. Source: sklearn/feature_selection/_from_model.py, _calculate_threshold. */
const importanceLimit = (selector: Estimator, estimator: Estimator, importances: readonly number[]): number => {
  const requested = selector.get('threshold')
  if (typeof requested === 'string') {
    const [reference, factor] = requested
      .split('*')
      .map((part) => part.trim())
      .reverse()
    const mean = importances.reduce((sum, value) => sum + value, 0) / importances.length
    return Number(factor ?? 1) * (reference === 'median' ? quantile(importances, 0.5) : mean)
  }
  if (requested !== null) return selector.number('threshold')
  const ratio = estimator.get(estimator.has('l1_ratio_') ? 'l1_ratio_' : 'l1_ratio')
  const isL1 =
    estimator.get('penalty') === 'l1' ||
    estimator.type.includes('Lasso') ||
    (/^(ElasticNet|LogisticRegression)(CV)?$/.test(estimator.type) && ratio !== null && Number(ratio) === 1)
  return isL1 ? 1e-5 : importances.reduce((sum, value) => sum + value, 0) / importances.length
}

const fromModel = (selector: Estimator, columns: number): number[] => {
  const estimator = selector.estimator(selector.has('estimator_') ? 'estimator_' : 'estimator')
  const isPlain = selector.get('importance_getter') === 'auto' && selector.number('norm_order', 1) === 1
  if (!isPlain) selector.refuse('only importance_getter="auto" with norm_order=1 can be converted.')
  const importances = importancesOf(estimator, columns)
  const limit = importanceLimit(selector, estimator, importances)
  const most = selector.has('max_features') ? selector.number('max_features_') : columns
  const sorted = [...importances.keys()].sort((a, b) => importances[b]! - importances[a]! || a - b)
  return ascending(sorted.slice(0, most).filter((at) => importances[at]! >= limit))
}

const kept = (estimator: Estimator, columns: number): number[] => {
  const indices = Array.from({ length: columns }, (_, at) => at)
  switch (estimator.type) {
    case 'SelectKBest':
      return best(estimator, columns)
    case 'SelectPercentile':
      return bestShare(estimator, columns)
    case 'SelectFromModel':
      return fromModel(estimator, columns)
    case 'VarianceThreshold': {
      const variances = estimator.vector('variances_', columns)
      return indices.filter((at) => variances[at]! > estimator.number('threshold'))
    }
  }
  const limit = ownEntry(P_LIMITS, estimator.type)
  if (limit !== undefined) {
    const values = estimator.vector('pvalues_', columns)
    const most = limit(estimator.number('alpha'), values)
    // Only the false discovery rate includes its limit.
    return indices.filter((at) => values[at]! < most || (values[at] === most && estimator.type === 'SelectFdr'))
  }
  const support = estimator.vector('support_', columns)
  return indices.filter((at) => support[at] !== 0)
}

export const selection: Converter = (estimator, x, graph) => {
  const columns = kept(estimator, x.columns)
  if (columns.length === 0) estimator.refuse('it keeps no columns.')
  return { kind: 'table', table: graph.select(x, columns) }
}
