import { badRequest } from '../../domain/errors.ts'
import type { Argument, TorchGraph, TorchNode } from './exported-program.ts'
import { labelOf, operatorOf } from './node-arguments.ts'

/** Operators whose result shares its elements with their first argument, or may. */
const VIEWS = new Set(
  [
    'alias',
    'broadcast_to',
    'chunk',
    'contiguous',
    'detach',
    'dropout',
    'expand',
    'expand_as',
    'flatten',
    'mT',
    'movedim',
  ]
    .concat(['narrow', 'numpy_T', 'permute', 'reshape', 'reshape_as', 'select', 'slice', 'split', 'split_with_sizes'])
    .concat(['squeeze', 'swapaxes', 't', 'tensor_split', 'to', 'transpose', 'type_as', 'unbind', 'unflatten'])
    .concat(['unsqueeze', 'view', 'view_as']),
)

const namesOf = (argument: Argument | undefined): readonly string[] => {
  if (argument?.kind === 'tensor') return [argument.name]
  return argument?.kind === 'tensors' ? argument.names.filter((name) => name !== null) : []
}

/**
 * An operator that changes its input in place becomes one that makes a new value. That is the same unless another view of
 * the same elements is read afterwards, which is refused.
 */
export const requireNoSharedChange = (graph: TorchGraph, isInPlace: (node: TorchNode) => boolean): void => {
  const lastRead = new Map<string, number>()
  graph.nodes.forEach((node, at) => {
    for (const { value } of node.inputs) for (const name of namesOf(value)) lastRead.set(name, at)
  })
  for (const output of graph.outputs) for (const name of namesOf(output)) lastRead.set(name, Infinity)
  const groups = new Map<string, Set<string>>()
  graph.nodes.forEach((node, at) => {
    const [viewed] = namesOf(node.inputs[0]?.value)
    if (viewed === undefined) return
    const changes = isInPlace(node)
    const others = [...(groups.get(viewed) ?? [])].filter((name) => name !== viewed && lastRead.get(name)! > at)
    if (changes && others.length > 0) {
      throw badRequest(
        `${labelOf(node)} changes '${viewed}' in place while another view of it, '${others[0]}', is still read. ` +
          'Save ep.run_decompositions({}) in place of the program, which changes nothing in place.',
      )
    }
    if (!changes && !VIEWS.has(operatorOf(node.target))) return
    const group = groups.get(viewed) ?? new Set([viewed])
    for (const output of node.outputs)
      for (const name of namesOf(output)) {
        // The result of a change and its input are one value from now on.
        if (!changes) group.add(name)
        groups.set(name, group)
      }
    groups.set(viewed, group)
  })
}
