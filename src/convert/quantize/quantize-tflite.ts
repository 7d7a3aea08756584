import { badRequest } from '../../domain/errors.ts'
import { decodeElements, encodeElements } from '../../tensors/elements.ts'
import { guarded } from '../onnx/infer-shapes.ts'
import { elementCount } from '../onnx/model.ts'
import { OPERATORS } from '../to-tflite/operator-names.ts'
import {
  codeOf,
  type OperatorCode,
  type Options,
  type SubGraph,
  TENSOR_TYPES,
  type TfliteModel,
  type TfliteOperator,
  type TfliteTensor,
} from '../to-tflite/schema.ts'
import { readTflite, writeTflite } from '../to-tflite/tflite-file.ts'
import { areFinite, leavesHalf, notFinite } from './weight-range.ts'

export const TFLITE_METHODS = ['int8', 'dynamic', 'float16'] as const
export type TfliteMethod = (typeof TFLITE_METHODS)[number]

/** Smaller constants stay float32: biases, for which nothing is saved, and thresholds of trees. */
const MIN_ELEMENTS = 256

/** The dimension of a weight with a scale per index, by operator and input. */
const CHANNEL_DIMENSION: Readonly<Record<number, Readonly<Record<number, number>>>> = {
  [OPERATORS.BATCH_MATMUL]: { 0: 0, 1: 0 },
  [OPERATORS.CONV_2D]: { 1: 0 },
  [OPERATORS.DEPTHWISE_CONV_2D]: { 1: 3 },
  [OPERATORS.FULLY_CONNECTED]: { 1: 0 },
  [OPERATORS.GATHER]: { 0: 0 },
  [OPERATORS.TRANSPOSE_CONV]: { 1: 0 },
}

/** The versions of operators whose kernels multiply float32 inputs with int8 weights. */
const HYBRID_VERSION: Readonly<Record<number, number>> = {
  [OPERATORS.CONV_2D]: 5,
  [OPERATORS.DEPTHWISE_CONV_2D]: 6,
  [OPERATORS.FULLY_CONNECTED]: 12,
}

interface Use {
  readonly operator: number
  readonly code: number
  readonly input: number
}

/** A model being edited by adding operator codes and buffers. */
interface Edit {
  readonly model: TfliteModel
  readonly codes: OperatorCode[]
  readonly buffers: { data?: Uint8Array; offset?: number }[]
}

const codeIndex = (codes: OperatorCode[], code: number, version: number): number => {
  const found = codes.findIndex((other) => codeOf(other) === code && (other.version ?? 1) === version)
  const deprecated = Math.min(code, 127)
  return found >= 0 ? found : codes.push({ deprecatedBuiltinCode: deprecated, builtinCode: code, version }) - 1
}

/** Finds the operators that read each tensor of a subgraph. */
const usesOf = (edit: Edit, graph: SubGraph): Map<number, Use[]> => {
  const uses = new Map<number, Use[]>()
  for (const [operator, { opcodeIndex, inputs }] of (graph.operators ?? []).entries()) {
    const code = codeOf(edit.codes[opcodeIndex ?? 0] ?? {})
    for (const [input, tensor] of (inputs ?? []).entries()) {
      uses.set(tensor, [...(uses.get(tensor) ?? []), { operator, code, input }])
    }
  }
  return uses
}

const weightValues = (edit: Edit, tensor: TfliteTensor): Float32Array | null => {
  const data = edit.buffers[tensor.buffer ?? 0]?.data
  const shape = tensor.shape ?? []
  const isWeight = (tensor.type ?? 0) === 0 && tensor.isVariable !== true && data !== undefined && data.length > 0
  if (!isWeight || shape.length < 2 || elementCount(shape) < MIN_ELEMENTS) return null
  if (data.length !== 4 * elementCount(shape)) {
    throw badRequest(
      `The tensor '${tensor.name ?? ''}' has ${data.length} bytes; its shape takes ${4 * elementCount(shape)}.`,
    )
  }
  return decodeElements(data, 'f32') as Float32Array
}

/**
 * `scale = max|w| / 127` for each index of a dimension, with zero point 0. Source: TensorFlow Lite 8-bit quantization
 * specification.
 */
const toInt8 = (values: Float32Array, shape: readonly number[], dimension: number) => {
  const count = shape[dimension] ?? 1
  const inner = elementCount(shape.slice(dimension + 1))
  const most = new Float64Array(count)
  const channel = (at: number) => Math.floor(at / inner) % count
  for (const [at, value] of values.entries()) most[channel(at)] = Math.max(most[channel(at)]!, Math.abs(value))
  const scale = Array.from(most, (value) => Math.fround(value === 0 ? 1 : value / 127))
  const data = Int8Array.from(values, (value, at) =>
    Math.max(-127, Math.min(127, Math.round(value / scale[channel(at)]!))),
  )
  const zeroPoint = scale.map(() => 0)
  return { data: new Uint8Array(data.buffer), quantization: { scale, zeroPoint, quantizedDimension: dimension } }
}

/** The options of a FULLY_CONNECTED that also measures the zero point of its input. */
const hybridOptions = (code: number, options: Options | undefined): { builtinOptions?: Options } => {
  if (code !== OPERATORS.FULLY_CONNECTED) return options === undefined ? {} : { builtinOptions: options }
  const table = 'FullyConnectedOptions'
  return { builtinOptions: { table, value: { ...options?.value, asymmetricQuantizeInputs: true } } }
}

/** Quantizes the weights of a subgraph; operators read them directly or through a DEQUANTIZE at the start of the graph. */
const quantizeGraph = (edit: Edit, graph: SubGraph, method: TfliteMethod): { graph: SubGraph; count: number } => {
  const tensors = [...(graph.tensors ?? [])]
  const operators = [...(graph.operators ?? [])]
  const outer = new Set([...(graph.inputs ?? []), ...(graph.outputs ?? [])])
  const dequantized: TfliteOperator[] = []
  let count = 0

  const replace = (index: number, data: Uint8Array, type: 'i8' | 'f16', more: Partial<TfliteTensor>): void => {
    const buffer = edit.buffers.push({ data }) - 1
    tensors[index] = { ...tensors[index], ...more, buffer, type: TENSOR_TYPES.indexOf(type) }
    count++
  }
  /** Makes readers of the weight read the output of a DEQUANTIZE instead. */
  const throughFloat = (index: number, uses: readonly Use[]): void => {
    const { shape, name } = tensors[index]!
    const output =
      tensors.push({ shape: shape ?? [], type: 0, buffer: 0, name: `${name ?? index}/float32`, hasRank: true }) - 1
    const opcodeIndex = codeIndex(edit.codes, OPERATORS.DEQUANTIZE, method === 'float16' ? 3 : 5)
    const builtinOptions = { table: 'DequantizeOptions', value: {} }
    dequantized.push({ opcodeIndex, inputs: [index], outputs: [output], builtinOptions })
    for (const { operator, input } of uses) {
      const inputs = operators[operator]!.inputs!.map((tensor, at) => (at === input ? output : tensor))
      operators[operator] = { ...operators[operator], inputs }
    }
  }
  for (const [index, uses] of usesOf(edit, graph)) {
    const tensor = tensors[index]
    const values = tensor === undefined || outer.has(index) ? null : weightValues(edit, tensor)
    if (tensor === undefined || values === null) continue
    const dimensions = uses.map(({ code, input }) => CHANNEL_DIMENSION[code]?.[input])
    if (!areFinite(values)) {
      // Tables and addends may be masks.
      if (uses.some(({ code }, use) => dimensions[use] !== undefined && code !== OPERATORS.GATHER)) {
        throw notFinite(tensor.name ?? '')
      }
      continue
    }
    if (method === 'float16') {
      if (leavesHalf(values)) continue
      replace(index, encodeElements(values, 'f16'), 'f16', {})
      throughFloat(index, uses)
      continue
    }
    const dimension = dimensions[0]
    if (dimension === undefined || dimensions.some((other) => other !== dimension)) continue
    const { data, quantization } = toInt8(values, tensor.shape ?? [], dimension)
    // A scale and a zero point take 12 bytes; each element saves three.
    if (3 * values.length <= 12 * quantization.scale.length) continue
    replace(index, data, 'i8', { quantization })
    if (method === 'int8' || uses.some(({ code }) => HYBRID_VERSION[code] === undefined)) {
      throughFloat(index, uses)
      continue
    }
    for (const { operator, code } of uses) {
      const node = operators[operator]!
      const opcodeIndex = codeIndex(edit.codes, code, HYBRID_VERSION[code]!)
      operators[operator] = { ...node, opcodeIndex, ...hybridOptions(code, node.builtinOptions) }
    }
  }
  return { graph: { ...graph, tensors, operators: [...dequantized, ...operators] }, count }
}

/** Empties buffers that no tensor or metadata references. */
const withoutUnused = (model: TfliteModel): TfliteModel => {
  const tensors = (model.subgraphs ?? []).flatMap((graph) => graph.tensors ?? [])
  const used = new Set([...tensors, ...(model.metadata ?? [])].map(({ buffer }) => buffer ?? 0))
  for (const buffer of model.metadataBuffer ?? []) used.add(buffer)
  return { ...model, buffers: (model.buffers ?? []).map((buffer, index) => (used.has(index) ? buffer : {})) }
}

/**
 * Returns a .tflite file with smaller weights.
 * - `float16`: 16-bit weights, float32 when the model is loaded: half the size, almost no loss, on every runtime.
 * - `dynamic`: 8-bit weights with a scale per channel; convolutions and dense layers compute with 8-bit integers, whose
 *   range is measured for each input. Operators without such a kernel are treated as with `int8`.
 * - `int8`: 8-bit weights, float32 when the model is loaded: a quarter of the size, with loss only in the weights.
 * Throws bad_request if the file is not a TFLite model or has no float32 weights.
 */
export const quantizeTflite = (
  bytes: Uint8Array,
  method: TfliteMethod,
): { readonly bytes: Uint8Array; readonly notes: string[] } =>
  guarded('The TFLite model', () => {
    if (!TFLITE_METHODS.includes(method)) {
      throw badRequest(
        `TFLite models do not support ${String(method)}; use ${TFLITE_METHODS.join(', ')}. For int4, quantize the ONNX model.`,
      )
    }
    const model = readTflite(bytes)
    const edit: Edit = { model, codes: [...(model.operatorCodes ?? [])], buffers: [...(model.buffers ?? [])] }
    const graphs = (model.subgraphs ?? []).map((graph) => quantizeGraph(edit, graph, method))
    const count = graphs.reduce((sum, graph) => sum + graph.count, 0)
    if (count === 0) {
      throw badRequest(`it has no float32 weights of ${MIN_ELEMENTS} numbers or more that could be made smaller.`)
    }
    const result = {
      ...model,
      operatorCodes: edit.codes,
      buffers: edit.buffers,
      subgraphs: graphs.map(({ graph }) => graph),
    }
    return {
      bytes: writeTflite(withoutUnused(result)),
      notes: [`${count} weights are ${method === 'float16' ? 'float16' : 'int8'}.`],
    }
  })
