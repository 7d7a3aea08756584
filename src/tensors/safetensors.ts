import { badRequest } from '../domain/errors.ts'
import { MAX_SAFETENSORS_HEADER, MAX_TENSORS } from './limits.ts'
import { requireShape, showName, showShape } from './shape.ts'
import { decodeText, readExactly, readU64, viewOf } from './sources.ts'
import {
  BYTES_OF,
  type ByteSource,
  byteLength,
  type DType,
  directTensor,
  type Tensor,
  type TensorPlaces,
} from './weight-file.ts'

/** By their names in the header, which are in upper case. */
const DTYPES = new Map((Object.keys(BYTES_OF) as DType[]).map((dtype) => [dtype.toUpperCase(), dtype]))

/** A header length followed by JSON. If the length is wrong, 32 bytes of text still distinguish it from numbers. */
export const startsLikeSafetensors = (head: Uint8Array, size: number): boolean => {
  if (head.length < 10 || head[8] !== 0x7b) return false
  const next = head[9]!
  if (![0x22, 0x7d, 0x20, 0x0a, 0x0d, 0x09].includes(next)) return false
  return readU64(viewOf(head), 0) <= size - 8 || head.subarray(8, 40).every((byte) => byte >= 0x20 && byte !== 0x7f)
}

/** The number of braces, brackets, and colons per entry. */
export const MARKS_PER_TENSOR = 8

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Parsed JSON can take fifty bytes of memory per byte of text, far more than a header needs, so its tokens are counted
 * first. Returns the number of names in the header and its entries: JSON.parse keeps only the last of duplicates.
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

/** Counts the names in a parsed value, whose depth `countNames` has limited. */
const namesIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  const values: readonly unknown[] = Object.values(value)
  return values.reduce<number>((sum, one) => sum + namesIn(one), Array.isArray(value) ? 0 : values.length)
}

/** Describes the first tensor name that occurs twice; 'a field' if there is none. */
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

/** Parses the JSON object in bytes [8, 8 + length) of a safetensors file. Throws bad_request. */
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

interface Entry {
  readonly tensor: Tensor
  readonly begin: number
  readonly end: number
}

const parseEntry = (name: string, value: unknown, dataOffset: number): Entry => {
  const shown = `Tensor ${showName(name)}`
  if (!isRecord(value)) throw badRequest(`${shown} is not described by an object in the safetensors header.`)
  const dtype = DTYPES.get(String(value.dtype))
  if (dtype === undefined)
    throw badRequest(
      `${shown} has elements of type ${showName(String(value.dtype))}, which cannot be aggregated. ` +
        'Convert them to F32, F16, BF16, F64, an integer type, or BOOL.',
    )
  const shape = requireShape(value.shape, name)
  const offsets: unknown = value.data_offsets
  const [begin, end]: unknown[] = Array.isArray(offsets) && offsets.length === 2 ? offsets : []
  if (!Number.isSafeInteger(begin) || !Number.isSafeInteger(end) || (begin as number) < 0)
    throw badRequest(`${shown} has data_offsets that are not two whole numbers.`)
  const span = { begin: begin as number, end: end as number }
  const needed = byteLength({ dtype, shape })
  if (span.end - span.begin !== needed)
    throw badRequest(
      `${shown} of shape ${showShape(shape)} and type ${dtype} needs ${needed} bytes, ` +
        `but its data_offsets span ${span.end - span.begin}.`,
    )
  return { ...span, tensor: directTensor({ name, dtype, shape }, dataOffset + span.begin) }
}

/**
 * Reads the safetensors format: u64 header length, JSON header, then the tensors without gaps or overlaps. Source:
 * huggingface/safetensors README, "Format". Throws bad_request naming the tensor.
 */
export const readSafetensors = (source: ByteSource): TensorPlaces => {
  const length = readU64(viewOf(readExactly(source, 0, 8, 'the safetensors header length')), 0)
  if (length > source.size - 8)
    throw badRequest(
      `The safetensors header claims ${length} bytes, but only ${source.size - 8} follow its length. ` +
        'Send the whole file again.',
    )
  if (length > MAX_SAFETENSORS_HEADER)
    throw badRequest(`The safetensors header has ${length} bytes; at most ${MAX_SAFETENSORS_HEADER} are read.`)
  const entries = Object.entries(parseHeader(source, length))
    .filter(([name]) => name !== '__metadata__')
    .map(([name, value]) => parseEntry(name, value, 8 + length))
    .sort((a, b) => a.begin - b.begin || a.end - b.end)
  let expected = 0
  for (const { tensor, begin, end } of entries) {
    if (begin !== expected)
      throw badRequest(
        `Tensor ${showName(tensor.name)} begins at data offset ${begin}, but the one before it ends at ${expected}: ` +
          'tensors must lie back to back.',
      )
    expected = end
  }
  const available = source.size - 8 - length
  if (expected !== available)
    throw badRequest(
      `The tensors need ${expected} bytes of data, but ${available} follow the safetensors header` +
        `${expected > available ? ': the file is truncated. Send the whole file again.' : '.'}`,
    )
  return { tensors: entries.map(({ tensor }) => tensor), members: [] }
}
