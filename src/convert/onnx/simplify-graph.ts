// Removes unused nodes and nodes that only pass a value on.
import { badRequest } from '../../domain/errors.ts'
import type { OnnxGraph, OnnxNode, OnnxTensor } from './model.ts'

/** The values that nodes and their subgraphs read. */
const readNames = (graph: OnnxGraph): Set<string> => {
  const names = new Set<string>(graph.outputs.map(({ name }) => name))
  const visit = (nodes: readonly OnnxNode[], depth: number) => {
    if (depth > 20) throw badRequest('Subgraphs are nested more than 20 deep.')
    for (const node of nodes) {
      for (const name of node.inputs) names.add(name)
      for (const attribute of Object.values(node.attributes)) {
        if (attribute.kind !== 'graph') continue
        for (const { name } of attribute.value.outputs) names.add(name)
        visit(attribute.value.nodes, depth + 1)
      }
    }
  }
  visit(graph.nodes, 0)
  return names
}

/** Keeps only the nodes that outputs depend on, and the constants that they read. */
export const withoutUnused = (graph: OnnxGraph): OnnxGraph => {
  let { nodes } = graph
  for (;;) {
    const read = readNames({ ...graph, nodes })
    const used = nodes.filter((node) => node.outputs.some((name) => read.has(name)))
    if (used.length === nodes.length) {
      const initializers = new Map([...graph.initializers].filter(([name]) => read.has(name)))
      return { ...graph, nodes, initializers }
    }
    nodes = used
  }
}

const isPassThrough = (node: OnnxNode, constants: ReadonlyMap<string, OnnxTensor>): boolean => {
  if (node.domain !== '') return false
  if (node.type === 'Identity') return true
  if (node.type !== 'Dropout') return false
  // Keeps Dropout in training mode or with a used mask.
  const training = constants.get(node.inputs[2] ?? '')
  const trains = (node.inputs[2] ?? '') !== '' && (training === undefined || training.data[0] !== 0)
  return !trains && (node.outputs[1] ?? '') === ''
}

/** Removes nodes that only pass a value on. One that produces a graph output becomes an Identity. */
export const withoutPassThrough = (graph: OnnxGraph): OnnxGraph => {
  const outputs = new Set(graph.outputs.map(({ name }) => name))
  const source = new Map<string, string>()
  const nodes = graph.nodes.flatMap((node): OnnxNode[] => {
    const inputs = node.inputs.map((name) => source.get(name) ?? name)
    if (!isPassThrough(node, graph.initializers)) return [{ ...node, inputs }]
    const [output = ''] = node.outputs
    if (outputs.has(output)) return [identity(node, inputs)]
    source.set(output, inputs[0]!)
    return []
  })
  return { ...graph, nodes }
}

const identity = (node: OnnxNode, inputs: readonly string[]): OnnxNode => ({
  ...node,
  type: 'Identity',
  inputs: inputs.slice(0, 1),
  outputs: node.outputs.slice(0, 1),
  attributes: {},
})

/** Removes an Identity that only names a graph output, if the preceding node can use that name. */
export const withOutputNames = (graph: OnnxGraph): OnnxGraph => {
  const outputs = new Set(graph.outputs.map(({ name }) => name))
  const inputs = new Set(graph.inputs.map(({ name }) => name))
  const maker = new Map(graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)))
  const renamed = new Map<string, string>()
  const dropped = new Set<OnnxNode>()
  for (const node of graph.nodes) {
    const [from, to] = [node.inputs[0] ?? '', node.outputs[0] ?? '']
    if (node.type !== 'Identity' || node.domain !== '' || !outputs.has(to)) continue
    if (outputs.has(from) || inputs.has(from) || !maker.has(from) || renamed.has(from)) continue
    renamed.set(from, to)
    dropped.add(node)
  }
  const rename = (name: string) => renamed.get(name) ?? name
  const nodes = graph.nodes
    .filter((node) => !dropped.has(node))
    .map((node) => ({ ...node, inputs: node.inputs.map(rename), outputs: node.outputs.map(rename) }))
  return { ...graph, nodes }
}
