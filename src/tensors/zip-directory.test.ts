import { expect, it } from 'vitest'
import { bytesSource, viewOf } from './sources.ts'
import { findDirectory, readDirectory } from './zip-directory.ts'

const U32 = 0xffffffff

interface Parts {
  readonly sizes?: readonly [size: number, compressed: number, offset: number]
  readonly extra?: readonly number[]
  readonly comment?: number
}

/** One directory record, for a member `a`. */
const record = ({ sizes = [1, 2, 3], extra = [], comment = 0 }: Parts = {}): Uint8Array => {
  const bytes = new Uint8Array(47 + extra.length + comment)
  const view = viewOf(bytes)
  view.setUint32(0, 0x02014b50, true)
  view.setUint32(16, 0x01020304, true)
  view.setUint32(20, sizes[1], true)
  view.setUint32(24, sizes[0], true)
  view.setUint16(28, 1, true)
  view.setUint16(30, extra.length, true)
  view.setUint16(32, comment, true)
  view.setUint32(42, sizes[2], true)
  bytes.set([0x61, ...extra], 46)
  return bytes
}

const read = (...records: readonly Uint8Array[]) => {
  const bytes = Uint8Array.from(records.flatMap((one) => [...one]))
  return readDirectory(bytesSource(bytes), { offset: 0, size: bytes.length, count: records.length })
}

const word = (value: number): number[] => [value, 0, 0, 0, 0, 0, 0, 0]
const field = (id: number, data: readonly number[]): number[] => [id, 0, data.length, 0, ...data]
const WIDE = [U32, U32, U32] as const
const found = (parts: Parts) => {
  const [only] = read(record(parts))
  return [only!.size, only!.compressedSize, only!.headerOffset]
}
const damaged = (reason: string) => expect.objectContaining({ message: expect.stringContaining(reason) })

it('reads consecutive records and skips their comments', () => {
  const records = read(record({ comment: 5 }), record(), record({ extra: field(9, [1, 2, 3]), comment: 1 }))
  expect(records.map(({ name, crc, crcOffset }) => ({ name, crc, crcOffset }))).toEqual([
    { name: 'a', crc: 0x01020304, crcOffset: 16 },
    { name: 'a', crc: 0x01020304, crcOffset: 52 + 16 },
    { name: 'a', crc: 0x01020304, crcOffset: 52 + 47 + 16 },
  ])
})

it('reads 64-bit numbers from the zip64 field, after other fields too, and only for 32-bit fields at their maximum', () => {
  const wide = field(1, [...word(7), ...word(8), ...word(9)])
  expect(found({ sizes: WIDE, extra: wide })).toEqual([7, 8, 9])
  expect(found({ sizes: WIDE, extra: [...field(9, [1, 2, 3]), ...wide] })).toEqual([7, 8, 9])
  expect(found({ sizes: [5, U32, 6], extra: field(1, word(8)) })).toEqual([5, 8, 6])
  expect(found({ sizes: [5, 4, 6], extra: field(1, word(8)) })).toEqual([5, 4, 6])
  expect(found({ sizes: WIDE, extra: field(9, word(7)) })).toEqual([...WIDE])
  expect(found({ sizes: WIDE, extra: [1, 0, 0] })).toEqual([...WIDE])
})

it('refuses a zip64 field that is too short', () => {
  for (const extra of [
    field(1, [...word(7), ...word(8)]),
    field(1, [...word(7), ...word(8), ...word(9).slice(1)]),
    field(1, []),
    // The field claims more bytes than follow.
    [1, 0, 24, 0, ...word(7), ...word(8)],
    // The third word lies beyond the field's length.
    [1, 0, 16, 0, ...word(7), ...word(8), ...word(9)],
  ])
    expect(() => found({ sizes: WIDE, extra })).toThrow(damaged('a zip64 field is too short'))
})

it('refuses records that end too early, begin with another signature, or reach too far', () => {
  const whole = record()
  expect(() => read(whole.subarray(0, 45))).toThrow(damaged('a directory record is broken'))
  expect(() => read(whole, new Uint8Array(3))).toThrow(damaged('a directory record is broken'))
  expect(() => read(whole.with(0, 0))).toThrow(damaged('a directory record is broken'))
  for (const place of [28, 30, 32])
    expect(() => read(whole.with(place, 99))).toThrow(damaged('a directory record is too long'))
  expect(() => read(whole.with(32, 1))).toThrow(damaged('a directory record is too long'))
  // A record without a name has the minimum length.
  expect(read(whole.with(28, 0).subarray(0, 46))[0]).toMatchObject({ name: '' })
})

it('looks for a zip64 locator right before the end record, even at the beginning of the file', () => {
  const bytes = new Uint8Array(42)
  viewOf(bytes).setUint32(0, 0x07064b50, true)
  viewOf(bytes).setUint32(20, 0x06054b50, true)
  expect(() => findDirectory(bytesSource(bytes))).toThrow(damaged('the zip64 end record needs bytes 0 to 56'))
  expect(() => findDirectory(bytesSource(bytes.subarray(1)))).toThrow(damaged('is not where the end record says'))
})
