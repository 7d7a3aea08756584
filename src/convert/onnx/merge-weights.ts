// Merges the constant weights of adjacent nodes.
import { type Constant, constantOf, tensorOfConstant } from './constants.ts'
import { attributeOf, type OnnxGraph, type OnnxNode } from './model.ts'

/**
 * Merges `y = scale * (conv(x) - mean) / sqrt(variance + epsilon) + bias` into the weights and bias of the convolution.
 * Source: Jacob et al. 2018, section 3.2. `inner` is the number of adjacent weights per channel.
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

/** Merges BatchNormalization into the preceding convolution if nothing else reads the convolution's output. */
export const withFusedNorms = (graph: OnnxGraph): OnnxGraph => {
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

/** The maximum number of multiplications for merging two matrices: about a second. */
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
 * Rewrites `(x · A) · B` with constant matrices as `x · (A · B)` if that is smaller. Linear models write their support
 * vectors and coefficients in the first form, whose sums cancel and lose digits in float32.
 */
export const withMergedProducts = (graph: OnnxGraph): OnnxGraph => {
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
