import type { OnnxGraph, OnnxModel, OnnxNode, OnnxTensor } from '../onnx/model.ts'
import { numbersOf } from '../onnx/tensors.ts'

/** A graph whose nodes are replaced one after another. */
export interface GraphEdit {
  readonly source: OnnxGraph
  readonly initializers: Map<string, OnnxTensor>
  /** The nodes of the new graph so far, in execution order. */
  readonly nodes: OnnxNode[]
  /** Returns a name that is unused in the graph. */
  name(stem: string): string
  constant(stem: string, tensor: OnnxTensor): string
  /** Appends a node with one output, under `output` or a new name. Returns the output's name. */
  emit(
    type: string,
    inputs: readonly string[],
    attributes?: OnnxNode['attributes'],
    options?: { readonly output?: string | undefined; readonly domain?: string },
  ): string
}

/** Moves the values of `Constant` nodes to the initializers and resolves other names of initializers. */
export const liftConstants = (graph: OnnxGraph): OnnxGraph => {
  const initializers = new Map(graph.initializers)
  const fixed = new Set([
    ...graph.outputs.map(({ name }) => name),
    ...graph.nodes.flatMap((node) => [...capturedNames(node)]),
  ])
  const aliases = new Map<string, string>()
  const nodes: OnnxNode[] = []
  for (const node of graph.nodes) {
    const [output] = node.outputs
    const inputs = node.inputs.map((name) => aliases.get(name) ?? name)
    const value = node.type === 'Constant' && node.domain === '' ? node.attributes.value : undefined
    const isAlias = node.type === 'Identity' && node.domain === '' && initializers.has(inputs[0] ?? '')
    if (value?.kind === 'tensor' && output !== undefined) initializers.set(output, value.value)
    else if (isAlias && output !== undefined && !fixed.has(output)) aliases.set(output, inputs[0]!)
    else nodes.push({ ...node, inputs })
  }
  return { ...graph, nodes, initializers }
}

/** The names that nodes use, including those in their subgraphs. */
const namesUsed = (nodes: readonly OnnxNode[], found = new Set<string>()): Set<string> => {
  for (const node of nodes) {
    for (const name of node.inputs) found.add(name)
    for (const name of capturedNames(node)) found.add(name)
  }
  return found
}

/** The outer names that a node's subgraphs (the branches of If, the body of Loop) may use. */
export const capturedNames = (node: OnnxNode): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const attribute of Object.values(node.attributes)) {
    if (attribute.kind !== 'graph') continue
    namesUsed(attribute.value.nodes, found)
    for (const { name } of attribute.value.outputs) found.add(name)
  }
  return found
}

export const editGraph = (model: OnnxModel): GraphEdit => {
  const source = liftConstants(model.graph)
  const taken = new Set([
    ...source.initializers.keys(),
    ...source.inputs.map(({ name }) => name),
    ...source.nodes.flatMap(({ name, inputs, outputs }) => [name, ...inputs, ...outputs]),
  ])
  for (const node of source.nodes) for (const name of capturedNames(node)) taken.add(name)
  const initializers = new Map(source.initializers)
  const nodes: OnnxNode[] = []
  const name = (stem: string): string => {
    let candidate = stem
    for (let count = 1; taken.has(candidate); count++) candidate = `${stem}_${count}`
    taken.add(candidate)
    return candidate
  }
  return {
    source,
    initializers,
    nodes,
    name,
    constant: (stem, tensor) => {
      const constant = name(stem)
      initializers.set(constant, tensor)
      return constant
    },
    emit: (type, inputs, attributes = {}, { output, domain = '' } = {}) => {
      const result = output ?? name(`${inputs[0] ?? 'value'}_${type}`)
      nodes.push({ name: name(`${result}_node`), type, domain, inputs, outputs: [result], attributes })
      return result
    },
  }
}

/** The edited model without unused initializers. */
export const editedModel = (model: OnnxModel, edit: GraphEdit, opsets: OnnxModel['opsets'] = {}): OnnxModel => {
  const used = namesUsed(edit.nodes)
  for (const { name } of edit.source.outputs) used.add(name)
  const initializers = new Map([...edit.initializers].filter(([name]) => used.has(name)))
  return {
    ...model,
    opsets: { ...model.opsets, ...opsets },
    // The types of intermediate values have changed.
    graph: { ...edit.source, initializers, nodes: edit.nodes, values: [] },
  }
}

/** A float32 constant that is large enough to quantize, with its numbers; otherwise null. */
export const weightNamed = (
  edit: GraphEdit,
  name: string | undefined,
): { readonly shape: readonly number[]; readonly values: Float32Array } | null => {
  const tensor = name === undefined ? undefined : edit.initializers.get(name)
  if (tensor?.type !== 'f32' || tensor.data.length < MIN_WEIGHT_BYTES) return null
  return { shape: tensor.shape, values: numbersOf(tensor) as Float32Array }
}

/** Below this size, scales and nodes take up what smaller elements save. */
const MIN_WEIGHT_BYTES = 1024
