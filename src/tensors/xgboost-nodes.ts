import { badRequest } from '../domain/errors.ts'
import { numbersOf, type XgboostCodec, type XgboostValue } from './xgboost-document.ts'

/** Lists with one number for each node. */
const PER_NODE = ['left_children', 'right_children', 'split_indices', 'split_conditions', 'default_left']
/** In trees with one output, and not written by every program. */
const OTHERS_PER_NODE = ['parents', 'split_type', 'loss_changes', 'sum_hessian', 'base_weights']
const CATEGORIES = ['categories_nodes', 'categories_segments', 'categories_sizes', 'categories']

type Four = [number[], number[], number[], number[]]

/**
 * Checks one tree of a model: the lengths of its lists, the nodes that are reached from the root (pruning leaves others), and
 * its leaves. Throws bad_request naming the tree, the node, and the fault.
 */
export const requireSoundTree = (
  codec: XgboostCodec,
  tree: ReadonlyMap<string, XgboostValue>,
  { index, features }: { readonly index: number; readonly features: number },
): void => {
  const parameters = tree.get('tree_param')
  const count = parameters instanceof Map ? Number(parameters.get('num_nodes')) : 0
  const hasVectors = parameters instanceof Map && Number(parameters.get('size_leaf_vector')) > 1
  const fault = (reason: string) =>
    badRequest(`Tree ${index} of the XGBoost model is damaged: ${reason}. Save the model again with save_model().`)

  const present = hasVectors ? [] : OTHERS_PER_NODE.filter((name) => tree.has(name))
  const lists = new Map([...PER_NODE, ...present].map((name) => [name, numbersOf(codec, tree.get(name))]))
  if (!(count >= 1)) throw fault('it has no nodes')
  for (const [name, { length }] of lists) {
    if (length !== count) throw fault(`${name} has ${length} values for ${count} nodes`)
  }
  const [left, right, feature, condition] = PER_NODE.map((name) => lists.get(name)!) as Four
  const [nodes, starts, sizes, categories] = CATEGORIES.map((name) => numbersOf(codec, tree.get(name))) as Four
  const areWhole = nodes.every((node, at) => node >= 0 && node < count && starts[at]! + sizes[at]! <= categories.length)
  if (starts.length !== nodes.length || sizes.length !== nodes.length || !areWhole)
    throw fault('the categories of a node are missing')
  const isReached = new Uint8Array(count)
  const waiting = [0]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (isReached[node] === 1) throw fault(`node ${node} has more than one parent, or is in a cycle`)
    isReached[node] = 1
    if (left[node] === -1) continue
    for (const child of [left[node]!, right[node]!]) {
      if (!(Number.isInteger(child) && child >= 0 && child < count))
        throw fault(`node ${node} has the child ${child}, but there are ${count} nodes`)
      waiting.push(child)
    }
    if (!(feature[node]! >= 0 && feature[node]! < features))
      throw fault(`node ${node} splits on feature ${feature[node]}, but the model has ${features} features`)
  }
  // Conditions of other nodes may be NaN (a split by categories) or infinite (a split by whether a value is missing). The
  // leaves of trees with several outputs are their weights.
  const areFinite =
    hasVectors || condition.every((value, node) => left[node] !== -1 || Number.isFinite(Math.fround(value)))
  const weights = ['base_weights', 'leaf_weights'].flatMap((name) => numbersOf(codec, tree.get(name)))
  if (areFinite && weights.every((value) => Number.isFinite(Math.fround(value)))) return
  throw badRequest(
    `Tree ${index} of the XGBoost model contains NaN or infinity in its leaves. Training has diverged: check the labels, the ` +
      'weights, and the objective, or lower eta.',
  )
}
