import { attributeOf, int, type OnnxNode } from '../onnx/model.ts'
import { numbersOf, tensorOf } from '../onnx/tensors.ts'
import { type GraphEdit, weightNamed } from './graph-edit.ts'
import { MAX_INTEGER_WEIGHT, roundToEven, toBytes, toNibbles } from './round-weights.ts'

/** The smallest and largest number that a value had on samples. */
export interface ValueRange {
  readonly min: number
  readonly max: number
}

export type IntegerMethod = 'int8' | 'int4' | 'dynamic'

/** What the functions here share while one graph is rewritten. */
export interface IntegerEdit {
  readonly edit: GraphEdit
  readonly opset: number
  readonly ranges: ReadonlyMap<string, ValueRange>
  /** Results that several nodes use, by what they are made of. */
  readonly made: Map<string, string>
}

const BLOCK = 32
/** `DequantizeLinear` has scales for channels since this operator set. */
export const CHANNEL_OPSET = 13

const once = ({ made }: IntegerEdit, key: string, make: () => string): string => {
  const known = made.get(key)
  if (known !== undefined) return known
  const name = make()
  made.set(key, name)
  return name
}

/** A matrix that is multiplied from the right, of MatMul or of Gemm. */
interface Matrix {
  readonly name: string
  readonly rows: number
  readonly columns: number
  /** It is stored as [columns, rows]. */
  readonly transposed: boolean
  readonly values: Float32Array
}

/** The constant matrix of a MatMul, or of a Gemm whose first input is not transposed; null for all else. */
export const matrixOf = ({ edit }: IntegerEdit, node: OnnxNode): Matrix | null => {
  if (node.domain !== '' || (node.type !== 'MatMul' && node.type !== 'Gemm')) return null
  const weight = weightNamed(edit, node.inputs[1])
  if (weight === null || weight.shape.length !== 2) return null
  const isGemm = node.type === 'Gemm'
  if (isGemm && attributeOf(node, 'transA', 'int', 0) !== 0) return null
  const transposed = isGemm && attributeOf(node, 'transB', 'int', 0) !== 0
  const [first, second] = weight.shape as [number, number]
  const [rows, columns] = transposed ? [second, first] : [first, second]
  return { name: node.inputs[1]!, rows, columns, transposed, values: weight.values }
}

const untransposed = ({ values, rows, columns, transposed }: Matrix): Float32Array => {
  if (!transposed) return values
  const result = new Float32Array(values.length)
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) result[row * columns + column] = values[column * rows + row]!
  }
  return result
}

/** What a Gemm does to its product: alpha · product + beta · C, under the node's output. A MatMul has neither. */
const finishProduct = ({ edit }: IntegerEdit, node: OnnxNode, product: (output?: string) => string): void => {
  const output = node.outputs[0]!
  const [alpha, beta] = [attributeOf(node, 'alpha', 'float', 1), attributeOf(node, 'beta', 'float', 1)]
  const scaled = (value: string, by: number, to?: string): string =>
    edit.add('Mul', [value, edit.constant(`${output}_factor`, tensorOf('f32', [], [by]))], {}, to ? { output: to } : {})
  const addend = node.type === 'Gemm' && beta !== 0 ? node.inputs[2] : undefined
  if (!addend) {
    if (node.type === 'MatMul' || alpha === 1) product(output)
    else scaled(product(), alpha, output)
    return
  }
  const whole = alpha === 1 ? product() : scaled(product(), alpha)
  edit.add('Add', [whole, beta === 1 ? addend : scaled(addend, beta)], {}, { output })
}

/** The value as unsigned bytes with the scale and the zero point that its own range gives, at run time. */
const dynamicBytes = (work: IntegerEdit, value: string): readonly [string, string, string] => {
  const { edit } = work
  const quantized = once(work, `dynamic ${value}`, () => {
    const [bytes, scale, zero] = [edit.name(`${value}_u8`), edit.name(`${value}_scale`), edit.name(`${value}_zero`)]
    edit.nodes.push({
      name: edit.name(`${value}_quantize`),
      type: 'DynamicQuantizeLinear',
      domain: '',
      inputs: [value],
      outputs: [bytes, scale, zero],
      attributes: {},
    })
    work.made.set(`dynamic scale ${value}`, scale)
    work.made.set(`dynamic zero ${value}`, zero)
    return bytes
  })
  return [quantized, work.made.get(`dynamic scale ${value}`)!, work.made.get(`dynamic zero ${value}`)!]
}

/** The integer product as float32: product · (scale of the value · scales of the weights). */
const toFloat = (edit: GraphEdit, product: string, scale: string, scales: string, output?: string): string => {
  const cast = edit.add('Cast', [product], { to: int(1) })
  return edit.add('Mul', [cast, edit.add('Mul', [scale, scales])], {}, output ? { output } : {})
}

/** MatMul and Gemm as onnxruntime's quantize_dynamic writes them, with a scale for each column. */
export const dynamicProduct = (work: IntegerEdit, node: OnnxNode, matrix: Matrix): void => {
  const { edit } = work
  const { name, rows, columns } = matrix
  const scales = once(work, `columns ${name} ${matrix.transposed}`, () => {
    const { values, scales } = toBytes(untransposed(matrix), [rows, columns], 1, MAX_INTEGER_WEIGHT)
    const data = new Uint8Array(values.buffer)
    work.made.set(
      `bytes ${name} ${matrix.transposed}`,
      edit.constant(`${name}_i8`, { type: 'i8', shape: [rows, columns], data }),
    )
    return edit.constant(`${name}_scale`, tensorOf('f32', [columns], scales))
  })
  const weight = work.made.get(`bytes ${name} ${matrix.transposed}`)!
  finishProduct(work, node, (output) => {
    const [bytes, scale, zero] = dynamicBytes(work, node.inputs[0]!)
    const weightZero = once(work, 'zero i8', () => edit.constant('zero_i8', tensorOf('i8', [], [0])))
    const product = edit.add('MatMulInteger', [bytes, weight, zero, weightZero])
    return toFloat(edit, product, scale, scales, output)
  })
}

const WEIGHT_ZERO = 128

/** Conv as quantize_dynamic writes it. Its weights are unsigned: onnxruntime has no ConvInteger for signed ones. */
export const dynamicConv = (work: IntegerEdit, node: OnnxNode): boolean => {
  const { edit } = work
  const weight = node.type === 'Conv' && node.domain === '' ? weightNamed(edit, node.inputs[1]) : null
  if (weight === null) return false
  const [name, channels] = [node.inputs[1]!, weight.shape[0]!]
  const perChannel = [1, channels, ...weight.shape.slice(2).map(() => 1)]
  const scales = once(work, `unsigned ${name}`, () => {
    const { values, scales } = toBytes(weight.values, weight.shape, 0)
    const data = Uint8Array.from(values, (value) => value + WEIGHT_ZERO)
    work.made.set(`unsigned bytes ${name}`, edit.constant(`${name}_u8`, { type: 'u8', shape: weight.shape, data }))
    return edit.constant(`${name}_scale`, tensorOf('f32', perChannel, scales))
  })
  const [bytes, scale, zero] = dynamicBytes(work, node.inputs[0]!)
  const weightZero = once(work, 'zero u8', () => edit.constant('zero_u8', tensorOf('u8', [], [WEIGHT_ZERO])))
  const inputs = [bytes, work.made.get(`unsigned bytes ${name}`)!, zero, weightZero]
  const product = edit.add('ConvInteger', inputs, node.attributes)
  const bias = node.inputs[2]
  const output = node.outputs[0]!
  if (!bias) return toFloat(edit, product, scale, scales, output) === output
  const shape = edit.constant(`${name}_shape`, tensorOf('i64', [perChannel.length], perChannel))
  const reshaped = edit.add('Reshape', [bias, shape])
  edit.add('Add', [toFloat(edit, product, scale, scales), reshaped], {}, { output })
  return true
}

/** MatMul and Gemm with 4-bit weights in blocks of 32: onnxruntime's own operator. */
export const nibbleProduct = (work: IntegerEdit, node: OnnxNode, matrix: Matrix): void => {
  const { edit } = work
  const { name, rows, columns, transposed } = matrix
  const key = `nibbles ${name} ${transposed}`
  const values = once(work, key, () => {
    const { values, scales, zeroPoints, blocks } = toNibbles(matrix.values, matrix, BLOCK)
    work.made.set(`${key} scales`, edit.constant(`${name}_scale`, tensorOf('f32', [columns * blocks], scales)))
    const zeros = { type: 'u8', shape: [zeroPoints.length], data: zeroPoints } as const
    work.made.set(`${key} zeros`, edit.constant(`${name}_zero`, zeros))
    return edit.constant(`${name}_i4`, { type: 'u8', shape: [columns, blocks, BLOCK / 2], data: values })
  })
  const inputs = [node.inputs[0]!, values, work.made.get(`${key} scales`)!, work.made.get(`${key} zeros`)!]
  const attributes = { K: int(rows), N: int(columns), bits: int(4), block_size: int(BLOCK) }
  finishProduct(work, node, (output) =>
    edit.add('MatMulNBits', inputs, attributes, { domain: 'com.microsoft', ...(output && { output }) }),
  )
}

/** The inputs of an operator that are weights, with the dimension of their channels. */
const channelsOf = (node: OnnxNode, rank: number): Readonly<Record<number, number>> => {
  if (node.domain !== '') return {}
  if (node.type === 'Conv') return { 1: 0 }
  if (node.type === 'ConvTranspose') return { 1: attributeOf(node, 'group', 'int', 1) === 1 ? 1 : 0 }
  if (node.type === 'MatMul') return { 1: rank - 1 }
  if (node.type === 'Gemm') return { 1: attributeOf(node, 'transB', 'int', 0) === 0 ? 1 : 0 }
  if (['LSTM', 'GRU', 'RNN'].includes(node.type)) return { 1: 1, 2: 1 }
  return {}
}

/** The node with `DequantizeLinear` of 8-bit weights in place of its weights; the same node where it has none. */
export const withByteWeights = (work: IntegerEdit, node: OnnxNode): OnnxNode => {
  const { edit, opset } = work
  if (opset < CHANNEL_OPSET) return node
  const inputs = node.inputs.map((name, index) => {
    const rank = edit.initializers.get(name)?.shape.length ?? 0
    const axis = channelsOf(node, rank)[index]
    const weight = axis === undefined || rank < 2 ? null : weightNamed(edit, name)
    if (weight === null) return name
    return once(work, `dequantized ${name} ${axis}`, () => {
      // Between known ranges the product is one of integers; elsewhere the weights are floating-point numbers again.
      const limit = work.ranges.size > 0 ? MAX_INTEGER_WEIGHT : undefined
      const { values, scales } = toBytes(weight.values, weight.shape, axis!, limit)
      const bytes = { type: 'i8', shape: weight.shape, data: new Uint8Array(values.buffer) } as const
      const scale = edit.constant(`${name}_scale`, tensorOf('f32', [scales.length], scales))
      const zero = { type: 'i8', shape: [scales.length], data: new Uint8Array(scales.length) } as const
      const constants = [edit.constant(`${name}_i8`, bytes), scale, edit.constant(`${name}_zero`, zero)]
      return edit.add('DequantizeLinear', constants, { axis: int(axis!) }, { output: edit.name(`${name}_f32`) })
    })
  })
  return inputs.every((name, index) => name === node.inputs[index]) ? node : { ...node, inputs }
}

/** An embedding: rows of 8-bit weights, and their scales, are gathered and multiplied. */
export const byteRows = (work: IntegerEdit, node: OnnxNode): boolean => {
  const { edit } = work
  const rows = node.type === 'Gather' && node.domain === '' ? weightNamed(edit, node.inputs[0]) : null
  if (rows === null || rows.shape.length !== 2 || attributeOf(node, 'axis', 'int', 0) !== 0) return false
  const [name, indices] = node.inputs as [string, string]
  const scales = once(work, `rows ${name}`, () => {
    const { values, scales } = toBytes(rows.values, rows.shape, 0)
    const bytes = { type: 'i8', shape: rows.shape, data: new Uint8Array(values.buffer) } as const
    work.made.set(`row bytes ${name}`, edit.constant(`${name}_i8`, bytes))
    return edit.constant(`${name}_scale`, tensorOf('f32', [rows.shape[0]!, 1], scales))
  })
  const gathered = edit.add('Gather', [work.made.get(`row bytes ${name}`)!, indices])
  const cast = edit.add('Cast', [gathered], { to: int(1) })
  edit.add('Mul', [cast, edit.add('Gather', [scales, indices])], {}, { output: node.outputs[0]! })
  return true
}

/** Scale and zero point of unsigned bytes that hold the range, and 0 exactly. */
const affineOf = ({ min, max }: ValueRange): { readonly scale: number; readonly zero: number } => {
  const [low, high] = [Math.min(0, min), Math.max(0, max)]
  const scale = Math.fround((high - low) / 255) || 1
  return { scale, zero: Math.max(0, Math.min(255, roundToEven(-low / scale))) }
}

/** The value through 8 bits and back; the value itself where its range is not known. */
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
    const bytes = edit.add('QuantizeLinear', [value, ...constants], {}, { output: edit.name(`${value}_u8`) })
    return edit.add('DequantizeLinear', [bytes, ...constants], {}, { output: edit.name(`${value}_f32`) })
  })
}

/** The bias as 32-bit integers with the scale of input times weights, without which onnxruntime keeps the float32 operator. */
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
  return edit.add('DequantizeLinear', constants, { axis: int(0) }, { output: edit.name(`${name}_f32`) })
}
