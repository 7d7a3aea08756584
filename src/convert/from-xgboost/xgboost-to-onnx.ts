import { badRequest } from '../../domain/errors.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'
import { type GraphBuilder, graphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxModel } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'
import { TreeEnsemble, type TreeNode } from '../onnx/tree-ensemble.ts'
import { addOutputs, baseMargin, objectiveOf } from './objectives.ts'
import { readLearner, type XgboostPart } from './xgboost-model.ts'

interface Shape {
  readonly features: number
  /** The number of sums per row: one, or one per class or target. */
  readonly groups: number
}

/** The node columns of a tree, checked for equal length. */
const columnsOf = (tree: XgboostPart) => {
  const left = tree.numbers('left_children')
  const column = (name: string): ArrayLike<number> => {
    const values = tree.numbers(name)
    if (values.length === left.length) return values
    throw badRequest(`The XGBoost model is damaged: ${tree.path}.${name} has ${values.length} of ${left.length} nodes.`)
  }
  return {
    left,
    right: column('right_children'),
    condition: column('split_conditions'),
    feature: column('split_indices'),
    defaultLeft: column('default_left'),
  }
}

/** The categories of each categorical split; rows whose category is among them go right. */
const categoriesOf = (tree: XgboostPart): Map<number, ReadonlySet<number>> => {
  const categories = Array.from(tree.numbers('categories', 'empty'))
  const starts = tree.numbers('categories_segments', 'empty')
  const sizes = tree.numbers('categories_sizes', 'empty')
  return new Map(
    Array.from(tree.numbers('categories_nodes', 'empty'), (node, at) => {
      const own = categories.slice(starts[at], starts[at]! + sizes[at]!)
      if (own.length !== sizes[at] || own.length === 0)
        throw badRequest(`The XGBoost model is damaged: ${tree.path}.categories are too few.`)
      return [node, new Set(own)]
    }),
  )
}

/** Source: dmlc/xgboost src/common/categorical.h, Decision: other categories go left. */
const addTree = (ensemble: TreeEnsemble, tree: XgboostPart, group: number, weight: number): void => {
  const { left, right, condition, feature, defaultLeft } = columnsOf(tree)
  const categories = categoriesOf(tree)
  const splitTypes = tree.numbers('split_type', 'empty')
  const nodeOf = (node: number): TreeNode => {
    if (left[node] === undefined) throw badRequest(`The XGBoost model is damaged: ${tree.path} has no node ${node}.`)
    if (left[node] === -1) return { values: [Math.fround(condition[node]! * weight)], target: group }
    const missingTrue = defaultLeft[node] === 1
    const split = { feature: feature[node]!, whenTrue: left[node], whenFalse: right[node]!, missingTrue }
    if (splitTypes[node] !== 1) return { ...split, mode: 'BRANCH_LT', threshold: condition[node]! }
    const own = categories.get(node) ?? new Set()
    return { ...split, codes: Math.max(0, ...own) + 1, isTrue: (code) => code === null || !own.has(code) }
  }
  ensemble.add(nodeOf, left.length)
}

/** XGBClassifier and XGBRegressor ignore trees after the best iteration of early stopping; Booster does not. */
const usedTrees = (
  learner: XgboostPart,
  model: XgboostPart,
  groups: number,
  trees: number,
  notes: string[],
): number => {
  const attributes = learner.part('attributes')
  if (!attributes.has('scikit_learn') || !attributes.has('best_iteration')) return trees
  const perIteration = groups * Math.max(1, model.part('gbtree_model_param').count('num_parallel_tree'))
  const used = Math.min(trees, (attributes.count('best_iteration') + 1) * perIteration)
  if (used < trees)
    notes.push(`Only the first ${used} of ${trees} trees are used, up to the best iteration of early stopping.`)
  return used
}

const addTrees = (
  graph: GraphBuilder,
  x: string,
  learner: XgboostPart,
  shape: Shape,
  base: number[],
  notes: string[],
) => {
  const booster = learner.part('gradient_booster')
  const isDart = booster.text('name') === 'dart'
  const model = (isDart ? booster.part('gbtree') : booster).part('model')
  const trees = model.parts('trees')
  const weights = isDart ? booster.numbers('weight_drop') : null
  const groups = model.numbers('tree_info')
  if (trees.length === 0) throw badRequest('The XGBoost model has no trees: it was not trained.')
  if (groups.length !== trees.length || (weights !== null && weights.length !== trees.length))
    throw badRequest('The XGBoost model is damaged: it does not have as many trees as it declares.')
  const ensemble = new TreeEnsemble(shape.features, shape.groups)
  const used = usedTrees(learner, model, shape.groups, trees.length, notes)
  for (const [at, tree] of trees.slice(0, used).entries()) {
    if (tree.part('tree_param').count('size_leaf_vector') > 1)
      throw badRequest('Trees with vector leaves cannot be converted. Train with multi_strategy="one_output_per_tree".')
    addTree(ensemble, tree, groups[at]!, weights?.[at] ?? 1)
  }
  return ensemble.build(graph, x, base)
}

/** A linear model. As in XGBoost, missing values count as 0. Weights are ordered by feature, then group; the bias is last. */
const addLinear = (graph: GraphBuilder, x: string, learner: XgboostPart, shape: Shape, base: number[]): string => {
  const { features, groups } = shape
  const weights = Array.from(learner.part('gradient_booster').part('model').numbers('weights'))
  if (weights.length !== (features + 1) * groups)
    throw badRequest(`The XGBoost model is damaged: ${weights.length} weights for ${features} features.`)
  const bias = weights.splice(features * groups).map((value, group) => value + base[group]!)
  const present = graph.node('Where', [graph.node('IsNaN', [x]), graph.constant('zero', scalarOf('f32', 0)), x])
  const weight = graph.constant('weight', tensorOf('f32', [features, groups], weights))
  return graph.node('Gemm', [present, weight, graph.constant('bias', tensorOf('f32', [groups], bias))])
}

/**
 * Converts an XGBoost model (gbtree, dart, or gblinear) saved as JSON or UBJSON to ONNX: from `X`, float32 [batch, features]
 * with NaN for missing values, to `label` (i64) and `probabilities` for classes, otherwise `variable`. Equals XGBoost except
 * for rounding. Throws bad_request.
 */
export const xgboostToOnnx = (source: ByteSource): { model: OnnxModel; notes: string[] } => {
  const learner = readLearner(source)
  const notes: string[] = []
  const objectiveName = learner.part('objective').text('name')
  const objective = objectiveOf(objectiveName)
  const parameters = learner.part('learner_model_param')
  const features = parameters.count('num_feature')
  const groups = Math.max(1, parameters.count('num_class'), parameters.count('num_target'))
  if (features < 1 || features > 1_000_000 || groups > 10_000)
    throw badRequest(`The XGBoost model has ${features} features and ${groups} outputs, which is not supported.`)
  const scores = parameters.numbersInText('base_score')
  const base = Array.from({ length: groups }, (_, group) => baseMargin(objective, scores[group] ?? scores[0]!))

  const booster = learner.part('gradient_booster').text('name')
  if (!['gbtree', 'dart', 'gblinear'].includes(booster))
    throw badRequest(`The XGBoost booster '${booster}' cannot be converted; only gbtree, dart, and gblinear can be.`)
  const graph = graphBuilder('xgboost', { objective: objectiveName })
  const x = graph.input('X', 'f32', ['batch', features])
  const shape = { features, groups }
  const margin =
    booster === 'gblinear' ? addLinear(graph, x, learner, shape, base) : addTrees(graph, x, learner, shape, base, notes)
  addOutputs(graph, objective, margin, groups)
  if (objectiveName === 'multi:softmax')
    notes.push('The outputs are the label and the probabilities of multi:softprob.')
  return { model: graph.build(), notes }
}
