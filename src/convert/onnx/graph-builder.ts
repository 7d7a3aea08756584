import type { Attribute, ElementType, OnnxGraph, OnnxModel, OnnxNode, OnnxTensor, OnnxValue } from './model.ts'

/** The operator sets that converters write, supported by onnxruntime 1.17 and later. */
const WRITTEN_OPSETS = { '': 18, 'ai.onnx.ml': 3 } as const
const WRITTEN_IR_VERSION = 8

export interface GraphBuilder {
  /** Adds a graph input; dimensions that are not fixed have a name, such as `batch`. Returns the value's name. */
  input(name: string, type: ElementType, shape: OnnxValue['shape']): string
  /** Adds a constant. Returns its name, made unique. */
  constant(name: string, tensor: OnnxTensor): string
  /** Adds a node with one output. Returns the output's name: `output` or one based on the operator, made unique. */
  node(
    type: string,
    inputs: readonly string[],
    attributes?: Readonly<Record<string, Attribute>>,
    options?: { readonly output?: string; readonly domain?: string },
  ): string
  /** Adds a node with several outputs. Returns their names. */
  nodes(
    type: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes?: Readonly<Record<string, Attribute>>,
    domain?: string,
  ): string[]
  /** Makes a value a graph output with this name. */
  output(name: string, value: string, type: ElementType, shape: OnnxValue['shape']): void
  build(): OnnxModel
}

/** Builds a graph node by node, in execution order. Names are unique in the graph. */
export const graphBuilder = (name: string, metadata: Readonly<Record<string, string>> = {}): GraphBuilder => {
  const taken = new Map<string, number>()
  const inputs: OnnxValue[] = []
  const outputs: OnnxValue[] = []
  const initializers = new Map<string, OnnxTensor>()
  const nodes: OnnxNode[] = []
  const domains = new Set<string>([''])

  const unique = (requested: string): string => {
    for (;;) {
      const count = taken.get(requested)
      taken.set(requested, (count ?? 0) + 1)
      const candidate = count === undefined ? requested : `${requested}_${count}`
      if (count === undefined) return candidate
      if (!taken.has(candidate)) {
        taken.set(candidate, 1)
        return candidate
      }
    }
  }

  const add: GraphBuilder['nodes'] = (type, from, to, attributes = {}, domain = '') => {
    domains.add(domain)
    const results = to.map(unique)
    nodes.push({ name: results[0] ?? type, type, domain, inputs: from, outputs: results, attributes })
    return results
  }

  return {
    input: (requested, type, shape) => {
      const value = unique(requested)
      inputs.push({ name: value, type, shape })
      return value
    },
    constant: (requested, tensor) => {
      const value = unique(requested)
      initializers.set(value, tensor)
      return value
    },
    node: (type, from, attributes = {}, { output = type.toLowerCase(), domain = '' } = {}) =>
      add(type, from, [output], attributes, domain)[0]!,
    nodes: add,
    output: (requested, value, type, shape) => {
      outputs.push({ name: requested, type, shape })
      if (requested === value) return
      taken.set(requested, 1)
      nodes.push({
        name: requested,
        type: 'Identity',
        domain: '',
        inputs: [value],
        outputs: [requested],
        attributes: {},
      })
    },
    build: () => {
      const graph: OnnxGraph = { name, inputs, outputs, initializers, nodes, values: [] }
      const opsets = Object.fromEntries(
        [...domains].map((domain) => [domain, WRITTEN_OPSETS[domain as keyof typeof WRITTEN_OPSETS] ?? 1]),
      )
      return { irVersion: WRITTEN_IR_VERSION, opsets, graph, metadata }
    },
  }
}
