import { analyze, type InputShapes } from './infer-shapes.ts'
import { withFusedNorms, withMergedProducts } from './merge-weights.ts'
import { attributeOf, type OnnxGraph, type OnnxModel, type OnnxNode, type OnnxTensor } from './model.ts'
import { withOutputNames, withoutPassThrough, withoutUnused } from './simplify-graph.ts'

/** Weights may be rearranged ahead of time, but nothing may exceed this many elements (256 MB of float32). */
const MAX_FOLDED_ELEMENTS = 2 ** 26

const hasSubgraph = (node: OnnxNode): boolean =>
  Object.values(node.attributes).some((attribute) => attribute.kind === 'graph')

/** Replaces each If that has a constant condition with its chosen branch. */
const withoutBranches = (graph: OnnxGraph, constants: ReadonlyMap<string, OnnxTensor>): OnnxGraph => {
  const initializers = new Map(graph.initializers)
  const nodes = graph.nodes.flatMap((node): OnnxNode[] => {
    const condition = constants.get(node.inputs[0] ?? '')
    if (node.type !== 'If' || node.domain !== '' || condition === undefined) return [node]
    const branch = attributeOf(node, condition.data[0] === 0 ? 'else_branch' : 'then_branch', 'graph', undefined)
    if (branch === undefined) return [node]
    for (const [name, tensor] of branch.initializers) initializers.set(name, tensor)
    const names = branch.outputs.map((output, at): OnnxNode => {
      const to = node.outputs[at] ?? ''
      return { name: to, type: 'Identity', domain: '', inputs: [output.name], outputs: [to], attributes: {} }
    })
    return [...branch.nodes, ...names]
  })
  return { ...graph, nodes, initializers }
}

/**
 * Computes everything that does not depend on the values of the inputs: constants, shapes (for these input shapes; named
 * dimensions without a size are 1), and branches. Removes Identity and Dropout, merges BatchNormalization into the preceding
 * convolution, and merges consecutive products with constant matrices.
 * @throws bad_request that names the node, like inferShapes
 */
export const foldConstants = (model: OnnxModel, inputShapes?: InputShapes): OnnxModel => {
  let current = model
  for (let depth = 0; ; depth++) {
    const { constants, values } = analyze(current, inputShapes, MAX_FOLDED_ELEMENTS)
    const inlined = withoutBranches(current.graph, constants)
    if (inlined.nodes.length !== current.graph.nodes.length && depth < 20) {
      current = { ...current, graph: inlined }
      continue
    }
    const nodes = current.graph.nodes.filter(
      (node) => !node.outputs.every((name) => name === '' || constants.has(name)),
    )
    const inputs = current.graph.inputs.map((input) => ({
      ...input,
      shape: values.get(input.name)?.shape ?? input.shape,
    }))
    const outputs = current.graph.outputs.map((output) =>
      output.container === undefined ? { ...output, shape: values.get(output.name)?.shape ?? output.shape } : output,
    )
    const folded = { ...current.graph, inputs, outputs, nodes, initializers: constants }
    // Subgraphs read outer values by name, so names must be kept if there are any.
    const steps = nodes.some(hasSubgraph)
      ? []
      : [withoutPassThrough, withoutUnused, withFusedNorms, withMergedProducts, withOutputNames]
    return { ...current, graph: [...steps, withoutUnused].reduce<OnnxGraph>((graph, step) => step(graph), folded) }
  }
}
