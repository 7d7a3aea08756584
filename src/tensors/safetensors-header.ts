import { badRequest } from '../domain/errors.ts'
import { MAX_TENSORS } from './limits.ts'
import { decodeText, readExactly } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

/** Braces, brackets and colons of one entry. */
const MARKS_PER_TENSOR = 8

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON may ask for fifty bytes of memory per byte of text; what a header needs is far less, so it is counted first. */
const requireModestJson = (json: Uint8Array): void => {
  let inText = false
  let depth = 0
  let marks = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!
    if (inText && byte === 0x5c) at++
    else if (byte === 0x22) inText = !inText
    else if (!inText) {
      if (byte === 0x7b || byte === 0x5b) depth++
      if (byte === 0x7d || byte === 0x5d) depth--
      if (byte === 0x7b || byte === 0x5b || byte === 0x3a) marks++
      if (depth > 3 || marks > MARKS_PER_TENSOR * MAX_TENSORS)
        throw badRequest(
          `The safetensors header is no list of tensors: it nests or repeats too much at byte ${8 + at}.`,
        )
    }
  }
}

/** The JSON object in bytes [8, 8 + length) of a safetensors file. Throws bad_request. */
export const parseHeader = (source: ByteSource, length: number): Readonly<Record<string, unknown>> => {
  const bytes = readExactly(source, 8, length, 'the safetensors header')
  requireModestJson(bytes)
  const text = decodeText(bytes, 'the safetensors header')
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch {
    throw badRequest(`The safetensors header (bytes 8 to ${8 + length}) is not valid JSON. Send the whole file again.`)
  }
  if (!isRecord(header)) throw badRequest('The safetensors header is not a JSON object.')
  return header
}
