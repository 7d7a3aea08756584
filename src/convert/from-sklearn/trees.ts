import { floatAtMost, TreeEnsemble, type TreeNode } from '../onnx/tree-ensemble.ts'
import type { Estimator } from './estimator.ts'
import { byProbability, type Converter, classesOf, valuesResult } from './result.ts'
import type { Table, TableGraph } from './table.ts'

/** A fitted tree of sklearn.tree: its node columns, and the values of each node, one row per node. */
export interface FittedTree {
  readonly left: ArrayLike<number>
  readonly right: ArrayLike<number>
  readonly feature: ArrayLike<number>
  readonly threshold: ArrayLike<number>
  readonly missingLeft: ArrayLike<number> | null
  readonly samples: ArrayLike<number>
  readonly values: ArrayLike<number>
  /** The number of values per node. */
  readonly width: number
}

/** The cost of a tree in addition to its nodes, in numbers: a file can reference a small tree a million times. */
const TREE_COST = 1000

/** Reads the `tree_` of a decision tree. Source: sklearn/tree/_tree.pyx, Tree.__reduce__. */
export const fittedTree = (estimator: Estimator): FittedTree => {
  estimator.spend(TREE_COST)
  const tree = estimator.estimator('tree_')
  const nodes = tree.array('nodes')
  const values = tree.numbers('values')
  const left = tree.field(nodes, 'left_child')
  const width = values.data.length / left.length
  if (!Number.isInteger(width) || width === 0) tree.refuse('it does not have values for each of its nodes.')
  return {
    left,
    right: tree.field(nodes, 'right_child'),
    feature: tree.field(nodes, 'feature'),
    threshold: tree.field(nodes, 'threshold'),
    missingLeft: tree.hasField(nodes, 'missing_go_to_left') ? tree.field(nodes, 'missing_go_to_left') : null,
    samples: tree.field(nodes, 'n_node_samples'),
    values: values.data,
    width,
  }
}

/** Rows are compared as float32, so a threshold becomes the largest float32 that is not above it. */
export const addFittedTree = (
  ensemble: TreeEnsemble,
  tree: FittedTree,
  leaf: (values: number[], node: number) => number[],
  target = 0,
): void => {
  const { left, right, feature, threshold, missingLeft, values, width } = tree
  const nodeOf = (node: number): TreeNode => {
    if (!(node >= 0 && node < left.length)) return { values: [], target }
    if (left[node] === -1) {
      const own = Array.from({ length: width }, (_, at) => values[node * width + at]!)
      return { values: leaf(own, node), target }
    }
    return {
      feature: feature[node]!,
      mode: 'BRANCH_LEQ',
      threshold: floatAtMost(threshold[node]!),
      whenTrue: left[node]!,
      whenFalse: right[node]!,
      missingTrue: missingLeft?.[node] === 1,
    }
  }
  ensemble.add(nodeOf, left.length)
}

const asIs = (values: number[]): number[] => values

/** In scikit-learn before 1.3, trees hold the number of samples of each class. */
const asProbabilities = (values: number[]): number[] => {
  const total = values.reduce((sum, value) => sum + value, 0)
  return values.map((value) => (total === 0 ? 0 : value / total))
}

export const sumOf = (ensemble: TreeEnsemble, x: Table, graph: TableGraph, base: readonly number[] = []): string =>
  graph.castTo(ensemble.build(graph.builder, graph.as(x, 'f32'), base), 'f64')

/** The mean of the trees' leaves. */
const meanOf = (trees: readonly Estimator[], x: Table, graph: TableGraph, width: number, leaf: typeof asIs): string => {
  const ensemble = new TreeEnsemble(x.columns, width)
  for (const tree of trees) addFittedTree(ensemble, fittedTree(tree), leaf)
  const sum = sumOf(ensemble, x, graph)
  return trees.length === 1 ? sum : graph.divide(sum, graph.scalar(trees.length))
}

export const treesOf = (estimator: Estimator): Estimator[] =>
  estimator.has('tree_') ? [estimator] : estimator.estimators('estimators_')

/** A decision tree or the mean of a forest (random forests and extra trees). */
export const treeClassifier: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  return byProbability(graph, classes, meanOf(treesOf(estimator), x, graph, count, asProbabilities))
}

export const treeRegressor: Converter = (estimator, x, graph) => {
  const outputs = estimator.number('n_outputs_', 1)
  return valuesResult(meanOf(treesOf(estimator), x, graph, outputs, asIs), outputs)
}

const EPSILON = 2 ** -23
const logit = (probability: number): number => {
  const inside = Math.min(Math.max(probability, EPSILON), 1 - EPSILON)
  return Math.log(inside / (1 - inside))
}

/** The initial values of gradient boosting, one per output. Source: BaseGradientBoosting._init_state. */
const startOf = (estimator: Estimator, outputs: number, isExponential: boolean): number[] => {
  if (!estimator.has('init_') || estimator.get('init_') === 'zero') return Array<number>(outputs).fill(0)
  const init = estimator.estimator('init_')
  if (init.type === 'DummyRegressor') return init.vector('constant_', outputs)
  if (init.type !== 'DummyClassifier' || init.text('strategy') !== 'prior')
    return estimator.refuse(`the initial estimator ${init.type} cannot be converted. Train with init=None or "zero".`)
  if (outputs === 1) return [logit(init.vector('class_prior_', 2)[1]!) * (isExponential ? 0.5 : 1)]
  return init.vector('class_prior_', outputs).map((prior) => Math.log(Math.min(Math.max(prior, EPSILON), 1 - EPSILON)))
}

const boosted = (estimator: Estimator, x: Table, graph: TableGraph, outputs: number): string => {
  const rate = estimator.number('learning_rate')
  const isExponential = estimator.text('loss') === 'exponential'
  const ensemble = new TreeEnsemble(x.columns, outputs)
  for (const [at, tree] of estimator.estimators('estimators_').entries())
    addFittedTree(ensemble, fittedTree(tree), (values) => values.map((value) => value * rate), at % outputs)
  return sumOf(ensemble, x, graph, startOf(estimator, outputs, isExponential))
}

export const byMargins = (graph: TableGraph, margins: string, outputs: number): string =>
  outputs === 1 ? graph.twoClasses(graph.emit('Sigmoid', [margins])) : graph.softmax(margins)

export const gradientBoostingRegressor: Converter = (estimator, x, graph) =>
  valuesResult(boosted(estimator, x, graph, 1), 1)

export const gradientBoostingClassifier: Converter = (estimator, x, graph) => {
  const { classes, count } = classesOf(estimator)
  const outputs = count === 2 ? 1 : count
  const margins = boosted(estimator, x, graph, outputs)
  const isExponential = estimator.text('loss') === 'exponential'
  const scaled = isExponential ? graph.multiply(margins, graph.scalar(2)) : margins
  return byProbability(graph, classes, byMargins(graph, scaled, outputs))
}
