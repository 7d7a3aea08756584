import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { badRequest } from '../../domain/errors.ts'

type Scalar = 'int32' | 'int64' | 'uint64' | 'bool' | 'float' | 'double' | 'string' | 'bytes'

export interface Field {
  readonly number: number
  /** A scalar, or the type of the message that it holds (a function, because messages can contain each other). */
  readonly kind: Scalar | (() => MessageType<never>)
  readonly repeated: boolean
}

/**
 * The fields of a Protocol Buffers message, by the names of an interface. Fields absent in a file are absent in the value:
 * no defaults are filled in, and everything present is written. Repeated fields are always arrays. 64-bit integers are
 * numbers, which lose precision beyond 2^53. Source: protobuf.dev/programming-guides/encoding.
 */
export interface MessageType<T> {
  readonly name: string
  readonly fields: { readonly [K in keyof T]-?: Field }
}

export const one = (number: number, kind: Field['kind']): Field => ({ number, kind, repeated: false })
export const many = (number: number, kind: Field['kind']): Field => ({ number, kind, repeated: true })
/** The kind of a field that holds a message, which may be declared later. */
export const of =
  <T>(type: () => MessageType<T>): (() => MessageType<never>) =>
  () =>
    type() as unknown as MessageType<never>

const MAX_DEPTH = 100
const MAX_INT64 = 2n ** 63n - 1n

const int64 = (value: number): bigint => {
  const whole = BigInt(Math.trunc(value))
  return whole > MAX_INT64 ? MAX_INT64 : whole < -MAX_INT64 - 1n ? -MAX_INT64 - 1n : whole
}

const READ: Record<Scalar, (reader: BinaryReader) => unknown> = {
  int32: (reader) => reader.int32(),
  int64: (reader) => Number(reader.int64()),
  uint64: (reader) => Number(reader.uint64()),
  bool: (reader) => reader.bool(),
  float: (reader) => reader.float(),
  double: (reader) => reader.double(),
  string: (reader) => reader.string(),
  // A view of the file, not a copy.
  bytes: (reader) => reader.bytes(),
}

const WRITE: Record<Scalar, (writer: BinaryWriter, value: never) => unknown> = {
  int32: (writer, value) => writer.int32(value),
  int64: (writer, value) => writer.int64(int64(value)),
  uint64: (writer, value) => writer.uint64(BigInt(value)),
  bool: (writer, value) => writer.bool(value),
  float: (writer, value) => writer.float(value),
  double: (writer, value) => writer.double(value),
  string: (writer, value) => writer.string(value),
  bytes: (writer, value) => writer.bytes(value),
}

const WIRE: Record<Scalar, WireType> = {
  int32: WireType.Varint,
  int64: WireType.Varint,
  uint64: WireType.Varint,
  bool: WireType.Varint,
  float: WireType.Bit32,
  double: WireType.Bit64,
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
}

const isPackable = (kind: Field['kind']): kind is Scalar =>
  typeof kind === 'string' && kind !== 'string' && kind !== 'bytes'

const tablesOf = new WeakMap<object, Map<number, readonly [string, Field]>>()

const tableOf = (type: MessageType<never>): Map<number, readonly [string, Field]> => {
  const known = tablesOf.get(type)
  if (known !== undefined) return known
  const table = new Map(Object.entries<Field>(type.fields).map((entry) => [entry[1].number, entry] as const))
  tablesOf.set(type, table)
  return table
}

const emptyOf = (type: MessageType<never>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries<Field>(type.fields)
      .filter(([, { repeated }]) => repeated)
      .map(([name]) => [name, []]),
  )

const readMessage = (reader: BinaryReader, end: number, type: MessageType<never>, depth: number): unknown => {
  if (depth > MAX_DEPTH) throw badRequest(`The file nests more than ${MAX_DEPTH} messages.`)
  const table = tableOf(type)
  const message = emptyOf(type)
  const readOne = (kind: Field['kind']): unknown => {
    if (typeof kind === 'string') return READ[kind](reader)
    const length = reader.uint32()
    if (length > end - reader.pos) throw badRequest(`A message ends beyond the end of its ${type.name}.`)
    return readMessage(reader, reader.pos + length, kind(), depth + 1)
  }
  while (reader.pos < end) {
    const [number, wire] = reader.tag()
    const entry = table.get(number)
    if (entry === undefined) {
      reader.skip(wire, number)
      continue
    }
    const [name, { kind, repeated }] = entry
    if (!repeated) message[name] = readOne(kind)
    else {
      const list = message[name] as unknown[]
      if (wire === WireType.LengthDelimited && isPackable(kind)) {
        const stop = reader.uint32() + reader.pos
        if (stop > end) throw badRequest(`A list ends beyond the end of its ${type.name}.`)
        while (reader.pos < stop) list.push(READ[kind](reader))
      } else list.push(readOne(kind))
    }
  }
  if (reader.pos !== end) throw badRequest(`A field ends beyond the end of its ${type.name}.`)
  return message
}

/** Decodes a message. Byte fields are views of the input. Throws bad_request if the bytes are not a message. */
export const decodeMessage = <T>(type: MessageType<T>, bytes: Uint8Array): T => {
  try {
    // Not a Buffer, whose slices would be views.
    const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    return readMessage(new BinaryReader(plain), bytes.length, type as unknown as MessageType<never>, 0) as T
  } catch (error) {
    if (error instanceof RangeError || (error instanceof Error && error.constructor === Error)) {
      throw badRequest(`The file is not a complete ${type.name}: ${error.message}.`)
    }
    throw error
  }
}

const writeMessage = (writer: BinaryWriter, type: MessageType<never>, message: Record<string, unknown>): void => {
  for (const [name, { number, kind, repeated }] of Object.entries<Field>(type.fields)) {
    const value = message[name]
    if (value === undefined) continue
    if (repeated && isPackable(kind)) {
      const list = value as never[]
      if (list.length === 0) continue
      writer.tag(number, WireType.LengthDelimited).fork()
      for (const item of list) WRITE[kind](writer, item)
      writer.join()
      continue
    }
    for (const item of repeated ? (value as unknown[]) : [value]) {
      if (typeof kind === 'string') {
        writer.tag(number, WIRE[kind])
        WRITE[kind](writer, item as never)
      } else {
        writer.tag(number, WireType.LengthDelimited).fork()
        writeMessage(writer, kind(), item as Record<string, unknown>)
        writer.join()
      }
    }
  }
}

export const encodeMessage = <T>(type: MessageType<T>, message: T): Uint8Array<ArrayBuffer> => {
  const writer = new BinaryWriter()
  writeMessage(writer, type as unknown as MessageType<never>, message as Record<string, unknown>)
  return writer.finish()
}
