// Tree ensembles: every row descends all trees at once, using tables of nodes. Source: Nakandala et al. 2020 (Hummingbird),
// section 4.2, tree traversal.
import { badRequest } from '../../../domain/errors.ts'
import { attributeOf, elementCount, type OnnxNode } from '../../onnx/model.ts'
import { type Lower, type Lowering, reshape } from '../lowering.ts'
import type { Tensor } from '../tflite-graph.ts'
import { arithmetic } from './arithmetic.ts'
import { classOutputs } from './classical.ts'
import { reduceTensor } from './reductions.ts'
import { gather } from './slices.ts'

const MAX_DEPTH = 200
/** Rows times trees. */
const MAX_PLACES = 2 ** 22

const ints = (node: OnnxNode, name: string): readonly number[] => attributeOf(node, name, 'ints', [])
const floats = (node: OnnxNode, name: string): readonly number[] => attributeOf(node, name, 'floats', [])

/** The next lower float32: `x < t` is `x <= before(t)`. */
const before = (value: number): number => {
  const bits = new Int32Array(Float32Array.of(value).buffer)
  if (Math.fround(value) === 0) return -1.401298464324817e-45
  bits[0] = bits[0]! + (value > 0 ? -1 : 1)
  return new Float32Array(bits.buffer)[0]!
}

interface Nodes {
  /** For each node of all trees: the feature, the threshold, and the next nodes if the comparison holds or not. */
  readonly feature: number[]
  readonly threshold: number[]
  readonly yes: number[]
  readonly no: number[]
  readonly missingYes: number[]
  /** 1 if the value must equal the threshold. */
  readonly equal: number[]
  readonly roots: number[]
  readonly depth: number
  readonly at: ReadonlyMap<string, number>
}

const readNodes = (node: OnnxNode): Nodes => {
  const [trees, ids] = [ints(node, 'nodes_treeids'), ints(node, 'nodes_nodeids')]
  const [values, features] = [floats(node, 'nodes_values'), ints(node, 'nodes_featureids')]
  const [trues, falses] = [ints(node, 'nodes_truenodeids'), ints(node, 'nodes_falsenodeids')]
  const modes = attributeOf(node, 'nodes_modes', 'strings', [])
  const missing = ints(node, 'nodes_missing_value_tracks_true')
  if (
    trees.length === 0 ||
    [ids, values, features, trues, falses, modes].some((list) => list.length !== trees.length)
  ) {
    throw badRequest(
      'Its lists of nodes have different lengths, or are stored as tensors; only float32 lists are supported.',
    )
  }
  const at = new Map(ids.map((id, index) => [`${trees[index]} ${id}`, index]))
  const roots = [...new Map(trees.map((tree, index) => [tree, index] as const).reverse()).values()]
  const nodes: Nodes = { feature: [], threshold: [], yes: [], no: [], missingYes: [], equal: [], roots, depth: 0, at }
  for (const [index, mode] of modes.entries()) {
    const leaf = mode === 'LEAF'
    const child = (list: readonly number[]): number => {
      const found = leaf ? index : at.get(`${trees[index]} ${list[index]}`)
      if (found === undefined)
        throw badRequest(`Node ${ids[index]} of tree ${trees[index]} leads to a node that does not exist.`)
      return found
    }
    const [yes, no] = [child(trues), child(falses)]
    const swap = ['BRANCH_GT', 'BRANCH_GTE', 'BRANCH_NEQ'].includes(mode)
    if (!leaf && !swap && !['BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_EQ'].includes(mode)) {
      throw badRequest(`Branches by ${mode} are not supported.`)
    }
    nodes.equal.push(mode === 'BRANCH_EQ' || mode === 'BRANCH_NEQ' ? 1 : 0)
    nodes.feature.push(leaf ? 0 : features[index]!)
    nodes.threshold.push(mode === 'BRANCH_LT' || mode === 'BRANCH_GTE' ? before(values[index]!) : values[index]!)
    nodes.yes.push(swap ? no : yes)
    nodes.no.push(swap ? yes : no)
    // Comparisons with a missing value are false, so it takes the other way if the node requires that.
    const tracks = !leaf && (missing[index] ?? 0) !== 0
    nodes.missingYes.push(swap !== tracks ? 1 : 0)
  }
  return { ...nodes, depth: depthOf(nodes) }
}

const depthOf = ({ yes, no, roots }: Nodes): number => {
  let level = new Set(roots)
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const next = new Set([...level].flatMap((at) => (yes[at] === at && no[at] === at ? [] : [yes[at]!, no[at]!])))
    if (next.size === 0) return depth
    level = next
  }
  throw badRequest(`Its trees are deeper than ${MAX_DEPTH}, or have a cycle.`)
}

/** The sums of all trees' leaf weights: [rows, targets]. */
const sums = (node: Lowering, kind: 'target' | 'class', targets: number): Tensor => {
  const { graph } = node
  const nodes = readNodes(node.node)
  const [rows, width] = inputRows(node)
  if (nodes.feature.some((feature) => feature >= width))
    throw badRequest(`It reads features beyond the ${width} of its input.`)
  const [feature, threshold] = [graph.vector('i32', nodes.feature), graph.vector('f32', nodes.threshold)]
  const [yes, no] = [graph.vector('i32', nodes.yes), graph.vector('i32', nodes.no)]
  const exact = nodes.equal.includes(1) ? graph.vector('i32', nodes.equal) : null
  const missing = nodes.missingYes.includes(1) ? graph.vector('i32', nodes.missingYes) : null
  const x = reshape(graph, node.value(0), [rows, width])
  const shape = [rows, nodes.roots.length]
  if (elementCount(shape) > MAX_PLACES) {
    throw badRequest(
      `${rows} rows for ${nodes.roots.length} trees are too many at once. Give an input shape with fewer rows.`,
    )
  }
  const { equal, notEqual, lessEqual, and, or, select } = arithmetic(graph)
  const look = (table: Tensor, at: Tensor) => gather(graph, table, at, 0)
  const isSet = (table: Tensor, at: Tensor) => equal(look(table, at), graph.scalar('i32', 1))
  let place = graph.constant('i32', shape, Array.from({ length: rows }, () => nodes.roots).flat())
  for (let depth = 0; depth < nodes.depth; depth++) {
    const value = gather(graph, x, look(feature, place), 1, 1)
    let holds = lessEqual(value, look(threshold, place))
    if (exact !== null) {
      const same = equal(value, look(threshold, place))
      holds = select(isSet(exact, place), same, holds)
    }
    if (missing !== null) holds = or(holds, and(notEqual(value, value), isSet(missing, place)))
    place = graph.operator('SELECT_V2', [holds, look(yes, place), look(no, place)], { shape, type: 'i32' })
  }
  const found = gather(graph, leafWeights(node, nodes, kind, targets), place, 0)
  return totalOf(node, found, nodes.roots.length, targets)
}

const totalOf = (node: Lowering, found: Tensor, trees: number, targets: number): Tensor => {
  const { graph } = node
  const kinds = { SUM: 'SUM', AVERAGE: 'SUM', MIN: 'REDUCE_MIN', MAX: 'REDUCE_MAX' } as const
  const kind = node.text('aggregate_function', 'SUM')
  const operator = kinds[kind as keyof typeof kinds]
  if (operator === undefined) throw badRequest(`The aggregate function '${kind}' does not exist.`)
  const { add, mul } = arithmetic(graph)
  const total = reshape(graph, reduceTensor(graph, operator, found, [1]), [found.shape[0]!, targets])
  const result = kind === 'AVERAGE' ? mul(total, 1 / trees) : total
  const base = floats(node.node, 'base_values')
  return base.length === 0 || base.length !== targets ? result : add(result, graph.vector('f32', base))
}

const leafWeights = (node: Lowering, nodes: Nodes, kind: 'target' | 'class', targets: number): Tensor => {
  const values = new Float64Array(nodes.feature.length * targets)
  const [trees, ids] = [ints(node.node, `${kind}_treeids`), ints(node.node, `${kind}_nodeids`)]
  const [columns, weights] = [ints(node.node, `${kind}_ids`), floats(node.node, `${kind}_weights`)]
  for (const [index, weight] of weights.entries()) {
    const at = nodes.at.get(`${trees[index]} ${ids[index]}`)
    const column = targets === 1 ? 0 : columns[index]!
    if (at === undefined || !(column < targets))
      throw badRequest(`Weight ${index} belongs to no leaf, or to no target.`)
    values[at * targets + column] = values[at * targets + column]! + weight
  }
  return node.graph.constant('f32', [nodes.feature.length, targets], values)
}

const inputRows = (node: Lowering): [number, number] => {
  const { shape } = node.input(0)
  if (shape.length > 2 || shape.length === 0)
    throw badRequest(`Its input has ${shape.length} dimensions; rows of features are expected.`)
  return shape.length === 1 ? [1, shape[0]!] : [shape[0]!, shape[1]!]
}

const regressor: Lower = (node) => {
  if (node.text('post_transform', 'NONE') !== 'NONE')
    throw badRequest('post_transform of a regressor is not supported.')
  node.define(sums(node, 'target', node.int('n_targets', 1)))
}

/** With two classes and weights for only one, the other's score is derived. Source: onnxruntime, tree_ensemble_aggregator.h. */
const classifier: Lower = (node) => {
  const ids = new Set(ints(node.node, 'class_ids'))
  const classes = node.result(1).shape.at(-1)!
  const base = floats(node.node, 'base_values')
  const binary = classes === 2 && ids.size === 1 && base.length < 2
  if (!binary) return classOutputs(node, sums(node, 'class', classes), 'scores')
  const score = sums(node, 'class', 1)
  const positive = floats(node.node, 'class_weights').every((weight) => weight >= 0)
  classOutputs(node, score, positive ? 'probability of the second' : 'score of the second')
}

export const TREES: Readonly<Record<string, Lower>> = {
  TreeEnsembleClassifier: classifier,
  TreeEnsembleRegressor: regressor,
}
