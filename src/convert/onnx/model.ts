// An ONNX model as plain data: what every converter reads or creates.
import { badRequest } from '../../domain/errors.ts'
import { BYTES_OF, type DType } from '../../tensors/weight-file.ts'

/** Element types of tensors: those of weight files, strings, and 4-bit integers, two of which share a byte. */
export type ElementType = DType | 'string' | 'u4' | 'i4'

/** TensorProto.DataType by number. */
export const ELEMENT_TYPES: Readonly<Record<number, ElementType>> = {
  ...{ 1: 'f32', 2: 'u8', 3: 'i8', 4: 'u16', 5: 'i16', 6: 'i32', 7: 'i64', 8: 'string', 9: 'bool' },
  ...{ 10: 'f16', 11: 'f64', 12: 'u32', 13: 'u64', 16: 'bf16', 21: 'u4', 22: 'i4' },
}

export const numberOfElementType = (type: ElementType): number =>
  Number(Object.entries(ELEMENT_TYPES).find(([, name]) => name === type)![0])

/** A constant. Numbers are little-endian and row-major in `data`; strings are UTF-8 in `strings`. */
export interface OnnxTensor {
  readonly type: ElementType
  readonly shape: readonly number[]
  readonly data: Uint8Array
  readonly strings?: readonly Uint8Array[]
}

/** A graph's input or output. A dimension is a number or a name (`''` if it has none); null if the shape is unknown. */
export interface OnnxValue {
  readonly name: string
  readonly type: ElementType
  readonly shape: readonly (number | string)[] | null
  /** Sequences and maps, which some classifiers output: `sequence(map(i64, f32))`. Absent for tensors. */
  readonly container?: 'sequence' | 'map' | 'sequence of maps'
  readonly keyType?: ElementType
}

interface AttributeValues {
  readonly float: number
  readonly int: number
  readonly string: string
  readonly tensor: OnnxTensor
  readonly graph: OnnxGraph
  readonly floats: readonly number[]
  readonly ints: readonly number[]
  readonly strings: readonly string[]
}

export type Attribute = {
  [Kind in keyof AttributeValues]: { readonly kind: Kind; readonly value: AttributeValues[Kind] }
}[keyof AttributeValues]

export interface OnnxNode {
  readonly name: string
  readonly type: string
  /** `''` for ONNX's own operators, `ai.onnx.ml` for those of classical models. */
  readonly domain: string
  /** `''` for an omitted optional input. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: Readonly<Record<string, Attribute>>
}

export interface OnnxGraph {
  readonly name: string
  /** Without the initializers, which old models list among their inputs. */
  readonly inputs: readonly OnnxValue[]
  readonly outputs: readonly OnnxValue[]
  readonly initializers: ReadonlyMap<string, OnnxTensor>
  readonly nodes: readonly OnnxNode[]
  /** The file's declarations of intermediate values. */
  readonly values: readonly OnnxValue[]
}

export interface OnnxModel {
  readonly irVersion: number
  /** Version by domain; `''` is ONNX itself. */
  readonly opsets: Readonly<Record<string, number>>
  readonly graph: OnnxGraph
  readonly metadata: Readonly<Record<string, string>>
}

export const elementCount = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1)

/** How often each name occurs, the most frequent first. */
export const countsOf = (names: Iterable<string>): Record<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)))
}

/** The number of bytes of a tensor with this type and shape. */
export const byteCount = (type: ElementType, shape: readonly number[]): number => {
  const elements = elementCount(shape)
  if (type === 'string') return 0
  return type === 'u4' || type === 'i4' ? Math.ceil(elements / 2) : elements * BYTES_OF[type]
}

export const float = (value: number): Attribute => ({ kind: 'float', value })
export const int = (value: number): Attribute => ({ kind: 'int', value })
export const text = (value: string): Attribute => ({ kind: 'string', value })
export const floats = (value: Iterable<number>): Attribute => ({ kind: 'floats', value: [...value] })
export const ints = (value: Iterable<number>): Attribute => ({ kind: 'ints', value: [...value] })
export const texts = (value: Iterable<string>): Attribute => ({ kind: 'strings', value: [...value] })

/** The attribute's value, or the default if absent. Throws bad_request if it is of another kind. */
export const attributeOf = <Kind extends keyof AttributeValues, Default>(
  node: OnnxNode,
  name: string,
  kind: Kind,
  absent: Default,
): AttributeValues[Kind] | Default => {
  const attribute = node.attributes[name]
  if (attribute === undefined) return absent
  if (attribute.kind !== kind) {
    throw badRequest(`${nodeLabel(node)}: the attribute '${name}' is of kind ${attribute.kind}, not ${kind}.`)
  }
  return attribute.value as AttributeValues[Kind]
}

/** `Conv 'features.0'`, for messages. */
export const nodeLabel = (node: OnnxNode): string => {
  const name = node.name || node.outputs[0] || ''
  return name === '' ? node.type : `${node.type} '${name}'`
}
