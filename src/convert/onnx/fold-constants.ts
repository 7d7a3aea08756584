import { badRequest } from '../../domain/errors.ts'
import { type Constant, constantOf, tensorOfConstant } from './constants.ts'
import { analyze, type InputShapes } from './infer-shapes.ts'
import { attributeOf, type OnnxGraph, type OnnxModel, type OnnxNode, type OnnxTensor } from './model.ts'

/** Weights may be rearranged ahead of time; nothing is made larger than this many elements (256 MB of float32). */
const MAX_FOLDED_ELEMENTS = 2 ** 26

/** Values that nodes and subgraphs of nodes read. */
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

/** The nodes that outputs depend on, and the constants that they read. */
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
  // Dropout that is to train, or whose mask is used, is kept.
  const training = constants.get(node.inputs[2] ?? '')
  const trains = (node.inputs[2] ?? '') !== '' && (training === undefined || training.data[0] !== 0)
  return !trains && (node.outputs[1] ?? '') === ''
}

/** Nodes without those that only pass a value on. One that gives a graph output its name becomes an Identity. */
const withoutPassThrough = (graph: OnnxGraph): OnnxGraph => {
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

const hasSubgraph = (node: OnnxNode): boolean =>
  Object.values(node.attributes).some((attribute) => attribute.kind === 'graph')

const identity = (node: OnnxNode, inputs: readonly string[]): OnnxNode => ({
  ...node,
  type: 'Identity',
  inputs: inputs.slice(0, 1),
  outputs: node.outputs.slice(0, 1),
  attributes: {},
})

/** A node that gives a graph output its name is dropped where the node before it can give it that name. */
const withOutputNames = (graph: OnnxGraph): OnnxGraph => {
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

/** The branch that a constant condition takes, in place of each If. */
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
 * `y = scale * (conv(x) - mean) / sqrt(variance + epsilon) + bias` as weights and a bias of the convolution before it.
 * Source: Jacob et al. 2018, section 3.2. `inner` is how many weights of a channel lie beside each other.
 */
const fusedWeights = (weight: Constant, bias: Constant | undefined, norm: readonly Constant[], epsilon: number) => {
  const [scale, shift, mean, variance] = norm.map(({ values }) => values)
  const factors = Float64Array.from(scale!, (value, at) => value / Math.sqrt(variance![at]! + epsilon))
  const inner = weight.values.length / factors.length
  const values = Float64Array.from(weight.values, (value, at) => value * factors[Math.floor(at / inner)]!)
  const biases = factors.map((factor, at) => ((bias?.values[at] ?? 0) - mean![at]!) * factor + shift![at]!)
  return [
    tensorOfConstant({ ...weight, values }),
    tensorOfConstant({ type: weight.type, shape: [factors.length], values: biases }),
  ] as const
}

const readerCounts = (graph: OnnxGraph): Map<string, number> => {
  const readers = new Map<string, number>(graph.outputs.map(({ name }) => [name, 1]))
  for (const name of graph.nodes.flatMap((node) => node.inputs)) readers.set(name, (readers.get(name) ?? 0) + 1)
  return readers
}

/** Convolutions that take in the BatchNormalization behind them, where nothing else reads their output. */
const withFusedNorms = (graph: OnnxGraph): OnnxGraph => {
  const readers = readerCounts(graph)
  const convs = new Map(
    graph.nodes.filter(({ type, domain }) => type === 'Conv' && domain === '').map((node) => [node.outputs[0]!, node]),
  )
  const initializers = new Map(graph.initializers)
  const replaced = new Map<OnnxNode, OnnxNode | null>()
  for (const node of graph.nodes) {
    const conv = convs.get(node.inputs[0] ?? '')
    if (node.type !== 'BatchNormalization' || node.domain !== '' || conv === undefined) continue
    const constants = [conv.inputs[1], ...node.inputs.slice(1, 5)].map((name) => graph.initializers.get(name ?? ''))
    const biasName = conv.inputs[2] ?? ''
    const bias = graph.initializers.get(biasName)
    const channels = constants[0]?.shape[0]
    const fits = constants.slice(1).length === 4 && constants.slice(1).every((tensor) => tensor?.shape[0] === channels)
    if (constants.includes(undefined) || !fits || readers.get(node.inputs[0]!) !== 1 || replaced.has(conv)) continue
    if ((biasName !== '' && bias === undefined) || attributeOf(node, 'training_mode', 'int', 0) !== 0) continue
    const [weight, ...norm] = constants.map((tensor) => constantOf(tensor!))
    const epsilon = attributeOf(node, 'epsilon', 'float', 1e-5)
    const fused = fusedWeights(weight!, bias && constantOf(bias), norm, epsilon)
    const names = ['weight', 'bias'].map((name) => `${node.outputs[0]}/fused/${name}`)
    for (const [at, tensor] of fused.entries()) initializers.set(names[at]!, tensor)
    replaced.set(conv, null)
    replaced.set(node, { ...conv, inputs: [conv.inputs[0]!, ...names], outputs: [node.outputs[0]!] })
  }
  const nodes = graph.nodes.flatMap((node) =>
    replaced.has(node) ? [replaced.get(node)].filter((one) => one != null) : [node],
  )
  return { ...graph, nodes, initializers }
}

/** The most multiplications that merging two matrices may take: about a second. */
const MAX_PRODUCT = 2 ** 29

/** `A · B` of two matrices, in float64. */
const product = (a: Constant, b: Constant): Float64Array => {
  const [rows, inner, columns] = [a.shape[0]!, a.shape[1]!, b.shape[1]!]
  const result = new Float64Array(rows * columns)
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < inner; k++) {
      const factor = a.values[row * inner + k]!
      for (let column = 0; column < columns; column++) {
        result[row * columns + column]! += factor * b.values[k * columns + column]!
      }
    }
  }
  return result
}

/**
 * `(x · A) · B` with constant matrices as `x · (A · B)` where that is smaller: linear models write their support vectors
 * and coefficients so, whose sums cancel out and lose digits in float32.
 */
const withMergedProducts = (graph: OnnxGraph): OnnxGraph => {
  const readers = readerCounts(graph)
  const initializers = new Map(graph.initializers)
  const matrix = (node: OnnxNode) => {
    const tensor = initializers.get(node.inputs[1] ?? '')
    return node.type === 'MatMul' && node.domain === '' && tensor?.shape.length === 2 ? tensor : undefined
  }
  const made = new Map<string, OnnxNode>()
  const dropped = new Set<string>()
  const nodes = graph.nodes.map((node) => {
    const first = made.get(node.inputs[0] ?? '')
    const [a, b] = [first && matrix(first), matrix(node)]
    let result = node
    if (first !== undefined && a !== undefined && b !== undefined && readers.get(node.inputs[0]!) === 1) {
      const [rows, inner, columns] = [a.shape[0]!, a.shape[1]!, b.shape[1]!]
      const isSmaller = rows * columns <= inner * Math.min(rows, columns) && rows * inner * columns <= MAX_PRODUCT
      if (inner === b.shape[0] && isSmaller) {
        const name = `${node.outputs[0]}/merged`
        const values = product(constantOf(a), constantOf(b))
        initializers.set(name, tensorOfConstant({ type: a.type, shape: [rows, columns], values }))
        dropped.add(node.inputs[0]!)
        result = { ...node, inputs: [first.inputs[0]!, name] }
      }
    }
    made.set(result.outputs[0] ?? '', result)
    return result
  })
  return { ...graph, nodes: nodes.filter(({ outputs }) => !dropped.has(outputs[0] ?? '')), initializers }
}

/**
 * The model with everything computed that does not depend on its inputs' elements: constants, shapes (for these input
 * shapes; a dimension with a name is 1 where none is given), and branches. Identity and Dropout are gone, and
 * BatchNormalization is part of the convolution before it; products with constant matrices one after another are one. Throws bad_request that names the node like inferShapes.
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
    // Subgraphs read values of the graph around them by name, so names stay where there are some.
    const steps = nodes.some(hasSubgraph)
      ? []
      : [withoutPassThrough, withoutUnused, withFusedNorms, withMergedProducts, withOutputNames]
    return { ...current, graph: [...steps, withoutUnused].reduce<OnnxGraph>((graph, step) => step(graph), folded) }
  }
}
