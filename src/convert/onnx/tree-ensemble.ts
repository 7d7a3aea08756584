import { badRequest } from '../../domain/errors.ts'
import type { GraphBuilder } from './graph-builder.ts'
import { floats, int, ints, text, texts } from './model.ts'

export type BranchMode = 'BRANCH_LEQ' | 'BRANCH_LT' | 'BRANCH_EQ'

/** A comparison `x[feature] <mode> threshold`, and the nodes below. */
export interface Branch {
  readonly feature: number
  readonly mode: BranchMode
  readonly threshold: number
  readonly whenTrue: number
  readonly whenFalse: number
  /** Where rows go whose feature is NaN. */
  readonly missingTrue: boolean
}

/** The values that a leaf adds to the targets from `target` on. */
export interface Leaf {
  readonly values: readonly number[]
  readonly target: number
}

export type TreeNode = Branch | Leaf

/** Nodes of all trees of a model: a bound on memory, about ten times the largest forests in use. */
const MAX_TREE_NODES = 4_000_000

/** The largest float32 that is at most `value`: for float32 inputs, `x <= value` and `x <= result` are the same. */
export const floatAtMost = (value: number): number => {
  const rounded = Math.fround(value)
  if (!(rounded > value)) return rounded
  const bits = new DataView(new ArrayBuffer(4))
  bits.setFloat32(0, rounded)
  if (rounded === 0) return -(2 ** -149)
  bits.setInt32(0, bits.getInt32(0) + (rounded > 0 ? -1 : 1))
  return bits.getFloat32(0)
}

const requireFloat = (value: number): number => {
  if (Number.isFinite(Math.fround(value))) return value
  throw badRequest(`The trees are damaged: a leaf has the value ${value}, which no float32 has.`)
}

/** The decision trees of a model, collected for one TreeEnsembleRegressor that adds up their leaves. */
export class TreeEnsemble {
  readonly #features: number
  readonly #targets: number
  #trees = 0
  #missing = false
  readonly #nodes = {
    treeids: [] as number[],
    nodeids: [] as number[],
    featureids: [] as number[],
    modes: [] as string[],
    values: [] as number[],
    truenodeids: [] as number[],
    falsenodeids: [] as number[],
    missing: [] as number[],
  }
  readonly #leaves = { treeids: [] as number[], nodeids: [] as number[], ids: [] as number[], weights: [] as number[] }

  constructor(features: number, targets: number) {
    this.#features = features
    this.#targets = targets
  }

  /**
   * Adds the tree below `root`. Nodes that are reached twice are there twice; more than `maxNodes`, as in a cycle, are
   * refused. Throws bad_request, also for a feature or target that does not exist.
   */
  add(root: number, nodeOf: (id: number) => TreeNode, maxNodes: number): void {
    const tree = this.#trees++
    const nodes = this.#nodes
    const ids = [root]
    for (let id = 0; id < ids.length; id++) {
      if (ids.length > maxNodes) throw badRequest(`Tree ${tree} is damaged: a node has several parents.`)
      if (nodes.treeids.length >= MAX_TREE_NODES)
        throw badRequest(`The trees have more than ${MAX_TREE_NODES} nodes. Train fewer or shallower trees.`)
      const node = nodeOf(ids[id]!)
      const isLeaf = 'values' in node
      nodes.treeids.push(tree)
      nodes.nodeids.push(id)
      nodes.modes.push(isLeaf ? 'LEAF' : node.mode)
      nodes.values.push(isLeaf ? 0 : Math.fround(node.threshold))
      nodes.truenodeids.push(isLeaf ? 0 : ids.push(node.whenTrue) - 1)
      nodes.falsenodeids.push(isLeaf ? 0 : ids.push(node.whenFalse) - 1)
      nodes.featureids.push(isLeaf ? 0 : this.#requireFeature(node.feature, tree))
      const missing = !isLeaf && node.missingTrue
      nodes.missing.push(missing ? 1 : 0)
      this.#missing ||= missing
      if (isLeaf) this.#leaf(tree, id, node.target, node.values)
    }
  }

  /** The node that adds up the trees' leaves and `base`, of shape [batch, targets]. Returns the name of its output. */
  build(graph: GraphBuilder, x: string, base: readonly number[] = []): string {
    const { missing, modes, ...nodes } = this.#nodes
    return graph.node(
      'TreeEnsembleRegressor',
      [x],
      {
        n_targets: int(this.#targets),
        aggregate_function: text('SUM'),
        post_transform: text('NONE'),
        ...(base.length > 0 ? { base_values: floats(base.map(requireFloat)) } : {}),
        nodes_modes: texts(modes),
        ...Object.fromEntries(
          Object.entries(nodes).map(([name, list]) => [`nodes_${name}`, name === 'values' ? floats(list) : ints(list)]),
        ),
        nodes_hitrates: floats(nodes.treeids.map(() => 1)),
        ...(this.#missing ? { nodes_missing_value_tracks_true: ints(missing) } : {}),
        target_treeids: ints(this.#leaves.treeids),
        target_nodeids: ints(this.#leaves.nodeids),
        target_ids: ints(this.#leaves.ids),
        target_weights: floats(this.#leaves.weights),
      },
      { domain: 'ai.onnx.ml', output: 'trees' },
    )
  }

  #requireFeature(feature: number, tree: number): number {
    if (Number.isInteger(feature) && feature >= 0 && feature < this.#features) return feature
    throw badRequest(`Tree ${tree} is damaged: it compares feature ${feature} of ${this.#features}.`)
  }

  #leaf(tree: number, node: number, target: number, values: readonly number[]): void {
    if (!(target >= 0 && target + values.length <= this.#targets) || values.length === 0)
      throw badRequest(`Tree ${tree} is damaged: its leaves have ${values.length} values for ${this.#targets} targets.`)
    for (const [at, value] of values.entries()) {
      if (value === 0 && at > 0) continue
      if (this.#leaves.ids.length >= 2 * MAX_TREE_NODES)
        throw badRequest(`The leaves have more than ${2 * MAX_TREE_NODES} values. Train fewer or shallower trees.`)
      this.#leaves.treeids.push(tree)
      this.#leaves.nodeids.push(node)
      this.#leaves.ids.push(target + at)
      this.#leaves.weights.push(requireFloat(value))
    }
  }
}
