import { badRequest } from '../domain/errors.ts'
import type { ByteCursor } from './byte-cursor.ts'

/** One field of a message. `start` and `length` locate its content; `value` is that of a varint, which has no content. */
export interface ProtoField {
  readonly number: number
  readonly wire: 'varint' | 'bytes' | 'fixed32' | 'fixed64'
  readonly value: bigint
  readonly start: number
  readonly length: number
}

const WIRES = ['varint', 'fixed64', 'bytes', null, null, 'fixed32'] as const
const MAX_FIELD = 2n ** 29n

/** Reads a base-128 number of at most 64 bits. Throws bad_request if it is longer. */
export const readVarint = (cursor: ByteCursor): bigint => {
  let value = 0n
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = cursor.byte()
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asUintN(64, value)
  }
  throw badRequest(`The protobuf message is damaged: a number before byte ${cursor.position} never ends.`)
}

/**
 * Yields the fields of the message that ends at `end`. Content is not read: the caller may read it with the cursor, which is
 * then moved to the end of the field. Source: protobuf.dev, "Encoding". Throws bad_request.
 */
export function* fieldsOf(cursor: ByteCursor, end: number): Generator<ProtoField> {
  while (cursor.position < end) {
    const key = readVarint(cursor)
    const wire = WIRES[Number(key & 7n)]
    if (!wire || key >> 3n === 0n || key >> 3n >= MAX_FIELD)
      throw badRequest(`The protobuf message is damaged: byte ${cursor.position - 1} begins no field.`)
    const value = wire === 'varint' || wire === 'bytes' ? readVarint(cursor) : 0n
    const length = wire === 'bytes' ? Number(value) : wire === 'fixed32' ? 4 : wire === 'fixed64' ? 8 : 0
    const start = cursor.position
    if (start + length > end)
      throw badRequest(
        `The protobuf message is truncated: a field of ${length} bytes at byte ${start} reaches beyond byte ${end}. ` +
          'Send the whole file again.',
      )
    yield { number: Number(key >> 3n), wire, value, start, length }
    if (cursor.position > start + length)
      throw badRequest(`The protobuf message is damaged: the field at byte ${start} is shorter than what it contains.`)
    cursor.skip(start + length - cursor.position)
  }
}
