// Decision trees (ai.onnx.ml) as matrix products.
import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { attributeOf } from '../onnx/model.ts'
import { floatAtMost } from '../onnx/tree-ensemble.ts'
import { floatsOf, intsOf, label, transformed } from './scores.ts'
import { type Rule, reshaped, type Step } from './step.ts'

interface Branch {
  readonly feature: number
  readonly threshold: number
  readonly missingTrue: boolean
}

interface Leaf {
  /** The branches on the way to the leaf, and whether they must be true. */
  readonly path: readonly (readonly [branch: number, isTrue: boolean])[]
  readonly values: ReadonlyMap<number, number>
}

interface Tree {
  readonly branches: Branch[]
  readonly leaves: Leaf[]
}

const MAX_MATRIX = 2 ** 24
const MAX_DEPTH = 512

/** Each comparison as `x <= threshold`, and whether its children are swapped. */
const asAtMost = (mode: string, threshold: number): readonly [number, boolean] => {
  const before = () => floatAtMost(threshold - Math.abs(threshold) * 2 ** -30 - 2 ** -149)
  if (mode === 'BRANCH_LEQ') return [threshold, false]
  if (mode === 'BRANCH_GT') return [threshold, true]
  if (mode === 'BRANCH_LT') return [before(), false]
  if (mode === 'BRANCH_GTE') return [before(), true]
  throw badRequest(`Branches of the mode ${mode} are not supported in Core ML.`)
}

const treesOf = (step: Step, prefix: 'target' | 'class'): Tree[] => {
  const of = (name: string) => intsOf(step, `nodes_${name}`)
  const [treeIds, nodeIds, features, whenTrue, whenFalse] = [
    'treeids',
    'nodeids',
    'featureids',
    'truenodeids',
    'falsenodeids',
  ].map(of) as [readonly number[], readonly number[], readonly number[], readonly number[], readonly number[]]
  const missing = of('missing_value_tracks_true')
  const modes = attributeOf(step.context.node, 'nodes_modes', 'strings', [])
  const thresholds = floatsOf(step, 'nodes_values')
  const places = new Map(treeIds.map((tree, at) => [`${tree} ${nodeIds[at]}`, at]))
  const weights = floatsOf(step, `${prefix}_weights`)
  const [ids, leafTrees, leafNodes] = ['ids', 'treeids', 'nodeids'].map((name) =>
    intsOf(step, `${prefix}_${name}`),
  ) as [readonly number[], readonly number[], readonly number[]]
  const valuesAt = new Map<string, Map<number, number>>()
  for (const [at, id] of ids.entries()) {
    const key = `${leafTrees[at]} ${leafNodes[at]}`
    const values = valuesAt.get(key) ?? new Map<number, number>()
    valuesAt.set(key, values.set(id, (values.get(id) ?? 0) + (weights[at] ?? 0)))
  }
  return [...new Set(treeIds)].map((tree) => {
    const made: Tree = { branches: [], leaves: [] }
    const visit = (node: number, path: Leaf['path']): void => {
      const at = places.get(`${tree} ${node}`)
      if (at === undefined || path.length > MAX_DEPTH)
        throw badRequest(`Tree ${tree} is damaged: node ${node} is missing or below itself.`)
      if (modes[at] === 'LEAF') {
        made.leaves.push({ path, values: valuesAt.get(`${tree} ${node}`) ?? new Map() })
        return
      }
      const [threshold, swapped] = asAtMost(modes[at] ?? '', thresholds[at] ?? Number.NaN)
      const isMissingTrue = (missing[at] ?? 0) !== 0
      const branch =
        made.branches.push({ feature: features[at]!, threshold, missingTrue: isMissingTrue !== swapped }) - 1
      if (made.branches.length > MAX_MATRIX) throw badRequest(`Tree ${tree} is too large.`)
      visit(whenTrue[at]!, [...path, [branch, !swapped]])
      visit(whenFalse[at]!, [...path, [branch, swapped]])
    }
    visit(nodeIds[treeIds.indexOf(tree)]!, [])
    return made
  })
}

/**
 * Evaluates all trees at once as matrix products: which branches are true, which leaf has all of its branches satisfied, and
 * the leaves' values. Source: Nakandala et al., A Tensor Compiler for Unified Machine Learning Prediction Serving (OSDI
 * 2020), section 4.1. Returns the sums, [rows, targets].
 */
const forest = (step: Step, trees: readonly Tree[], targets: number): string => {
  const { net } = step
  const [rows, width] = step.shape(0) as [number, number]
  const count = trees.length
  const branches = Math.max(1, ...trees.map((tree) => tree.branches.length))
  const leaves = Math.max(1, ...trees.map((tree) => tree.leaves.length))
  if (count * leaves * Math.max(branches, targets) > MAX_MATRIX) {
    throw badRequest(
      `${count} trees of up to ${leaves} leaves are too large as matrices (${MAX_MATRIX} elements). Limit the depth or the number of trees.`,
    )
  }
  const features = new Float32Array(count * branches)
  const thresholds = new Float32Array(count * branches)
  const missing = new Float32Array(count * branches)
  const paths = new Float32Array(count * branches * leaves)
  // Rows never reach the unused leaves of smaller trees.
  const required = new Float32Array(count * leaves).fill(-1e6)
  const values = new Float32Array(count * leaves * targets)
  for (const [tree, { branches: own, leaves: ownLeaves }] of trees.entries()) {
    for (const [at, { feature, threshold, missingTrue }] of own.entries()) {
      if (!(feature >= 0 && feature < width)) throw badRequest(`A branch compares feature ${feature} of ${width}.`)
      features[tree * branches + at] = feature
      thresholds[tree * branches + at] = threshold
      missing[tree * branches + at] = missingTrue ? 1 : 0
    }
    for (const [leaf, { path, values: weights }] of ownLeaves.entries()) {
      for (const [branch, isTrue] of path) paths[(tree * branches + branch) * leaves + leaf] = isTrue ? 1 : -1
      required[tree * leaves + leaf] = path.filter(([, isTrue]) => isTrue).length
      for (const [target, weight] of weights) {
        if (!(target >= 0 && target < targets)) throw badRequest(`A leaf is of target ${target} of ${targets}.`)
        values[(tree * leaves + leaf) * targets + target] = weight
      }
    }
  }
  const all = [rows, count * branches]
  const chosen = net.add('gather', { axis: 1 }, [step.value(0), net.constant(features, [count * branches])], all)
  let isTrue = net.add('lessEqual', {}, [chosen, net.constant(thresholds, [1, count * branches])], all)
  if (missing.some((value) => value !== 0)) {
    const isMissing = net.add('logicalNot', {}, [net.add('equal', {}, [chosen, chosen], all)], all)
    const goes = net.add('multiplyBroadcastable', {}, [isMissing, net.constant(missing, [1, count * branches])], all)
    isTrue = net.add('maxBroadcastable', {}, [isTrue, goes], all)
  }
  const grouped = reshaped(step, isTrue, [rows, count, branches])
  const byTree = net.add('transpose', { axes: [1, 0, 2] }, [grouped], [count, rows, branches])
  /** For each tree, [rows, inner] times a constant [inner, outer]. */
  const product = (left: string, right: Float32Array, inner: number, outer: number): string => {
    const inputs = [left, net.constant(right, [count, inner, outer])]
    return net.add('batchedMatmul', { transposeA: false, transposeB: false }, inputs, [count, rows, outer])
  }
  const reached = product(byTree, paths, branches, leaves)
  const isLeaf = net.add('equal', {}, [reached, net.constant(required, [count, 1, leaves])], [count, rows, leaves])
  const ofTrees = product(isLeaf, values, leaves, targets)
  const aggregate = step.context.text('aggregate_function', 'SUM')
  const kind = ownEntry({ SUM: 'reduceSum', AVERAGE: 'reduceMean', MIN: 'reduceMin', MAX: 'reduceMax' }, aggregate)
  if (kind === undefined) throw badRequest(`The aggregate_function ${aggregate} is not supported.`)
  const reduced = net.add(kind, { axes: [0], keepDims: true }, [ofTrees], [1, rows, targets])
  const sum = reshaped(step, reduced, [rows, targets])
  const base = floatsOf(step, 'base_values')
  return base.length === 0
    ? sum
    : net.add('addBroadcastable', {}, [sum, net.constant(base, [1, base.length])], [rows, targets])
}

export const treeRegressor: Rule = (step) => {
  const targets = step.context.int('n_targets', 1)
  transformed(step, forest(step, treesOf(step, 'target'), targets), step.result, step.output)
}

export const treeClassifier: Rule = (step) => {
  const { outputs } = step
  const labels = intsOf(step, 'classlabels_int64s')
  const [rows] = step.shape(0) as [number]
  const classes = outputs[1]?.[1].at(-1) ?? labels.length
  if (classes <= 2 && new Set(intsOf(step, 'class_ids')).size < 2) {
    throw badRequest(
      'A classifier of two classes whose trees vote for one is not supported. Export it with a vote for each class.',
    )
  }
  const scores = transformed(step, forest(step, treesOf(step, 'class'), classes), [rows, classes])
  const [scoresName] = outputs[1] ?? ['']
  if (scoresName) reshaped(step, scores, [rows, classes], scoresName)
  label(step, scores, labels, [rows, classes])
}
