// 8-bit weights, biases, and values between QuantizeLinear and DequantizeLinear.
import { attributeOf, int, type OnnxNode } from '../onnx/model.ts'
import { numbersOf, tensorOf } from '../onnx/tensors.ts'
import { weightNamed } from './graph-edit.ts'
import { CHANNEL_OPSET, type IntegerEdit, once, type ValueRange } from './integer-graph.ts'
import { MAX_INTEGER_WEIGHT, roundToEven, toBytes } from './round-weights.ts'
import { areFinite } from './weight-range.ts'

/** The inputs of an operator that are weights, with the dimension of their channels. */
const channelsOf = (node: OnnxNode, rank: number): Readonly<Record<number, number>> => {
  if (node.domain !== '') return {}
  if (node.type === 'Conv') return { 1: 0 }
  if (node.type === 'ConvTranspose') return { 1: attributeOf(node, 'group', 'int', 1) === 1 ? 1 : 0 }
  // A constant may be the first factor too, whose rows are the channels.
  if (node.type === 'MatMul') return { 0: rank - 2, 1: rank - 1 }
  if (node.type === 'Gemm') {
    const isTransposed = (name: string): boolean => attributeOf(node, name, 'int', 0) !== 0
    return { 0: isTransposed('transA') ? 1 : 0, 1: isTransposed('transB') ? 0 : 1 }
  }
  if (['LSTM', 'GRU', 'RNN'].includes(node.type)) return { 1: 1, 2: 1 }
  return {}
}

/** Replaces a node's weights with `DequantizeLinear` of 8-bit weights; returns the same node if it has none. */
export const withByteWeights = (work: IntegerEdit, node: OnnxNode): OnnxNode => {
  const { edit, opset } = work
  if (opset < CHANNEL_OPSET) return node
  const inputs = node.inputs.map((name, index) => {
    const rank = edit.initializers.get(name)?.shape.length ?? 0
    const axis = channelsOf(node, rank)[index]
    const weight = axis === undefined || rank < 2 ? null : weightNamed(edit, name)
    if (weight === null) return name
    return once(work, `dequantized ${name} ${axis}`, () => {
      // If ranges are known, the product is computed in integers; otherwise, the weights become floating-point numbers again.
      const limit = work.ranges.size > 0 ? MAX_INTEGER_WEIGHT : undefined
      // onnxruntime multiplies stacks of matrices only with a single scale.
      const isStack = node.type === 'MatMul' && rank > 2
      const { values, scales } = isStack
        ? toBytes(weight.values, [1, weight.values.length], 0, limit)
        : toBytes(weight.values, weight.shape, axis!, limit)
      const bytes = { type: 'i8', shape: weight.shape, data: new Uint8Array(values.buffer) } as const
      const shape = isStack ? [] : [scales.length]
      const scale = edit.constant(`${name}_scale`, tensorOf('f32', shape, scales))
      const zero = { type: 'i8', shape, data: new Uint8Array(scales.length) } as const
      const constants = [edit.constant(`${name}_i8`, bytes), scale, edit.constant(`${name}_zero`, zero)]
      const attributes = isStack ? {} : { axis: int(axis!) }
      return edit.emit('DequantizeLinear', constants, attributes, { output: edit.name(`${name}_f32`) })
    })
  })
  return inputs.every((name, index) => name === node.inputs[index]) ? node : { ...node, inputs }
}

/** An embedding: gathers rows of 8-bit weights and their scales, and multiplies them. */
export const byteRows = (work: IntegerEdit, node: OnnxNode): boolean => {
  const { edit } = work
  const rows = node.type === 'Gather' && node.domain === '' ? weightNamed(edit, node.inputs[0]) : null
  if (rows === null || rows.shape.length !== 2 || attributeOf(node, 'axis', 'int', 0) !== 0) return false
  // Possibly rows of a mask.
  if (!areFinite(rows.values)) return false
  const [name, indices] = node.inputs as [string, string]
  const [bytes, scale] = once(work, `rows ${name}`, () => {
    const { values, scales } = toBytes(rows.values, rows.shape, 0)
    return [
      edit.constant(`${name}_i8`, { type: 'i8', shape: rows.shape, data: new Uint8Array(values.buffer) }),
      edit.constant(`${name}_scale`, tensorOf('f32', [rows.shape[0]!, 1], scales)),
    ] as const
  })
  const cast = edit.emit('Cast', [edit.emit('Gather', [bytes, indices])], { to: int(1) })
  edit.emit('Mul', [cast, edit.emit('Gather', [scale, indices])], {}, { output: node.outputs[0]! })
  return true
}

/** The scale and zero point of unsigned bytes that cover the range and represent 0 exactly. */
const affineOf = ({ min, max }: ValueRange): { readonly scale: number; readonly zero: number } => {
  const [low, high] = [Math.min(0, min), Math.max(0, max)]
  const scale = Math.fround((high - low) / 255) || 1
  return { scale, zero: Math.max(0, Math.min(255, roundToEven(-low / scale))) }
}

/** Converts the value to 8 bits and back; returns it unchanged if its range is unknown. */
export const throughBytes = (work: IntegerEdit, value: string): string => {
  const range = work.ranges.get(value)
  if (range === undefined) return value
  const { edit } = work
  return once(work, `bytes of ${value}`, () => {
    const { scale, zero } = affineOf(range)
    const constants = [
      edit.constant(`${value}_scale`, tensorOf('f32', [], [scale])),
      edit.constant(`${value}_zero`, tensorOf('u8', [], [zero])),
    ]
    const bytes = edit.emit('QuantizeLinear', [value, ...constants], {}, { output: edit.name(`${value}_u8`) })
    return edit.emit('DequantizeLinear', [bytes, ...constants], {}, { output: edit.name(`${value}_f32`) })
  })
}

/** The bias as 32-bit integers with the scale of input times weights; without it, onnxruntime keeps the float32 operator. */
export const integerBias = (
  work: IntegerEdit,
  node: OnnxNode,
  input: string,
  weightScale: string,
): string | undefined => {
  const { edit } = work
  const bias = edit.initializers.get(node.inputs[2] ?? '')
  const scales = edit.initializers.get(weightScale)
  const range = work.ranges.get(input)
  if (bias?.type !== 'f32' || scales === undefined || range === undefined) return undefined
  if (['alpha', 'beta'].some((name) => attributeOf(node, name, 'float', 1) !== 1)) return undefined
  const perChannel = numbersOf(scales)
  const numbers = numbersOf(bias)
  if (numbers.length !== perChannel.length) return undefined
  const products = perChannel.map((scale) => scale * affineOf(range).scale)
  const whole = numbers.map((value, channel) => roundToEven(value / products[channel]!))
  if (whole.some((value) => !(Math.abs(value) < 2 ** 31))) return undefined
  const name = node.inputs[2]!
  const constants = [
    edit.constant(`${name}_i32`, tensorOf('i32', [numbers.length], whole)),
    edit.constant(`${name}_scale`, tensorOf('f32', [numbers.length], products)),
    edit.constant(`${name}_zero`, tensorOf('i32', [numbers.length], new Float32Array(numbers.length))),
  ]
  return edit.emit('DequantizeLinear', constants, { axis: int(0) }, { output: edit.name(`${name}_f32`) })
}
