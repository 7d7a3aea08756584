import { int } from '../onnx/model.ts'
import { scalarOf } from '../onnx/tensors.ts'
import { TreeEnsemble } from '../onnx/tree-ensemble.ts'
import type { Estimator } from './estimator.ts'
import { byScores, type Converter, classesOf, inliers, valuesResult } from './result.ts'
import { addFittedTree, type FittedTree, fittedTree, sumOf } from './trees.ts'

const treesIn = (estimator: Estimator): FittedTree[] => {
  const trees = estimator.estimators('estimators_')
  const other = trees.find((tree) => !/^(Decision|Extra)Tree/.test(tree.type))
  if (other !== undefined) estimator.refuse(`boosting of ${other.type} cannot be converted; boosting of trees can.`)
  return trees.map(fittedTree)
}

/** A tree's vote. Source: AdaBoostClassifier.decision_function, before and since scikit-learn 1.6. */
const voteOf = (estimator: Estimator, classes: number): ((values: number[], weight: number) => number[]) => {
  const against = estimator.version() >= 1.06 ? -1 / (classes - 1) : 0
  if (estimator.text('algorithm', 'SAMME') !== 'SAMME.R')
    return (values, weight) => {
      const top = values.indexOf(Math.max(...values))
      return values.map((_, at) => (at === top ? weight : against * weight))
    }
  return (values) => {
    const total = values.reduce((sum, value) => sum + value, 0)
    const logs = values.map((value) => Math.log(Math.max(value / total, 2 ** -52)))
    const mean = logs.reduce((sum, value) => sum + value, 0) / classes
    return logs.map((value) => (classes - 1) * (value - mean))
  }
}

export const adaBoostClassifier: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const trees = treesIn(estimator)
  const weights = Array.from(estimator.numbers('estimator_weights_').data)
  const vote = voteOf(estimator, count)
  const ensemble = new TreeEnsemble(x.columns, count)
  for (const [at, tree] of trees.entries()) addFittedTree(ensemble, tree, (values) => vote(values, weights[at] ?? 0))
  const total = weights.reduce((all, weight) => all + weight, 0)
  const decision = graph.divide(sumOf(ensemble, x, graph), graph.scalar(total))
  if (count > 2) {
    const probabilities = graph.softmax(graph.divide(decision, graph.scalar(count - 1)))
    return byScores(graph, classes, decision, probabilities)
  }
  const margin = graph.subtract(graph.gather(decision, [1]), graph.gather(decision, [0]))
  return byScores(graph, classes, margin, graph.twoClasses(graph.emit('Sigmoid', [margin])))
}

/** The weighted median of the trees. Source: AdaBoostRegressor._get_median_predict. */
export const adaBoostRegressor: Converter = (estimator, x, graph) => {
  const trees = treesIn(estimator)
  const ensemble = new TreeEnsemble(x.columns, trees.length)
  for (const [at, tree] of trees.entries()) addFittedTree(ensemble, tree, (values) => values.slice(0, 1), at)
  const each = ensemble.build(graph.builder, graph.as(x, 'f32'))
  const [sorted, order] = graph.builder.nodes('TopK', [each, graph.integers([trees.length])], ['sorted', 'order'], {
    largest: int(0),
    axis: int(1),
  })
  const weights = graph.vector(estimator.vector('estimator_weights_', trees.length))
  const own = graph.emit('Gather', [weights, order!], { axis: int(0) })
  const axis = graph.builder.constant('axis', scalarOf('i64', 1))
  const reached = graph.emit('CumSum', [own, axis])
  const middle = graph.multiply(graph.gather(reached, [trees.length - 1]), graph.scalar(0.5))
  const above = graph.indicator(graph.emit('GreaterOrEqual', [reached, middle]))
  const first = graph.emit('ArgMax', [above], { axis: int(1), keepdims: int(1) })
  const median = graph.emit('GatherElements', [sorted!, first], { axis: int(1) })
  return valuesResult(graph.castTo(median, 'f64'), 1)
}

const EULER = 0.5772156649015329

/** The mean path length of unsuccessful searches in a tree of this many samples (Liu, Ting and Zhou, 2008). */
const pathLength = (samples: number): number => {
  if (samples <= 1) return 0
  if (samples <= 2) return 1
  return 2 * (Math.log(samples - 1) + EULER) - (2 * (samples - 1)) / samples
}

const depthsOf = (tree: FittedTree): Float64Array => {
  const depths = new Float64Array(tree.left.length)
  // Children come after their parents.
  for (let node = 0; node < tree.left.length; node++) {
    if (tree.left[node] === -1) continue
    for (const child of [tree.left[node]!, tree.right[node]!]) depths[child] = depths[node]! + 1
  }
  return depths
}

export const isolationForest: Converter = (estimator, x, graph) => {
  const trees = estimator.estimators('estimators_')
  const subsets = estimator.list('estimators_features_')
  const ensemble = new TreeEnsemble(x.columns, 1)
  for (const [at, item] of trees.entries()) {
    const fitted = fittedTree(item)
    const subset = estimator.asNumbers(subsets[at] ?? null, 'estimators_features_').data
    const depths = depthsOf(fitted)
    const feature = Array.from(fitted.feature, (own) => (own < 0 ? own : (subset[own] ?? -1)))
    const leaf = (_: number[], node: number) => [depths[node]! + pathLength(fitted.samples[node]!)]
    addFittedTree(ensemble, { ...fitted, feature }, leaf)
  }
  const scale = -1 / (trees.length * pathLength(estimator.number('_max_samples', estimator.number('max_samples_'))))
  const sum = sumOf(ensemble, x, graph)
  const score = graph.emit('Neg', [graph.emit('Pow', [graph.scalar(2), graph.multiply(sum, graph.scalar(scale))])])
  const decision = graph.subtract(score, graph.scalar(estimator.number('offset_')))
  return inliers(graph, decision, 'GreaterOrEqual')
}
