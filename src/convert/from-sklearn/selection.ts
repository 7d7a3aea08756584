// Transformers that keep some of their columns.
import type { Estimator } from './estimator.ts'
import type { Converter } from './result.ts'

const finite = (values: ArrayLike<number>): number[] =>
  Array.from(values, (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value))

/** The `k` columns of the highest scores; of equal ones the last, as a stable sort has it. */
const best = (estimator: Estimator, columns: number): number[] => {
  const scores = finite(estimator.vector('scores_', columns))
  const all = [...scores.keys()]
  if (estimator.get('k') === 'all') return all
  const sorted = all.sort((a, b) => scores[a]! - scores[b]! || a - b)
  return sorted.slice(Math.max(0, columns - estimator.number('k'))).sort((a, b) => a - b)
}

const kept = (estimator: Estimator, columns: number): number[] => {
  const indices = Array.from({ length: columns }, (_, at) => at)
  if (estimator.type === 'SelectKBest') return best(estimator, columns)
  if (estimator.type === 'VarianceThreshold') {
    const variances = estimator.vector('variances_', columns)
    return indices.filter((at) => variances[at]! > estimator.number('threshold'))
  }
  const support = estimator.vector('support_', columns)
  return indices.filter((at) => support[at] !== 0)
}

export const selection: Converter = (estimator, x, graph) => {
  const columns = kept(estimator, x.columns)
  if (columns.length === 0) estimator.refuse('it keeps no columns.')
  return { kind: 'table', table: graph.select(x, columns) }
}
