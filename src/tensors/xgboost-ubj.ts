import { copyOf, decodeText, joinBytes, viewOf } from './sources.ts'
import {
  DocumentReader,
  damaged,
  MAX_DEPTH,
  RawValue,
  type XgboostCodec,
  type XgboostValue,
} from './xgboost-document.ts'

const encoder = new TextEncoder()

/** Integer types of UBJSON, all big-endian: size and how to read and write them. Source: ubjson.org, draft 12. */
const INTEGERS: Readonly<
  Record<
    string,
    readonly [
      size: number,
      read: (view: DataView, at: number) => number,
      write: (view: DataView, at: number, value: number) => void,
    ]
  >
> = {
  i: [1, (view, at) => view.getInt8(at), (view, at, value) => view.setInt8(at, value)],
  U: [1, (view, at) => view.getUint8(at), (view, at, value) => view.setUint8(at, value)],
  I: [2, (view, at) => view.getInt16(at), (view, at, value) => view.setInt16(at, value)],
  l: [4, (view, at) => view.getInt32(at), (view, at, value) => view.setInt32(at, value)],
  L: [8, (view, at) => Number(view.getBigInt64(at)), (view, at, value) => view.setBigInt64(at, BigInt(value))],
}
const OTHER_SIZES: Readonly<Record<string, number>> = { d: 4, D: 8, C: 1, T: 0, F: 0, Z: 0, N: 0 }

const ubjInteger = (reader: DocumentReader, marker: string): number => {
  const kind = INTEGERS[marker]
  if (kind === undefined) throw damaged(reader.at, 'a whole number is missing')
  const [size, read] = kind
  return read(viewOf(copyOf(reader.take(size))), 0)
}

const ubjText = (reader: DocumentReader): string => decodeText(reader.take(ubjInteger(reader, reader.next())), 'a text')

const ubjValue = (reader: DocumentReader, depth: number): XgboostValue => {
  if (depth > MAX_DEPTH) throw damaged(reader.at, 'it nests too deep')
  const start = reader.at
  const marker = reader.next()
  if (marker === 'S') return ubjText(reader)
  if (marker === '{') {
    const members = new Map<string, XgboostValue>()
    while (!reader.is('}')) members.set(ubjText(reader), ubjValue(reader, depth + 1))
    return members
  }
  if (marker === '[') {
    const type = reader.is('$') ? reader.next() : null
    const count = reader.is('#') ? ubjInteger(reader, reader.next()) : null
    if (type !== null) {
      const size = INTEGERS[type]?.[0] ?? OTHER_SIZES[type]
      if (count === null || !size) throw damaged(start, 'a list of an unknown type')
      reader.take(count * size)
      return reader.rawFrom(start)
    }
    const items: XgboostValue[] = []
    while (count === null ? !reader.is(']') : items.length < count) items.push(ubjValue(reader, depth + 1))
    return items
  }
  if (Object.hasOwn(INTEGERS, marker)) return ubjInteger(reader, marker)
  if (!Object.hasOwn(OTHER_SIZES, marker)) throw damaged(start, 'a value of an unknown type')
  reader.take(OTHER_SIZES[marker]!)
  return reader.rawFrom(start)
}

const ubjNumber = (marker: string, value: number): Uint8Array => {
  const [size, , write] = INTEGERS[marker]!
  const bytes = new Uint8Array(size)
  write(viewOf(bytes), 0, value)
  return bytes
}

const writeUbj = (value: XgboostValue, parts: Uint8Array[]): void => {
  const length = (prefix: string, count: number): void => {
    parts.push(encoder.encode(`${prefix}L`), ubjNumber('L', count))
  }
  const text = (prefix: string, content: string): void => {
    const bytes = encoder.encode(content)
    length(prefix, bytes.length)
    parts.push(bytes)
  }
  if (value instanceof RawValue) parts.push(value.bytes)
  else if (typeof value === 'string') text('S', value)
  else if (typeof value === 'number') length('', value)
  else if (value instanceof Map) {
    parts.push(encoder.encode('{'))
    for (const [key, item] of value) {
      text('', key)
      writeUbj(item, parts)
    }
    parts.push(encoder.encode('}'))
  } else {
    length('[#', value.length)
    for (const item of value) writeUbj(item, parts)
  }
}

export const XGBOOST_UBJ: XgboostCodec = {
  read(bytes) {
    const reader = new DocumentReader(bytes)
    const value = ubjValue(reader, 0)
    if (reader.at !== bytes.length) throw damaged(reader.at, 'something follows its end')
    return value
  },
  write(value) {
    const parts: Uint8Array[] = []
    writeUbj(value, parts)
    return joinBytes(parts)
  },
  numbers({ bytes }) {
    const reader = new DocumentReader(bytes)
    const isList = reader.is('[')
    if (isList) reader.at++
    const marker = reader.next()
    if (isList) reader.at++
    const count = isList ? ubjInteger(reader, reader.next()) : 1
    if (Object.hasOwn(INTEGERS, marker)) return Array.from({ length: count }, () => ubjInteger(reader, marker))
    const size = OTHER_SIZES[marker]!
    const view = viewOf(reader.take(count * size))
    const read = (at: number): number =>
      marker === 'd' ? view.getFloat32(at) : marker === 'D' ? view.getFloat64(at) : NaN
    return Array.from({ length: count }, (_, i) => read(i * size))
  },
  listLike(like, numbers) {
    if (!(like instanceof RawValue)) return [...numbers]
    const marker = String.fromCharCode(like.bytes[2]!)
    const head = [encoder.encode(`[$${marker}#L`), ubjNumber('L', numbers.length)]
    return new RawValue(joinBytes([...head, ...numbers.map((number) => ubjNumber(marker, number))]))
  },
}
