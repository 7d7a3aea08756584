import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { badRequest } from '../../domain/errors.ts'

type Scalar = 'int32' | 'int64' | 'uint64' | 'bool' | 'float' | 'double' | 'string' | 'bytes'

export interface Field {
  readonly number: number
  /** A scalar, or the type of the message that it holds (a function, because messages can contain each other). */
  readonly kind: Scalar | (() => AnyMessageType)
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

type AnyMessageType = MessageType<Record<string, unknown>>

export const one = (number: number, kind: Field['kind']): Field => ({ number, kind, repeated: false })
export const many = (number: number, kind: Field['kind']): Field => ({ number, kind, repeated: true })

const MAX_DEPTH = 100
const MAX_INT64 = 2n ** 63n - 1n

const int64 = (value: number): bigint => {
  const whole = BigInt(Math.trunc(value))
  return whole > MAX_INT64 ? MAX_INT64 : whole < -MAX_INT64 - 1n ? -MAX_INT64 - 1n : whole
}

interface ScalarType {
  readonly wire: WireType
  read(reader: BinaryReader): unknown
  write(writer: BinaryWriter, value: never): unknown
}

const { Varint, Bit32, Bit64, LengthDelimited } = WireType

const SCALARS: Record<Scalar, ScalarType> = {
  int32: { wire: Varint, read: (from) => from.int32(), write: (to, value) => to.int32(value) },
  int64: { wire: Varint, read: (from) => Number(from.int64()), write: (to, value) => to.int64(int64(value)) },
  uint64: { wire: Varint, read: (from) => Number(from.uint64()), write: (to, value) => to.uint64(BigInt(value)) },
  bool: { wire: Varint, read: (from) => from.bool(), write: (to, value) => to.bool(value) },
  float: { wire: Bit32, read: (from) => from.float(), write: (to, value) => to.float(value) },
  double: { wire: Bit64, read: (from) => from.double(), write: (to, value) => to.double(value) },
  string: { wire: LengthDelimited, read: (from) => from.string(), write: (to, value) => to.string(value) },
  // A view of the file, not a copy.
  bytes: { wire: LengthDelimited, read: (from) => from.bytes(), write: (to, value) => to.bytes(value) },
}

const isPackable = (kind: Field['kind']): kind is Scalar =>
  typeof kind === 'string' && kind !== 'string' && kind !== 'bytes'

const tablesOf = new WeakMap<object, Map<number, readonly [string, Field]>>()

const tableOf = (type: AnyMessageType): Map<number, readonly [string, Field]> => {
  const known = tablesOf.get(type)
  if (known !== undefined) return known
  const table = new Map(Object.entries(type.fields).map((entry) => [entry[1].number, entry] as const))
  tablesOf.set(type, table)
  return table
}

const emptyOf = (type: AnyMessageType): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(type.fields)
      .filter(([, { repeated }]) => repeated)
      .map(([name]) => [name, []]),
  )

const readMessage = (reader: BinaryReader, end: number, type: AnyMessageType, depth: number): unknown => {
  if (depth > MAX_DEPTH) throw badRequest(`The file nests more than ${MAX_DEPTH} messages.`)
  const table = tableOf(type)
  const message = emptyOf(type)
  const readOne = (kind: Field['kind']): unknown => {
    if (typeof kind === 'string') return SCALARS[kind].read(reader)
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
      if (wire === LengthDelimited && isPackable(kind)) {
        const stop = reader.uint32() + reader.pos
        if (stop > end) throw badRequest(`A list ends beyond the end of its ${type.name}.`)
        while (reader.pos < stop) list.push(SCALARS[kind].read(reader))
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
    return readMessage(new BinaryReader(plain), bytes.length, type as unknown as AnyMessageType, 0) as T
  } catch (error) {
    if (error instanceof RangeError || (error instanceof Error && error.constructor === Error)) {
      throw badRequest(`The file is not a complete ${type.name}: ${error.message}.`)
    }
    throw error
  }
}

const writeMessage = (writer: BinaryWriter, type: AnyMessageType, message: Record<string, unknown>): void => {
  for (const [name, { number, kind, repeated }] of Object.entries(type.fields)) {
    const value = message[name]
    if (value === undefined) continue
    if (repeated && isPackable(kind)) {
      const list = value as never[]
      if (list.length === 0) continue
      writer.tag(number, LengthDelimited).fork()
      for (const item of list) SCALARS[kind].write(writer, item)
      writer.join()
      continue
    }
    for (const item of repeated ? (value as unknown[]) : [value]) {
      if (typeof kind === 'string') {
        writer.tag(number, SCALARS[kind].wire)
        SCALARS[kind].write(writer, item as never)
      } else {
        writer.tag(number, LengthDelimited).fork()
        writeMessage(writer, kind(), item as Record<string, unknown>)
        writer.join()
      }
    }
  }
}

export const encodeMessage = <T>(type: MessageType<T>, message: T): Uint8Array<ArrayBuffer> => {
  const writer = new BinaryWriter()
  writeMessage(writer, type as unknown as AnyMessageType, message as Record<string, unknown>)
  return writer.finish()
}
