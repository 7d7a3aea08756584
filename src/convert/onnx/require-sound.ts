import { badRequest } from '../../domain/errors.ts'
import { nodeLabel, type OnnxGraph, type OnnxNode } from './model.ts'

/** The values that a node reads: its inputs, and the outer values that its subgraphs read. */
const readBy = (node: OnnxNode): string[] => {
  const names = node.inputs.filter((name) => name !== '')
  for (const attribute of Object.values(node.attributes)) {
    if (attribute.kind !== 'graph') continue
    const { nodes, inputs, outputs, initializers } = attribute.value
    const own = new Set([...initializers.keys(), ...[...inputs, ...nodes.flatMap(definedBy)].map(nameOf)])
    const read = [...nodes.flatMap(readBy), ...outputs.map(nameOf)]
    names.push(...read.filter((name) => !own.has(name)))
  }
  return names
}

const nameOf = (value: string | { readonly name: string }): string => (typeof value === 'string' ? value : value.name)

const definedBy = ({ outputs }: OnnxNode): string[] => outputs.filter((name) => name !== '')

/** The node that defines each value. Throws bad_request naming a value that is defined twice. */
const makersOf = (nodes: readonly OnnxNode[], given: ReadonlySet<string>): Map<string, OnnxNode> => {
  const makers = new Map<string, OnnxNode>()
  for (const node of nodes) {
    for (const name of definedBy(node)) {
      const other = makers.get(name)
      if (other === undefined && !given.has(name)) {
        makers.set(name, node)
        continue
      }
      const first = other === undefined ? 'an input or a constant of the graph' : nodeLabel(other)
      throw badRequest(
        `The ONNX graph is not valid: the value '${name}' is defined twice, by ${first} and by ${nodeLabel(node)}. Export it again.`,
      )
    }
  }
  return makers
}

/** Throws bad_request naming a value of the graph that is not defined, is defined twice, or depends on itself. */
export const requireSound = (graph: OnnxGraph): void => {
  const given = new Set([...graph.inputs.map(nameOf), ...graph.initializers.keys()])
  const makers = makersOf(graph.nodes, given)
  const requireDefined = (name: string, reader: string): void => {
    if (makers.has(name) || given.has(name)) return
    throw badRequest(
      `The ONNX graph is not valid: nothing defines the value '${name}', which ${reader} needs. Export it again.`,
    )
  }
  for (const { name } of graph.outputs) requireDefined(name, 'an output of the graph')
  const state = new Map<OnnxNode, 'open' | 'done'>()
  for (const start of graph.nodes) {
    const stack = [{ node: start, reads: readBy(start) }]
    while (stack.length > 0) {
      const { node, reads } = stack.at(-1)!
      if (state.get(node) !== 'done') state.set(node, 'open')
      const name = state.get(node) === 'done' ? undefined : reads.pop()
      if (name === undefined) {
        state.set(node, 'done')
        stack.pop()
        continue
      }
      requireDefined(name, nodeLabel(node))
      const maker = makers.get(name)
      if (maker === undefined || state.get(maker) === 'done') continue
      if (state.get(maker) === 'open') {
        throw badRequest(
          `The ONNX graph is not valid: the value '${name}' depends on itself (${nodeLabel(maker)}). Export it again.`,
        )
      }
      stack.push({ node: maker, reads: readBy(maker) })
    }
  }
}
