import { badRequest } from '../../domain/errors.ts'
import { int, nodeLabel, type OnnxModel, type OnnxNode } from '../onnx/model.ts'
import { byteRows, integerBias, throughBytes, withByteWeights } from './byte-weights.ts'
import { toFloat16 } from './float16.ts'
import { editedModel, editGraph, type GraphEdit, liftConstants } from './graph-edit.ts'
import { CHANNEL_OPSET, type IntegerEdit, type IntegerMethod, matrixOf, type ValueRange } from './integer-graph.ts'
import { dynamicConv, dynamicProduct, nibbleProduct } from './integer-products.ts'
import { valueTypes } from './value-types.ts'
import { requireFiniteWeights } from './weight-range.ts'

export const ONNX_METHODS = ['int8', 'int4', 'dynamic', 'float16'] as const
export type OnnxMethod = (typeof ONNX_METHODS)[number]

export interface OnnxQuantization {
  readonly model: OnnxModel
  /** Notes for the user about the result. */
  readonly notes: readonly string[]
}

/** The operators that `int8` computes in integers if the ranges of their values are known. */
const isProduct = ({ domain, type }: OnnxNode): boolean => domain === '' && ['Conv', 'MatMul', 'Gemm'].includes(type)

const MIN_OPSET: Readonly<Record<IntegerMethod, number>> = { int8: CHANNEL_OPSET, dynamic: 11, int4: 7 }

/**
 * Returns the model with smaller weights.
 * - `float16`: weights and operators in half precision; inputs, outputs, and operators that would lose much stay float32.
 * - `dynamic`: MatMul, Gemm, and Conv compute with 8-bit integers, whose range is measured at run time.
 * - `int8`: 8-bit weights with a scale per channel; with `ranges` (`rangesNeeded`), MatMul, Gemm, and Conv also have 8-bit
 *   inputs and outputs (QuantizeLinear and DequantizeLinear around float32 operators, which runtimes fuse).
 * - `int4`: 4-bit matrices in blocks of 32 (`MatMulNBits`, which onnxruntime runs); other weights have 8 bits.
 * Throws bad_request if there is nothing to quantize, the operator set is too old, or weights are not finite.
 */
export const quantizeOnnx = (
  model: OnnxModel,
  method: OnnxMethod,
  { ranges = new Map() }: { readonly ranges?: ReadonlyMap<string, ValueRange> } = {},
): OnnxQuantization => {
  requireFiniteWeights(liftConstants(model.graph))
  if (method === 'float16') return { model: toFloat16(model, valueTypes(model)), notes: [] }
  const opset = model.opsets[''] ?? 1
  if (opset < MIN_OPSET[method]) {
    throw badRequest(
      `${method} needs ONNX operator set ${MIN_OPSET[method]} or newer; this model has ${opset}. Export it with a newer one, or use float16.`,
    )
  }
  const edit = editGraph(model)
  const work: IntegerEdit = { edit, opset, ranges, made: new Map() }
  if (method === 'int8') calibratedNodes(work)
  else for (const node of edit.source.nodes) integerNode(work, node, method)
  const left = notQuantized(edit)
  if (work.made.size === 0) {
    throw badRequest(
      `The model has no float32 weights of 1 kB or more that ${method} makes smaller (of MatMul, Gemm, Conv, ConvTranspose, Gather, LSTM, GRU, or RNN).`,
    )
  }
  const microsoft = edit.nodes.some(({ domain }) => domain === 'com.microsoft')
  return { model: editedModel(model, edit, microsoft ? { 'com.microsoft': 1 } : {}), notes: left }
}

const integerNode = (work: IntegerEdit, node: OnnxNode, method: IntegerMethod): void => {
  const matrix = matrixOf(work, node)
  if (matrix !== null) {
    if (method === 'int4') nibbleProduct(work, node, matrix)
    else dynamicProduct(work, node, matrix)
    return
  }
  if (method === 'dynamic' && dynamicConv(work, node)) return
  if (byteRows(work, node)) return
  // Adds the nodes that this node needs before the node itself.
  work.edit.nodes.push(withByteWeights(work, node))
}

/** The node that a product's output passes through before it is stored: its only consumer, if that clips negative values. */
const clippedBy = (source: GraphEdit['source'], output: string): OnnxNode | undefined => {
  const consumers = source.nodes.filter(({ inputs }) => inputs.includes(output))
  const [only] = consumers
  return consumers.length === 1 && only!.domain === '' && ['Relu', 'Clip'].includes(only!.type) ? only : undefined
}

/** The values to calibrate, all float32: those whose ranges `int8` needs to compute in integers. */
export const rangesNeeded = (model: OnnxModel): readonly string[] => {
  const edit = editGraph(model)
  const typeOf = valueTypes(model)
  const isOutput = new Set(edit.source.outputs.map(({ name }) => name))
  const found = new Set<string>()
  for (const node of edit.source.nodes.filter(isProduct)) {
    if (edit.initializers.get(node.inputs[1] ?? '')?.type !== 'f32') continue
    const output = clippedBy(edit.source, node.outputs[0]!)?.outputs[0] ?? node.outputs[0]!
    for (const value of [node.inputs[0]!, output]) {
      if (!isOutput.has(value) && !edit.initializers.has(value) && typeOf(value) === 'f32') found.add(value)
    }
  }
  return [...found]
}

/** The same graph with only the minimum and maximum of each value as outputs: `calibration_<index>_Min` and `_Max`. */
export const calibrationModel = (model: OnnxModel, values: readonly string[]): OnnxModel => {
  const outputs = values.flatMap((value, index) =>
    (['Min', 'Max'] as const).map((which) => ({ value, which, name: `calibration_${index}_${which}` })),
  )
  const nodes = outputs.map(
    ({ value, which, name }): OnnxNode => ({
      name,
      type: `Reduce${which}`,
      domain: '',
      inputs: [value],
      outputs: [name],
      attributes: { keepdims: int(0) },
    }),
  )
  return {
    ...model,
    graph: {
      ...model.graph,
      nodes: [...model.graph.nodes, ...nodes],
      outputs: outputs.map(({ name }) => ({ name, type: 'f32', shape: [] })),
    },
  }
}

const calibratedNodes = (work: IntegerEdit): void => {
  const { edit } = work
  /** The 8-bit version of each value, for later nodes. */
  const stored = new Map<string, string>()
  const isStored = new Set<string>()
  for (const node of edit.source.nodes) {
    if (byteRows(work, node)) continue
    const weighted = withByteWeights(work, node)
    const isInteger = isProduct(node) && weighted !== node && work.ranges.has(node.inputs[0]!)
    const inputs = weighted.inputs.map((name) => stored.get(name) ?? name)
    if (isInteger) {
      inputs[0] = throughBytes(work, node.inputs[0]!)
      const bias = integerBias(work, node, node.inputs[0]!, scaleOf(edit, inputs[1]!))
      if (bias !== undefined) inputs[2] = bias
      isStored.add(clippedBy(edit.source, node.outputs[0]!)?.outputs[0] ?? node.outputs[0]!)
    }
    edit.nodes.push({ ...weighted, inputs })
    for (const output of node.outputs) if (isStored.has(output)) stored.set(output, throughBytes(work, output))
  }
}

/** The scales of dequantized weights. */
const scaleOf = ({ nodes }: GraphEdit, dequantized: string): string =>
  nodes.find(({ outputs }) => outputs[0] === dequantized)?.inputs[1] ?? ''

/** Names operators that keep large float32 weights, because the file stays large. */
const notQuantized = ({ nodes, initializers }: GraphEdit): string[] => {
  const kept = nodes.filter(
    (node) =>
      node.type !== 'Reshape' &&
      node.inputs.some((name) => {
        const tensor = initializers.get(name)
        return tensor?.type === 'f32' && tensor.shape.length > 1 && tensor.data.length >= MANY_BYTES
      }),
  )
  const labels = [...new Set(kept.map(nodeLabel))]
  if (labels.length === 0) return []
  return [
    `Kept in float32: ${labels.slice(0, 5).join(', ')}${labels.length > 5 ? `, and ${labels.length - 5} more` : ''}.`,
  ]
}

const MANY_BYTES = 1 << 16
