import type { HeaderReader } from './header-reader.ts'
import { invalidModel, quoted } from './invalid-model.ts'

interface StringWatch {
  /** Takes the next string: the bytes of `window` from `from` to `to`, exclusive. */
  readonly see: (window: Uint8Array, from: number, to: number) => void
  readonly allDiffer: () => boolean
}

/** With more strings than any vocabulary has, the answer is no: the table would take too much memory. */
const MAX_STRINGS = 1 << 22
/** A longer probe is no coincidence: the strings were chosen for colliding hashes. */
const MAX_SEARCH = 32

/**
 * Takes strings one at a time, and tells whether all differ for certain, by their hashes and without allocating JavaScript
 * strings. A string ends at its first zero, as in llama.cpp. An empty one makes the answer no.
 * @param count the maximum number of strings
 */
export const watchStrings = (count: number): StringWatch => {
  let differ = count <= MAX_STRINGS
  // A hash table with open addressing, at most half full. One hash gives the position; the other is stored there.
  const seen = new Int32Array(differ ? 2 ** Math.ceil(Math.log2(count * 2 + 1)) : 0)
  const last = seen.length - 1
  const see = (window: Uint8Array, from: number, to: number): void => {
    if (!differ) return
    let first = 0x811c9dc5
    let second = 0x9747b28c
    let at = from
    for (let byte = 0; at < to && (byte = window[at]!) !== 0; at++) {
      first = Math.imul(first ^ byte, 0x01000193)
      second = Math.imul(second + byte, 0x5bd1e995) ^ (second >>> 15)
    }
    // Zero marks a free position.
    second |= 1
    let place = (first ^ (first >>> 16)) & last
    let searched = 0
    for (; seen[place] !== 0 && seen[place] !== second && searched < MAX_SEARCH; searched++) place = (place + 1) & last
    differ = at > from && seen[place] === 0
    seen[place] = second
  }
  return { see, allDiffer: () => differ }
}

/** Sizes in bytes, in the order of the type numbers (gguf.h, enum gguf_type). For a string, the size of its length. */
const SIZES = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  string: 8,
  array: 0,
  u64: 8,
  i64: 8,
  f64: 8,
} as const

export type MetadataType = keyof typeof SIZES

const TYPES = Object.keys(SIZES) as readonly MetadataType[]

const READ: Readonly<Record<Exclude<MetadataType, 'string' | 'array'>, (bytes: Buffer) => Scalar>> = {
  u8: (bytes) => bytes.readUInt8(),
  i8: (bytes) => bytes.readInt8(),
  u16: (bytes) => bytes.readUInt16LE(),
  i16: (bytes) => bytes.readInt16LE(),
  u32: (bytes) => bytes.readUInt32LE(),
  i32: (bytes) => bytes.readInt32LE(),
  f32: (bytes) => bytes.readFloatLE(),
  bool: (bytes) => bytes.readUInt8() !== 0,
  u64: (bytes) => bytes.readBigUInt64LE(),
  i64: (bytes) => bytes.readBigInt64LE(),
  f64: (bytes) => bytes.readDoubleLE(),
}

/** The longest real strings are chat templates and licenses; 2^26 elements are ten times the largest real vocabulary. */
const MAX_STRING_LENGTH = 1 << 26
const MAX_ARRAY_LENGTH = 1 << 26
/** Arrays up to this length, such as those with a value per block, are kept. Vocabularies are checked without copying them. */
const KEPT_ARRAY = 2048

export type Scalar = number | bigint | boolean | string

export interface MetadataEntry {
  readonly key: string
  readonly type: MetadataType
  /** The type of an array's elements; otherwise null. */
  readonly itemType: MetadataType | null
  /** The number of an array's elements; otherwise 1. */
  readonly length: number
  /** The scalar, the elements of a short array, or null for a long one. */
  readonly value: Scalar | readonly Scalar[] | null
  /** True for a long array of strings that certainly all differ. */
  readonly differ: boolean
  /** File offsets of the entry, of its value (after the types and the array length), and of its end. */
  readonly start: number
  readonly valueStart: number
  readonly end: number
}

/** Reads one key with its value. @throws InferenceError invalid_model that names the key */
export const readEntry = (reader: HeaderReader, index: number): MetadataEntry => {
  const start = reader.position
  const key = reader.stringBytes(`metadata key ${index + 1}`, 65_535).toString('utf8')
  if (key === '' || key.includes('\0'))
    throw invalidModel(
      reader.path,
      `has the metadata key ${quoted(key)}, number ${index + 1}, which is not a name. Fetch it again.`,
    )
  const type = readType(reader, key)
  const itemType = type === 'array' ? readType(reader, key) : null
  if (itemType === null) {
    const valueStart = reader.position
    const value = readScalar(reader, type, key)
    return { key, type, itemType, length: 1, value, differ: false, start, valueStart, end: reader.position }
  }
  const length = reader.u64(`the length of ${quoted(key)}`)
  if (itemType === 'array' || length > MAX_ARRAY_LENGTH || length * SIZES[itemType] > reader.remaining)
    throw invalidModel(
      reader.path,
      `has a metadata key ${quoted(key)} that claims to be an array of ${length} ${itemType}, which is impossible. It is damaged: fetch it again.`,
    )
  const valueStart = reader.position
  const { value, differ } = readArray(reader, itemType, length, key)
  return { key, type, itemType, length, value, differ, start, valueStart, end: reader.position }
}

const readType = (reader: HeaderReader, key: string): MetadataType => {
  const number = reader.u32(`the type of ${quoted(key)}`)
  const type = TYPES[number]
  if (type === undefined)
    throw invalidModel(
      reader.path,
      `has a metadata key ${quoted(key)} of type ${number}, which GGUF does not know. It is damaged: fetch it again.`,
    )
  return type
}

const readArray = (
  reader: HeaderReader,
  type: MetadataType,
  length: number,
  key: string,
): Pick<MetadataEntry, 'value' | 'differ'> => {
  if (length <= KEPT_ARRAY) return { value: Array.from({ length }, () => readScalar(reader, type, key)), differ: false }
  if (type !== 'string') {
    reader.passOver(length * SIZES[type], quoted(key))
    return { value: null, differ: false }
  }
  const { see, allDiffer } = watchStrings(length)
  reader.eachString(length, quoted(key), MAX_STRING_LENGTH, see)
  return { value: null, differ: allDiffer() }
}

const readScalar = (reader: HeaderReader, type: MetadataType, key: string): Scalar => {
  const what = `the value of ${quoted(key)}`
  if (type === 'string') return reader.stringBytes(what, MAX_STRING_LENGTH).toString('utf8')
  if (type === 'array')
    throw invalidModel(reader.path, `has arrays inside the array ${quoted(key)}, which GGUF does not have.`)
  return READ[type](reader.take(SIZES[type], what))
}
