// Shared parts of quantized graphs: the edit of one graph and its matrices.
import { attributeOf, type OnnxNode } from '../onnx/model.ts'
import { type GraphEdit, weightNamed } from './graph-edit.ts'

/** The smallest and largest number of a value over the samples. */
export interface ValueRange {
  readonly min: number
  readonly max: number
}

export type IntegerMethod = 'int8' | 'int4' | 'dynamic'

/** State shared by the functions here while one graph is rewritten. */
export interface IntegerEdit {
  readonly edit: GraphEdit
  readonly opset: number
  readonly ranges: ReadonlyMap<string, ValueRange>
  /** Results that several nodes use, by key. */
  readonly made: Map<string, unknown>
}

/** `DequantizeLinear` supports scales per channel since this operator set. */
export const CHANNEL_OPSET = 13

/** Returns the names created by `make`, which is called once per key. */
export const once = <Names>({ made }: IntegerEdit, key: string, make: () => Names): Names => {
  if (!made.has(key)) made.set(key, make())
  return made.get(key) as Names
}

/** The right-hand matrix of a MatMul or Gemm. */
export interface Matrix {
  readonly name: string
  readonly rows: number
  readonly columns: number
  /** Stored as [columns, rows]. */
  readonly transposed: boolean
  readonly values: Float32Array
}

/** The constant matrix of a MatMul, or of a Gemm whose first input is not transposed; otherwise null. */
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
