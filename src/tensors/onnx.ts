import { badRequest } from '../domain/errors.ts'
import { ByteCursor } from './byte-cursor.ts'
import { constantIn, constantOf } from './constant-checksums.ts'
import { MAX_DIMENSIONS, MAX_TENSORS } from './limits.ts'
import { fieldsOf, type ProtoField, readVarint } from './protobuf.ts'
import { requireShape, showName, showShape } from './shape.ts'
import { decodeText, viewOf } from './sources.ts'
import {
  type ByteSource,
  byteLength,
  type Constant,
  type DType,
  directTensor,
  type Tensor,
  type TensorPlaces,
} from './weight-file.ts'

// Field numbers and types: onnx.proto, ModelProto, GraphProto, TensorProto.
const GRAPH = 7
const INITIALIZER = 5
const SPARSE_INITIALIZER = 15
const RAW = 9
const FLOAT_TYPES: ReadonlyMap<number, DType> = new Map([
  [1, 'f32'],
  [10, 'f16'],
  [11, 'f64'],
  [16, 'bf16'],
])
/** Bytes per element of the types that are constants and may be written as varints. */
const INTEGER_BYTES: ReadonlyMap<number, number> = new Map([
  [2, 1],
  [3, 1],
  [4, 2],
  [5, 2],
  [6, 4],
  [7, 8],
  [9, 1],
  [12, 4],
  [13, 8],
])
/** The TensorProto fields for elements: float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data. */
const DATA_FIELDS = new Set([4, 5, 6, 7, RAW, 10, 11])
const TYPED: ReadonlyMap<number, DType> = new Map([
  [4, 'f32'],
  [10, 'f64'],
])
const MAX_NUMBERS = 4 * 1024 * 1024
const MAX_NAME = 10_000

/** The ModelProto fields that may precede the graph, with their wire types: varint (0) or length-delimited (2). */
const BEFORE_GRAPH: Readonly<Record<number, 0 | 2>> = { 1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 8: 2, 14: 2, 20: 2, 25: 2 }
/** The fields of GraphProto, all length-delimited: node, name, initializer, doc_string, input, output, value_info, ... */
const IN_GRAPH = new Set([1, 2, 5, 10, 11, 12, 13, 14, 15].map((field) => (field << 3) | 2))

/** Reads a base-128 number at `at`; returns it and the offset after it, or null if it does not end within 5 bytes. */
const varint = (bytes: Uint8Array, at: number): readonly [value: number, next: number] | null => {
  let value = 0
  for (let i = 0; i < 5 && at + i < bytes.length; i++) {
    value += (bytes[at + i]! & 0x7f) * 2 ** (7 * i)
    if (bytes[at + i]! < 0x80) return [value, at + i + 1]
  }
  return null
}

/**
 * ONNX has no magic number: checks that the file starts with a small ir_version and that only fields of ModelProto
 * (onnx.proto) precede the graph. `head` is the start of the file.
 */
export const startsLikeOnnx = (head: Uint8Array): boolean => {
  if (head[0] !== 0x08) return false
  let at = 0
  for (let fields = 0; fields < 64; fields++) {
    const tag = varint(head, at)
    if (tag === null) return false
    const [key, afterKey] = tag
    const field = key >>> 3
    const value = varint(head, afterKey)
    if (value === null) return false
    if (field === GRAPH && (key & 7) === 2) return fields > 0 && IN_GRAPH.has(head[value[1]] ?? -1)
    if (BEFORE_GRAPH[field] !== (key & 7)) return false
    if (field === 1 && (value[0] < 1 || value[0] > 50)) return false
    at = (key & 7) === 2 ? value[1] + value[0] : value[1]
  }
  return false
}

interface Initializer {
  readonly name: string
  readonly type: number
  readonly shape: readonly number[]
  readonly data: ProtoField | null
}

const readDims = (cursor: ByteCursor, field: ProtoField, dims: number[]): void => {
  const end = field.start + field.length
  if (field.wire === 'varint') dims.push(Number(BigInt.asIntN(64, field.value)))
  else while (cursor.position < end && dims.length <= MAX_DIMENSIONS) dims.push(Number(readVarint(cursor)))
}

const readInitializer = (cursor: ByteCursor, end: number): Initializer => {
  const dims: number[] = []
  let name = ''
  let type = 0
  let data: ProtoField | null = null
  let external = false
  for (const field of fieldsOf(cursor, end)) {
    if (field.number === 1) readDims(cursor, field, dims)
    else if (field.number === 2) type = Number(field.value)
    else if (field.number === 8 && field.length <= MAX_NAME)
      name = decodeText(cursor.take(field.length), 'the name of an initializer')
    else if (field.number === 13 || (field.number === 14 && field.value !== 0n)) external = true
    else if (DATA_FIELDS.has(field.number) && (field.wire !== 'bytes' || field.length > 0)) {
      if (data !== null || field.wire !== 'bytes')
        throw badRequest(`Initializer ${showName(name)} has its elements in several pieces. ${RESAVE}`)
      data = field
    }
  }
  if (name === '') throw badRequest('The ONNX model has an initializer without a name, which cannot be matched.')
  if (external)
    throw badRequest(
      `Initializer ${showName(name)} has its elements in another file (external_data), which is not opened. ` +
        'Save one file: onnx.save(onnx.load(path), other, save_as_external_data=False).',
    )
  return { name, type, shape: requireShape(dims, name), data }
}

const RESAVE = 'Write it with raw_data: onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name).'

const tensorOf = ({ name, shape, data }: Initializer, dtype: DType): Tensor => {
  const size = byteLength({ dtype, shape })
  if (data !== null && data.number !== RAW && TYPED.get(data.number) !== dtype)
    throw badRequest(`Initializer ${showName(name)} of type ${dtype} is written as numbers of another type. ${RESAVE}`)
  if ((data?.length ?? 0) !== size)
    throw badRequest(
      `Initializer ${showName(name)} of shape ${showShape(shape)} and type ${dtype} needs ${size} bytes, but has ` +
        `${data?.length ?? 0}. Send the whole file again.`,
    )
  return directTensor({ name, dtype, shape }, data?.start ?? 0)
}

/** Converts varint-encoded elements to the bytes of raw_data, because a model may be saved either way. */
const integersOf = (source: ByteSource, { name, data }: Initializer, itemBytes: number): Uint8Array => {
  const end = data!.start + data!.length
  if (data!.length > MAX_NUMBERS)
    throw badRequest(`Initializer ${showName(name)} has ${data!.length} bytes of numbers. ${RESAVE}`)
  const cursor = new ByteCursor(source, data!.start, end, `Initializer ${showName(name)}`)
  const bytes = new Uint8Array(data!.length * itemBytes)
  const word = viewOf(new Uint8Array(8))
  let at = 0
  for (; cursor.position < end; at += itemBytes) {
    word.setBigUint64(0, readVarint(cursor), true)
    bytes.set(new Uint8Array(word.buffer, 0, itemBytes), at)
  }
  return bytes.subarray(0, at)
}

const constantFrom = (source: ByteSource, initializer: Initializer): Constant => {
  const { name, type, data } = initializer
  const itemBytes = INTEGER_BYTES.get(type)
  if (data === null) return constantOf(name, new Uint8Array(0))
  return data.number === RAW || data.number === 6 || itemBytes === undefined
    ? constantIn(source, name, data.start, data.length)
    : constantOf(name, integersOf(source, initializer, itemBytes))
}

/**
 * Locates the initializers of an ONNX model's graph. Floats are weights; others (shapes, indices, quantized values) are
 * constants. Reads only names, types, and shapes, and nothing outside the file. Throws bad_request naming the initializer.
 */
export const readOnnx = (source: ByteSource): TensorPlaces => {
  const cursor = new ByteCursor(source, 0, source.size, 'The ONNX model')
  const tensors: Tensor[] = []
  const constants: Constant[] = []
  let graphs = 0
  for (const field of fieldsOf(cursor, source.size)) {
    if (field.number !== GRAPH || field.wire !== 'bytes') continue
    if (++graphs > 1) throw badRequest('The ONNX model has several graphs. Send one model per file.')
    for (const part of fieldsOf(cursor, field.start + field.length)) {
      if (part.number === SPARSE_INITIALIZER)
        throw badRequest('The ONNX model has sparse initializers, which cannot be aggregated. Save them dense.')
      if (part.number !== INITIALIZER || part.wire !== 'bytes') continue
      const initializer = readInitializer(cursor, part.start + part.length)
      const dtype = FLOAT_TYPES.get(initializer.type)
      if (dtype === undefined) constants.push(constantFrom(source, initializer))
      else tensors.push(tensorOf(initializer, dtype))
      if (tensors.length + constants.length > MAX_TENSORS)
        throw badRequest(`The ONNX model has more than ${MAX_TENSORS} initializers.`)
    }
  }
  if (tensors.length === 0)
    throw badRequest(
      'The ONNX model has no floating-point initializers, so it has no weights to aggregate. Quantized models: train the ' +
        'float model and quantize the result.',
    )
  return { tensors, members: [], constants }
}
