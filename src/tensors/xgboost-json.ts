import { decodeText, joinBytes } from './sources.ts'
import {
  DocumentReader,
  damaged,
  MAX_DEPTH,
  RawValue,
  type XgboostCodec,
  type XgboostValue,
} from './xgboost-document.ts'

const encoder = new TextEncoder()

const isSpace = (char: string): boolean => char === ' ' || char === '\n' || char === '\r' || char === '\t'

const afterSpace = (reader: DocumentReader): string => {
  while (isSpace(reader.peek())) reader.at++
  return reader.peek()
}

const expectChar = (reader: DocumentReader, char: string): void => {
  if (afterSpace(reader) !== char) throw damaged(reader.at, `'${char}' is missing`)
  reader.at++
}

const jsonText = (reader: DocumentReader): string => {
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

/** Reads members and the closing bracket; `one` reads one of them. */
const jsonMembers = (reader: DocumentReader, close: string, one: () => void): void => {
  reader.at++
  for (let isFirst = true; afterSpace(reader) !== close; isFirst = false) {
    if (!isFirst) expectChar(reader, ',')
    one()
  }
  reader.at++
}

const jsonValue = (reader: DocumentReader, depth: number): XgboostValue => {
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
    return items
  }
  while (reader.at < reader.bytes.length && /[-+.\w]/.test(reader.peek())) reader.at++
  const text = decodeText(reader.bytes.subarray(start, reader.at), 'a number')
  if (text === '') throw damaged(start, 'a value is missing')
  return /^-?\d{1,15}$/.test(text) ? Number(text) : reader.rawFrom(start)
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

export const XGBOOST_JSON: XgboostCodec = {
  read(bytes) {
    const reader = new DocumentReader(bytes)
    const value = jsonValue(reader, 0)
    while (reader.at < bytes.length && isSpace(reader.peek())) reader.at++
    if (reader.at !== bytes.length) throw damaged(reader.at, 'something follows its end')
    return value
  },
  write(value) {
    const parts: Uint8Array[] = []
    writeJson(value, parts)
    return joinBytes(parts)
  },
  numbers: ({ bytes }) =>
    decodeText(bytes, 'a list')
      .replace(/[[\]\s]/g, '')
      .split(',')
      .map(Number),
  listLike: (_, numbers) => new RawValue(encoder.encode(JSON.stringify(numbers))),
}
