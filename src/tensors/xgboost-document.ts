import { badRequest } from '../domain/errors.ts'
import { bytesSource, copyOf, decodeText, viewOf } from './sources.ts'

/** Bytes of a value that nobody looks into, as they stand in the file. */
class RawValue {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A value of a model's file: what has parts is taken apart, arrays of numbers and single floats stay as they were written. */
export type XgboostValue = string | number | RawValue | XgboostValue[] | Map<string, XgboostValue>

/** How a file says things: read and written again, values that were not touched are the same bytes or mean the same. */
export interface XgboostCodec {
  read(bytes: Uint8Array): XgboostValue
  write(value: XgboostValue): Uint8Array
  /** The whole numbers of a list. */
  integers(value: XgboostValue | undefined): number[]
  /** Whole numbers as a list of the kind of `like`. */
  listLike(like: XgboostValue, numbers: readonly number[]): XgboostValue
}

const MAX_DEPTH = 16
const encoder = new TextEncoder()

const damaged = (at: number, reason: string) =>
  badRequest(`The XGBoost model is damaged at byte ${at}: ${reason}. Save it again with save_model().`)

class Reader {
  readonly bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  take(length: number): Uint8Array {
    if (!(length >= 0 && this.at + length <= this.bytes.length)) throw damaged(this.at, 'it ends too early')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  /** The next byte as a character, which is left there. */
  peek(): string {
    if (this.at >= this.bytes.length) throw damaged(this.at, 'it ends too early')
    return String.fromCharCode(this.bytes[this.at]!)
  }

  next(): string {
    const char = this.peek()
    this.at++
    return char
  }

  is(char: string): boolean {
    if (this.peek() !== char) return false
    this.at++
    return true
  }

  rawFrom(start: number): RawValue {
    return new RawValue(this.bytes.subarray(start, this.at))
  }
}

const isSpace = (char: string): boolean => char === ' ' || char === '\n' || char === '\r' || char === '\t'

const afterSpace = (reader: Reader): string => {
  while (isSpace(reader.peek())) reader.at++
  return reader.peek()
}

const expectChar = (reader: Reader, char: string): void => {
  if (afterSpace(reader) !== char) throw damaged(reader.at, `'${char}' is missing`)
  reader.at++
}

const jsonText = (reader: Reader): string => {
  const start = reader.at
  expectChar(reader, '"')
  while (reader.peek() !== '"') reader.at += reader.peek() === '\\' ? 2 : 1
  reader.at++
  try {
    return JSON.parse(decodeText(reader.bytes.subarray(start, reader.at), 'a text')) as string
  } catch {
    throw damaged(start, 'a text is malformed')
  }
}

/** Members until the closing bracket; `one` reads one of them. */
const jsonMembers = (reader: Reader, close: string, one: () => void): void => {
  reader.at++
  if (afterSpace(reader) === close) reader.at++
  else
    for (;;) {
      one()
      if (afterSpace(reader) === close) break
      expectChar(reader, ',')
    }
}

const jsonValue = (reader: Reader, depth: number): XgboostValue => {
  if (depth > MAX_DEPTH) throw damaged(reader.at, 'it nests too deep')
  const char = afterSpace(reader)
  const start = reader.at
  if (char === '"') return jsonText(reader)
  if (char === '{') {
    const members = new Map<string, XgboostValue>()
    jsonMembers(reader, '}', () => {
      afterSpace(reader)
      const name = jsonText(reader)
      expectChar(reader, ':')
      members.set(name, jsonValue(reader, depth + 1))
    })
    reader.at += members.size > 0 ? 1 : 0
    return members
  }
  if (char === '[') {
    reader.at++
    const first = afterSpace(reader)
    if (/[-\d]/.test(first)) {
      const end = reader.bytes.indexOf(0x5d, reader.at)
      if (end < 0) throw damaged(start, 'a list never ends')
      reader.at = end + 1
      return reader.rawFrom(start)
    }
    reader.at = start
    const items: XgboostValue[] = []
    jsonMembers(reader, ']', () => items.push(jsonValue(reader, depth + 1)))
    reader.at += items.length > 0 ? 1 : 0
    return items
  }
  while (reader.at < reader.bytes.length && /[-+.\w]/.test(reader.peek())) reader.at++
  const text = decodeText(reader.bytes.subarray(start, reader.at), 'a number')
  if (text === '') throw damaged(start, 'a value is missing')
  return /^-?\d{1,15}$/.test(text) ? Number(text) : reader.rawFrom(start)
}

const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  const target = bytesSource(bytes)
  let at = 0
  for (const part of parts) {
    target.write(at, part)
    at += part.length
  }
  return bytes
}

const writeJson = (value: XgboostValue, parts: Uint8Array[]): void => {
  if (value instanceof RawValue) parts.push(value.bytes)
  else if (typeof value === 'string' || typeof value === 'number') parts.push(encoder.encode(JSON.stringify(value)))
  else {
    const isMap = value instanceof Map
    parts.push(encoder.encode(isMap ? '{' : '['))
    let index = 0
    for (const [key, item] of value.entries()) {
      if (index++ > 0) parts.push(encoder.encode(','))
      if (isMap) parts.push(encoder.encode(`${JSON.stringify(key)}:`))
      writeJson(item, parts)
    }
    parts.push(encoder.encode(isMap ? '}' : ']'))
  }
}

const numbersOf = (value: XgboostValue | undefined, read: (raw: RawValue) => number[]): number[] => {
  const numbers = value instanceof RawValue ? read(value) : value
  if (!Array.isArray(numbers) || !numbers.every((number) => Number.isSafeInteger(number)))
    throw badRequest(
      'The XGBoost model is damaged: a list of whole numbers is missing. Save it again with save_model().',
    )
  return numbers as number[]
}

const closed = (reader: Reader, value: XgboostValue): XgboostValue => {
  while (reader.at < reader.bytes.length && isSpace(reader.peek())) reader.at++
  if (reader.at !== reader.bytes.length) throw damaged(reader.at, 'something follows its end')
  return value
}

export const XGBOOST_JSON: XgboostCodec = {
  read(bytes) {
    const reader = new Reader(bytes)
    return closed(reader, jsonValue(reader, 0))
  },
  write(value) {
    const parts: Uint8Array[] = []
    writeJson(value, parts)
    return joined(parts)
  },
  integers: (value) =>
    numbersOf(value, ({ bytes }) =>
      decodeText(bytes, 'a list')
        .replace(/[[\]\s]/g, '')
        .split(',')
        .map(Number),
    ),
  listLike: (_, numbers) => new RawValue(encoder.encode(JSON.stringify(numbers))),
}

/** Whole numbers of UBJSON, all big-endian: bytes, how they are read and written. Source: ubjson.org, draft 12. */
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

const ubjInteger = (reader: Reader, marker: string): number => {
  const kind = INTEGERS[marker]
  if (kind === undefined) throw damaged(reader.at, 'a whole number is missing')
  const [size, read] = kind
  return read(viewOf(copyOf(reader.take(size))), 0)
}

const ubjText = (reader: Reader): string => decodeText(reader.take(ubjInteger(reader, reader.next())), 'a text')

const ubjValue = (reader: Reader, depth: number): XgboostValue => {
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
    const reader = new Reader(bytes)
    const value = ubjValue(reader, 0)
    if (reader.at !== bytes.length) throw damaged(reader.at, 'something follows its end')
    return value
  },
  write(value) {
    const parts: Uint8Array[] = []
    writeUbj(value, parts)
    return joined(parts)
  },
  integers: (value) =>
    numbersOf(value, ({ bytes }) => {
      const reader = new Reader(bytes)
      reader.at = 2
      const marker = reader.next()
      reader.at++
      const count = ubjInteger(reader, reader.next())
      return Array.from({ length: count }, () => ubjInteger(reader, marker))
    }),
  listLike(like, numbers) {
    if (!(like instanceof RawValue)) return [...numbers]
    const marker = String.fromCharCode(like.bytes[2]!)
    const head = [encoder.encode(`[$${marker}#L`), ubjNumber('L', numbers.length)]
    return new RawValue(joined([...head, ...numbers.map((number) => ubjNumber(marker, number))]))
  },
}
