// Integer products in place of MatMul, Gemm, and Conv, for values whose ranges are measured at run time.
import { attributeOf, int, type OnnxNode } from '../onnx/model.ts'
import { tensorOf } from '../onnx/tensors.ts'
import { type GraphEdit, weightNamed } from './graph-edit.ts'
import { type IntegerEdit, type Matrix, once } from './integer-graph.ts'
import { MAX_INTEGER_WEIGHT, toBytes, toNibbles } from './round-weights.ts'

const BLOCK = 32

const untransposed = ({ values, rows, columns, transposed }: Matrix): Float32Array => {
  if (!transposed) return values
  const result = new Float32Array(values.length)
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) result[row * columns + column] = values[column * rows + row]!
  }
  return result
}

/** Completes a Gemm: alpha · product + beta · C, as the node's output. A MatMul has neither. */
const finishProduct = ({ edit }: IntegerEdit, node: OnnxNode, product: (output?: string) => string): void => {
  const output = node.outputs[0]!
  const [alpha, beta] = [attributeOf(node, 'alpha', 'float', 1), attributeOf(node, 'beta', 'float', 1)]
  const scaled = (value: string, by: number, to?: string): string =>
    edit.emit('Mul', [value, edit.constant(`${output}_factor`, tensorOf('f32', [], [by]))], {}, { output: to })
  const addend = node.type === 'Gemm' && beta !== 0 ? node.inputs[2] : undefined
  if (!addend) {
    if (node.type === 'MatMul' || alpha === 1) product(output)
    else scaled(product(), alpha, output)
    return
  }
  const whole = alpha === 1 ? product() : scaled(product(), alpha)
  edit.emit('Add', [whole, beta === 1 ? addend : scaled(addend, beta)], {}, { output })
}

/** The value as unsigned bytes, with the scale and zero point of its own range at run time. */
const dynamicBytes = (work: IntegerEdit, value: string): readonly [string, string, string] =>
  once(work, `dynamic ${value}`, () => {
    const { edit } = work
    const outputs = [edit.name(`${value}_u8`), edit.name(`${value}_scale`), edit.name(`${value}_zero`)] as const
    const name = edit.name(`${value}_quantize`)
    edit.nodes.push({ name, type: 'DynamicQuantizeLinear', domain: '', inputs: [value], outputs, attributes: {} })
    return outputs
  })

/** The integer product as float32: product · (scale of the value · scales of the weights). */
const toFloat = (edit: GraphEdit, product: string, scale: string, scales: string, output?: string): string => {
  const cast = edit.emit('Cast', [product], { to: int(1) })
  return edit.emit('Mul', [cast, edit.emit('Mul', [scale, scales])], {}, { output })
}

/** MatMul and Gemm as onnxruntime's quantize_dynamic writes them, with a scale per column. */
export const dynamicProduct = (work: IntegerEdit, node: OnnxNode, matrix: Matrix): void => {
  const { edit } = work
  const { name, rows, columns } = matrix
  const [weight, weightScales] = once(work, `columns ${name} ${matrix.transposed}`, () => {
    const { values, scales } = toBytes(untransposed(matrix), [rows, columns], 1, MAX_INTEGER_WEIGHT)
    const data = new Uint8Array(values.buffer)
    return [
      edit.constant(`${name}_i8`, { type: 'i8', shape: [rows, columns], data }),
      edit.constant(`${name}_scale`, tensorOf('f32', [columns], scales)),
    ] as const
  })
  finishProduct(work, node, (output) => {
    const [bytes, scale, zero] = dynamicBytes(work, node.inputs[0]!)
    const weightZero = once(work, 'zero i8', () => edit.constant('zero_i8', tensorOf('i8', [], [0])))
    const product = edit.emit('MatMulInteger', [bytes, weight, zero, weightZero])
    return toFloat(edit, product, scale, weightScales, output)
  })
}

const WEIGHT_ZERO = 128

/** Conv as quantize_dynamic writes it. Its weights are unsigned because onnxruntime has no ConvInteger for signed ones. */
export const dynamicConv = (work: IntegerEdit, node: OnnxNode): boolean => {
  const { edit } = work
  const weight = node.type === 'Conv' && node.domain === '' ? weightNamed(edit, node.inputs[1]) : null
  if (weight === null) return false
  const [name, channels] = [node.inputs[1]!, weight.shape[0]!]
  const perChannel = [1, channels, ...weight.shape.slice(2).map(() => 1)]
  const [weights, weightScales] = once(work, `unsigned ${name}`, () => {
    const { values, scales } = toBytes(weight.values, weight.shape, 0)
    const data = Uint8Array.from(values, (value) => value + WEIGHT_ZERO)
    return [
      edit.constant(`${name}_u8`, { type: 'u8', shape: weight.shape, data }),
      edit.constant(`${name}_scale`, tensorOf('f32', perChannel, scales)),
    ] as const
  })
  const [bytes, scale, zero] = dynamicBytes(work, node.inputs[0]!)
  const weightZero = once(work, 'zero u8', () => edit.constant('zero_u8', tensorOf('u8', [], [WEIGHT_ZERO])))
  const product = edit.emit('ConvInteger', [bytes, weights, zero, weightZero], node.attributes)
  const bias = node.inputs[2]
  const output = node.outputs[0]!
  if (!bias) return toFloat(edit, product, scale, weightScales, output) === output
  const shape = edit.constant(`${name}_shape`, tensorOf('i64', [perChannel.length], perChannel))
  const reshaped = edit.emit('Reshape', [bias, shape])
  edit.emit('Add', [toFloat(edit, product, scale, weightScales), reshaped], {}, { output })
  return true
}

/** MatMul and Gemm with 4-bit weights in blocks of 32: onnxruntime's own operator. */
export const nibbleProduct = (work: IntegerEdit, node: OnnxNode, matrix: Matrix): void => {
  const { edit } = work
  const { name, rows, columns, transposed } = matrix
  const weights = once(work, `nibbles ${name} ${transposed}`, () => {
    const { values, scales, zeroPoints, blocks } = toNibbles(matrix.values, matrix, BLOCK)
    const scale = edit.constant(`${name}_scale`, tensorOf('f32', [columns * blocks], scales))
    const zero = edit.constant(`${name}_zero`, { type: 'u8', shape: [zeroPoints.length], data: zeroPoints })
    const shape = [columns, blocks, BLOCK / 2]
    return [edit.constant(`${name}_i4`, { type: 'u8', shape, data: values }), scale, zero]
  })
  const inputs = [node.inputs[0]!, ...weights]
  const attributes = { K: int(rows), N: int(columns), bits: int(4), block_size: int(BLOCK) }
  finishProduct(work, node, (output) =>
    edit.emit('MatMulNBits', inputs, attributes, { domain: 'com.microsoft', output }),
  )
}
