import { badRequest } from '../../domain/errors.ts'
import type { TorchGraph, TorchNode, TorchProgram } from './exported-program.ts'
import { namesOf, Views } from './in-place.ts'
import { Lowering, type Operator } from './lowering.ts'
import { labelOf, operatorOf, type Scope } from './node-arguments.ts'
import { ACTIVATIONS } from './operators/activations.ts'
import { ARITHMETIC } from './operators/arithmetic.ts'
import { ARRANGEMENT } from './operators/arrangement.ts'
import { COMPARISONS } from './operators/comparisons.ts'
import { CONVOLUTION } from './operators/convolution.ts'
import { CREATION } from './operators/creation.ts'
import { LAYERS } from './operators/layers.ts'
import { PADDING } from './operators/padding.ts'
import { RECURRENT } from './operators/recurrent.ts'
import { REDUCTIONS } from './operators/reductions.ts'
import { RESAMPLING } from './operators/resampling.ts'

const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  [
    ARITHMETIC,
    COMPARISONS,
    ACTIVATIONS,
    REDUCTIONS,
    ARRANGEMENT,
    CREATION,
    PADDING,
    CONVOLUTION,
    RESAMPLING,
    LAYERS,
    RECURRENT,
  ].flatMap((table) => Object.entries(table)),
)

/** Operators that check a program at run time without changing results. */
const CHECKS = /^torch\.ops\.aten\.(_assert_|sym_constrain_range|_assert_async)|^_operator\.(eq|ne|ge|gt|le|lt)$/

const arithmetic =
  (type: string) =>
  (node: Lowering): string => {
    const [a, b] = ['a', 'b'].map((name) => node.sizeList(node.sizeArguments(name)))
    return node.emit(type, [a!, b!])
  }

/** Operators that compute sizes. Sizes are positive, so division rounds down. */
const SIZE_OPERATORS: ReadonlyMap<string, (node: Lowering) => string> = new Map([
  ['torch.ops.aten.sym_size.int', (node) => node.sizeOf(node.input(), node.axis('dim'))],
  ['torch.ops.aten.sym_numel.default', (node) => node.reshape(node.emit('Size', [node.input()]), [1])],
  ['_operator.mul', arithmetic('Mul')],
  ['_operator.add', arithmetic('Add')],
  ['_operator.sub', arithmetic('Sub')],
  ['_operator.floordiv', arithmetic('Div')],
  ['_operator.mod', arithmetic('Mod')],
])

/** Graphs that only switch a training mode. */
const INLINED = /^torch\.ops\.higher_order\.wrap_with_(set_grad_enabled|autocast)$/

const isSupported = ({ target, inputs }: TorchNode): boolean =>
  (OPERATORS.has(operatorOf(target)) && target.startsWith('torch.ops.aten.')) ||
  CHECKS.test(target) ||
  SIZE_OPERATORS.has(target) ||
  (INLINED.test(target) && inputs.some(({ value }) => value.kind === 'graph' && value.graph.nodes.every(isSupported)))

export const requireSupported = ({ graph, isDecomposed }: TorchProgram): void => {
  const unknown = [...new Set(graph.nodes.filter((node) => !isSupported(node)).map(labelOf))]
  if (unknown.length === 0) return
  const shown = unknown.slice(0, 5).join(', ') + (unknown.length > 5 ? `, and ${unknown.length - 5} more` : '')
  const isControlFlow = unknown.some((label) => label.startsWith('higher_order.'))
  throw badRequest(
    `The program has ${unknown.length === 1 ? 'an operator' : 'operators'} without a conversion: ${shown}. ` +
      (isControlFlow
        ? 'Control flow is not converted; export one branch, or write it with torch.where.'
        : isDecomposed
          ? 'Write the layer with other operators.'
          : 'Write the layer with other operators, or try ep.run_decompositions(), which replaces some operators with simpler ones.'),
  )
}

const bind = (scope: Scope, node: TorchNode, values: readonly string[]): void => {
  const names = node.outputs.flatMap((output) => {
    if (output.kind === 'tensor') return [output.name]
    return output.kind === 'tensors' ? output.names : [null]
  })
  names.forEach((name, at) => {
    const value = values[at]
    if (name !== null && value !== undefined) scope.values.set(name, value)
    if (name !== null) scope.makers.set(name, node)
  })
}

const defineSize = (scope: Scope, graph: TorchGraph, node: TorchNode, value: string): void => {
  for (const output of node.outputs) {
    const [size] = output.kind === 'sizes' ? output.values : []
    if (typeof size !== 'object') continue
    scope.sizes.set(size.name, value)
    const expression = graph.sizes.get(size.name)
    if (expression !== undefined) scope.bySize.set(expression, value)
  }
}

const results = (node: Lowering): readonly string[] => [OPERATORS.get(node.operator)!(node)].flat()

const lowerNode = (scope: Scope, views: Views, graph: TorchGraph, node: TorchNode): void => {
  if (CHECKS.test(node.target)) return
  for (const { value } of node.inputs) for (const name of namesOf(value)) views.refresh(name)
  const lowering = new Lowering(scope, node)
  const inner = node.inputs.map(({ value }) => value).find((value) => value.kind === 'graph')
  const size = SIZE_OPERATORS.get(node.target)
  if (inner !== undefined) lowerInner(scope, views, inner.graph, node)
  else if (size !== undefined) defineSize(scope, graph, node, size(lowering))
  else {
    const values = results(lowering)
    bind(scope, node, values)
    views.follow(node, values[0]!)
  }
}

const lowerInner = (scope: Scope, views: Views, inner: TorchGraph, node: TorchNode): void => {
  const given = node.inputs.flatMap(({ value }) => (value.kind === 'tensor' ? [value.name] : []))
  inner.inputs.forEach((input, at) => {
    const value = scope.values.get(given[at] ?? '')
    if (input.kind !== 'tensor' || value === undefined) return
    scope.values.set(input.name, value)
    views.add(input.name, given[at]!)
  })
  lowerGraph(scope, inner, views)
  const results = inner.outputs.map((output) => (output.kind === 'tensor' ? (scope.values.get(output.name) ?? '') : ''))
  bind(scope, node, results)
}

export const lowerGraph = (scope: Scope, graph: TorchGraph, views: Views = new Views(scope, results)): void => {
  for (const [name, meta] of graph.tensors) scope.metas.set(name, meta)
  for (const node of graph.nodes) lowerNode(scope, views, graph, node)
  for (const output of graph.outputs) for (const name of namesOf(output)) views.refresh(name)
}
