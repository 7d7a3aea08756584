import { badRequest } from '../../domain/errors.ts'
import type { GraphBuilder } from './graph-builder.ts'
import { floats, int, ints, text, texts } from './model.ts'
import { tensorOf } from './tensors.ts'

export type BranchMode = 'BRANCH_LEQ' | 'BRANCH_LT'

/** A comparison `x[feature] <mode> threshold` and its child nodes. */
export interface Branch {
  readonly feature: number
  readonly mode: BranchMode
  readonly threshold: number
  readonly whenTrue: number
  readonly whenFalse: number
  /** True if rows with a NaN feature go to `whenTrue`. */
  readonly missingTrue: boolean
}

/** A categorical split; categories are integers below `codes`. */
export interface CategoryBranch extends Pick<Branch, 'feature' | 'whenTrue' | 'whenFalse' | 'missingTrue'> {
  readonly codes: number
  /** True if rows of this category go to `whenTrue`; null means any number that is not a category. */
  readonly isTrue: (code: number | null) => boolean
}

/** The values that a leaf adds to the targets, beginning at `target`. */
export interface Leaf {
  readonly values: readonly number[]
  readonly target: number
}

export type TreeNode = Branch | CategoryBranch | Leaf

/** The maximum nodes of all trees in a model, to limit memory: about ten times the largest forests in use. */
const MAX_TREE_NODES = 4_000_000

/** The maximum count of numbers in the tables of all categorical splits. */
const MAX_CATEGORIES = 16_000_000

/** The largest float32 that is at most `value`: for float32 inputs, `x <= value` and `x <= result` are equivalent. */
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

/** Collects a model's decision trees for one TreeEnsembleRegressor that sums their leaves. */
export class TreeEnsemble {
  readonly #features: number
  readonly #targets: number
  #trees = 0
  #missing = false
  /** Categorical splits, each with an additional 0/1 column after the features. */
  readonly #splits: CategoryBranch[] = []
  #categories = 0
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
   * Adds the tree whose root is node 0. Nodes that are reached twice are stored twice; more than `maxNodes`, as in a cycle, are
   * refused. Throws bad_request, also for a feature or target that does not exist.
   */
  add(nodeOf: (id: number) => TreeNode, maxNodes: number): void {
    const tree = this.#trees++
    const nodes = this.#nodes
    const ids = [0]
    for (let id = 0; id < ids.length; id++) {
      if (ids.length > maxNodes) throw badRequest(`Tree ${tree} is damaged: a node has several parents.`)
      if (nodes.treeids.length >= MAX_TREE_NODES)
        throw badRequest(`The trees have more than ${MAX_TREE_NODES} nodes. Train fewer or shallower trees.`)
      const node = this.#compared(nodeOf(ids[id]!), tree)
      const isLeaf = 'values' in node
      nodes.treeids.push(tree)
      nodes.nodeids.push(id)
      nodes.modes.push(isLeaf ? 'LEAF' : node.mode)
      nodes.values.push(isLeaf ? 0 : Math.fround(node.threshold))
      nodes.truenodeids.push(isLeaf ? 0 : ids.push(node.whenTrue) - 1)
      nodes.falsenodeids.push(isLeaf ? 0 : ids.push(node.whenFalse) - 1)
      nodes.featureids.push(isLeaf ? 0 : node.feature)
      const missing = !isLeaf && node.missingTrue
      nodes.missing.push(missing ? 1 : 0)
      this.#missing ||= missing
      if (isLeaf) this.#leaf(tree, id, node.target, node.values)
    }
  }

  /** Adds the node that sums the trees' leaves and `base`, with shape [batch, targets]. Returns its output's name. */
  build(graph: GraphBuilder, x: string, base: readonly number[] = []): string {
    const { missing, modes, ...nodes } = this.#nodes
    return graph.node(
      'TreeEnsembleRegressor',
      [this.#withSplits(graph, x)],
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

  /** Converts a node to a comparison with a threshold: a categorical split compares its own column. */
  #compared(node: TreeNode, tree: number): Branch | Leaf {
    if ('values' in node) return node
    if (!(Number.isInteger(node.feature) && node.feature >= 0 && node.feature < this.#features))
      throw badRequest(`Tree ${tree} is damaged: it compares feature ${node.feature} of ${this.#features}.`)
    if ('mode' in node) return node
    this.#categories += node.codes + 2
    if (!(this.#categories <= MAX_CATEGORIES))
      throw badRequest(`The splits by categories have more than ${MAX_CATEGORIES} categories. Encode them as numbers.`)
    const feature = this.#features + this.#splits.push(node) - 1
    const { whenTrue, whenFalse } = node
    return { feature, mode: 'BRANCH_LEQ', threshold: 0.5, whenTrue, whenFalse, missingTrue: false }
  }

  /** Appends a column for each categorical split to the features: 0 for rows that go to `whenTrue`, otherwise 1. */
  #withSplits(graph: GraphBuilder, x: string): string {
    const splits = this.#splits
    if (splits.length === 0) return x
    const vector = (type: 'f32' | 'i64', values: readonly number[]) =>
      graph.constant('categories', tensorOf(type, [values.length], values))
    const features = splits.map(({ feature }) => feature)
    const own = graph.node('Gather', [x, vector('i64', features)], { axis: int(1) })
    const codes = splits.map((split) => split.codes)
    const limits = vector('f32', codes)
    const isCode = graph.node('And', [
      graph.node('GreaterOrEqual', [own, vector('f32', [0])]),
      graph.node('Less', [own, limits]),
    ])
    const known = graph.node('Where', [isCode, own, limits])
    const missing = vector(
      'f32',
      codes.map((count) => count + 1),
    )
    const code = graph.node('Where', [graph.node('IsNaN', [own]), missing, known])
    const starts: number[] = []
    const rows: number[] = []
    for (const { codes: count, isTrue, missingTrue } of splits) {
      starts.push(rows.length)
      for (let at = 0; at <= count; at++) rows.push(isTrue(at < count ? at : null) ? 0 : 1)
      rows.push(missingTrue ? 0 : 1)
    }
    const place = graph.node('Add', [graph.node('Cast', [code], { to: int(7) }), vector('i64', starts)])
    return graph.node('Concat', [x, graph.node('Gather', [vector('f32', rows), place])], { axis: int(1) })
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
