import { joinBytes, viewOf } from './sources.ts'

const U32_MAX = 0xffffffff
const U16_MAX = 0xffff
/** January 1, 1980: a fixed date, so that the same weights always yield the same bytes. */
const DOS_DATE = 0x21
const UTF8 = 0x800
/** The ID that torch and Android use for padding extra fields. */
const PADDING_ID = 0x4246

type Field = readonly [bytes: 2 | 4 | 8, value: number]

/** Little-endian fields, then raw bytes. */
const record = (fields: readonly Field[], ...rest: readonly Uint8Array[]): Uint8Array => {
  const head = new Uint8Array(fields.reduce((sum, [bytes]) => sum + bytes, 0))
  const view = viewOf(head)
  let at = 0
  for (const [bytes, value] of fields) {
    if (bytes === 2) view.setUint16(at, value, true)
    else if (bytes === 4) view.setUint32(at, value, true)
    else view.setBigUint64(at, BigInt(value), true)
    at += bytes
  }
  return joinBytes([head, ...rest])
}

const narrow = (value: number): number => Math.min(value, U32_MAX)

/** Builds the zip64 extra field for the values that need one; empty if all fit 32 bits. */
const wideExtra = (values: readonly number[]): Uint8Array => {
  const wide = values.filter((value) => value >= U32_MAX)
  if (wide.length === 0) return new Uint8Array(0)
  return record([[2, 1], [2, 8 * wide.length], ...wide.map((value): Field => [8, value])])
}

const padding = (at: number, align: number): Uint8Array => {
  const gap = (align - (at % align)) % align
  if (gap === 0) return new Uint8Array(0)
  const length = gap >= 4 ? gap : gap + align
  return record(
    [
      [2, PADDING_ID],
      [2, length - 4],
    ],
    new Uint8Array(length - 4),
  )
}

/** What the local header and the directory record of a stored member have in common. */
export interface Header {
  readonly name: Uint8Array
  readonly size: number
  readonly crc: number
  readonly offset: number
}

// Layouts: PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16.
const version = (wide: boolean): number => (wide ? 45 : 20)

/** Builds a local header such that the data after it begins at a multiple of `align`. */
export const localHeader = ({ name, size, crc, offset }: Header, align: number): Uint8Array => {
  // A local header has both sizes in 64 bits, or neither.
  const wide = wideExtra([size, size])
  const extra = padding(offset + 30 + name.length + wide.length, align)
  return record(
    [
      [4, 0x04034b50],
      [2, version(wide.length > 0)],
      [2, UTF8],
      [2, 0],
      [2, 0],
      [2, DOS_DATE],
      [4, crc],
      [4, narrow(size)],
      [4, narrow(size)],
      [2, name.length],
      [2, wide.length + extra.length],
    ],
    name,
    wide,
    extra,
  )
}

export const centralRecord = ({ name, size, crc, offset }: Header): Uint8Array => {
  const wide = wideExtra([size, size, offset])
  return record(
    [
      [4, 0x02014b50],
      [2, version(wide.length > 0)],
      [2, version(wide.length > 0)],
      [2, UTF8],
      [2, 0],
      [2, 0],
      [2, DOS_DATE],
      [4, crc],
      [4, narrow(size)],
      [4, narrow(size)],
      [2, name.length],
      [2, wide.length],
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, narrow(offset)],
    ],
    name,
    wide,
  )
}

/** Builds the end of an archive, with zip64 records if a number needs them. */
export const endRecords = (count: number, offset: number, size: number): Uint8Array => {
  const end = record([
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, Math.min(count, U16_MAX)],
    [2, Math.min(count, U16_MAX)],
    [4, narrow(size)],
    [4, narrow(offset)],
    [2, 0],
  ])
  if (count < U16_MAX && size < U32_MAX && offset < U32_MAX) return end
  return record(
    [
      [4, 0x06064b50],
      [8, 44],
      [2, 45],
      [2, 45],
      [4, 0],
      [4, 0],
      [8, count],
      [8, count],
      [8, size],
      [8, offset],
      [4, 0x07064b50],
      [4, 0],
      [8, offset + size],
      [4, 1],
    ],
    end,
  )
}
