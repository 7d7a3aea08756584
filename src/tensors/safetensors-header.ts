import { badRequest } from '../domain/errors.ts'
import { MAX_TENSORS } from './limits.ts'
import { showName } from './shape.ts'
import { decodeText, readExactly } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

/** Braces, brackets and colons of one entry. */
export const MARKS_PER_TENSOR = 8

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * JSON may ask for fifty bytes of memory per byte of text; what a header needs is far less, so it is counted first.
 * Returns how many names it gives, in the header and in its entries: JSON.parse keeps only the last of equal ones.
 */
const countNames = (json: Uint8Array): number => {
  let inText = false
  let depth = 0
  let marks = 0
  let names = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!
    if (inText && byte === 0x5c) at++
    else if (byte === 0x22) inText = !inText
    else if (!inText) {
      if (byte === 0x7b || byte === 0x5b) depth++
      if (byte === 0x7d || byte === 0x5d) depth--
      if (byte === 0x7b || byte === 0x5b || byte === 0x3a) marks++
      if (byte === 0x3a) names++
      if (depth > 3 || marks > MARKS_PER_TENSOR * MAX_TENSORS)
        throw badRequest(
          `The safetensors header is not a list of tensors: it nests or repeats too much at byte ${8 + at}.`,
        )
    }
  }
  return names
}

/** Names in a parsed value; `countNames` has bounded how deep it is. */
const namesIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  const values: readonly unknown[] = Object.values(value)
  return values.reduce<number>((sum, one) => sum + namesIn(one), Array.isArray(value) ? 0 : values.length)
}

/** The first name that the JSON object gives twice. */
const firstRepeated = (text: string): string => {
  const seen = new Set<unknown>()
  let depth = 0
  for (const [token, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g)) {
    if (token === '{') depth++
    else if (token === '}') depth--
    else if (depth === 1 && colon !== undefined) {
      const name: unknown = JSON.parse(token.slice(0, -colon.length))
      if (seen.has(name)) return `tensor ${showName(String(name))}`
      seen.add(name)
    }
  }
  return 'a field'
}

/** The JSON object in bytes [8, 8 + length) of a safetensors file. Throws bad_request. */
export const parseHeader = (source: ByteSource, length: number): Readonly<Record<string, unknown>> => {
  const bytes = readExactly(source, 8, length, 'the safetensors header')
  const names = countNames(bytes)
  const text = decodeText(bytes, 'the safetensors header')
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch {
    throw badRequest(`The safetensors header (bytes 8 to ${8 + length}) is not valid JSON. Send the whole file again.`)
  }
  if (!isRecord(header)) throw badRequest('The safetensors header is not a JSON object.')
  if (namesIn(header) !== names)
    throw badRequest(`The safetensors header names ${firstRepeated(text)} twice. Write the file again.`)
  return header
}
