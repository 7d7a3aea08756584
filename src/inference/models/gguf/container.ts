import { GGML_TYPES } from './ggml-types.ts'
import type { HeaderReader } from './header-reader.ts'
import { invalidModel, quoted } from './invalid-model.ts'
import { type MetadataEntry, readEntry } from './metadata.ts'

const MAX_ENTRIES = 65_536
const MAX_TENSORS = 1 << 20
/** ggml.h: GGML_MAX_NAME without its final zero, GGML_MAX_DIMS. */
const MAX_NAME_LENGTH = 63
const MAX_DIMENSIONS = 4

export interface GgufTensor {
  readonly name: string
  /** Fastest dimension first, as in the file. */
  readonly shape: readonly number[]
  /** The type's number in the file, and its name. */
  readonly typeNumber: number
  readonly type: string
  readonly elements: number
  readonly bytes: number
  /** Relative to the start of the tensor data. */
  readonly offset: number
}

export interface GgufContainer {
  readonly version: number
  readonly metadata: ReadonlyMap<string, MetadataEntry>
  readonly tensors: readonly GgufTensor[]
  readonly alignment: number
  /** The file offset of the tensor data. */
  readonly dataStart: number
}

/** Reads everything before the weights, and checks the positions of the weights (specification: ggml, docs/gguf.md). */
export const readContainer = (reader: HeaderReader): GgufContainer => {
  const version = readVersion(reader)
  const tensorCount = readCount(reader, 'tensors', MAX_TENSORS)
  const entryCount = readCount(reader, 'metadata keys', MAX_ENTRIES)
  const metadata = new Map<string, MetadataEntry>()
  for (let index = 0; index < entryCount; index++) {
    const entry = readEntry(reader, index)
    if (metadata.has(entry.key)) throw invalidModel(reader.path, `has the metadata key ${quoted(entry.key)} twice.`)
    metadata.set(entry.key, entry)
  }
  const alignment = readAlignment(reader.path, metadata)
  const tensors: GgufTensor[] = []
  const names = new Set<string>()
  for (let index = 0; index < tensorCount; index++) {
    const tensor = readTensor(reader, index)
    if (names.has(tensor.name)) throw invalidModel(reader.path, `has the tensor ${quoted(tensor.name)} twice.`)
    names.add(tensor.name)
    tensors.push(tensor)
  }
  const dataStart = padded(reader.position, alignment)
  checkPlaces(reader, tensors, alignment, dataStart)
  return { version, metadata, tensors, alignment, dataStart }
}

/** Rounds up to a multiple of `alignment`. */
export const padded = (bytes: number, alignment: number): number => Math.ceil(bytes / alignment) * alignment

/** @throws InferenceError invalid_model if the file does not begin with GGUF */
export const readMagic = (reader: HeaderReader): void => {
  const magic = reader.take(4, 'the letters GGUF that every GGUF file begins with').toString('latin1')
  if (magic !== 'GGUF')
    throw invalidModel(reader.path, `is not a GGUF file: it begins with ${quoted(magic)}, not with 'GGUF'.`)
}

const readVersion = (reader: HeaderReader): number => {
  readMagic(reader)
  const version = reader.u32('the version of GGUF')
  if (version === 2 || version === 3) return version
  throw invalidModel(
    reader.path,
    version > 0 && version % 65_536 === 0
      ? 'is a GGUF file for big-endian machines. Fetch the little-endian one.'
      : `is GGUF version ${version}; versions 2 and 3 can be read. Convert the model again with a current tool.`,
  )
}

const readCount = (reader: HeaderReader, what: string, most: number): number => {
  const count = reader.u64(`the number of ${what}`)
  if (count <= most) return count
  throw invalidModel(reader.path, `claims ${count} ${what}; at most ${most} are supported. It is damaged.`)
}

const readAlignment = (path: string, metadata: ReadonlyMap<string, MetadataEntry>): number => {
  const entry = metadata.get('general.alignment')
  if (entry === undefined) return 32
  const value = Number(entry.value)
  if (entry.type === 'u32' && value > 0 && value <= 1 << 20 && Number.isInteger(Math.log2(value))) return value
  throw invalidModel(
    path,
    `has the alignment ${value} as ${entry.type} in 'general.alignment'; it must be a power of 2 as u32.`,
  )
}

const readTensor = (reader: HeaderReader, index: number): GgufTensor => {
  const name = reader.stringBytes(`the name of tensor ${index + 1}`, MAX_NAME_LENGTH).toString('utf8')
  const label = `tensor ${quoted(name)}`
  if (name === '' || name.includes('\0'))
    throw invalidModel(
      reader.path,
      `has ${label}, number ${index + 1}, which is not a name. It is damaged: fetch it again.`,
    )
  const dimensions = reader.u32(`the dimensions of ${label}`)
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS)
    throw invalidModel(reader.path, `has ${dimensions} dimensions at ${label}; there must be 1 to ${MAX_DIMENSIONS}.`)
  const shape = Array.from({ length: dimensions }, () => reader.u64(`the shape of ${label}`))
  const elements = shape.reduce((product, size) => product * size, 1)
  const typeNumber = reader.u32(`the type of ${label}`)
  const type = GGML_TYPES[typeNumber]
  if (type === undefined)
    throw invalidModel(
      reader.path,
      `has ${label} of type ${typeNumber}, which this llama.cpp does not know. Fetch the model in another quantization.`,
    )
  if (elements === 0 || shape[0]! % type.elements !== 0 || !Number.isSafeInteger(elements * type.bytes))
    throw invalidModel(
      reader.path,
      `has ${label} of shape ${shape.join(' x ')}, which cannot be stored as ${type.name} (blocks of ${type.elements}).`,
    )
  const offset = reader.u64(`the offset of ${label}`)
  const bytes = (elements / type.elements) * type.bytes
  return { name, shape, typeNumber, type: type.name, elements, bytes, offset }
}

/** Checks that tensors are contiguous, in order, and aligned, as llama.cpp requires. */
const checkPlaces = (
  reader: HeaderReader,
  tensors: readonly GgufTensor[],
  alignment: number,
  dataStart: number,
): void => {
  const size = reader.position + reader.remaining
  let expected = 0
  for (const { name, offset, bytes } of tensors) {
    if (offset !== expected)
      throw invalidModel(
        reader.path,
        `has tensor ${quoted(name)} at offset ${offset} where ${expected} is expected. It is damaged: fetch it again.`,
      )
    if (dataStart + offset + bytes > size)
      throw invalidModel(
        reader.path,
        `ends at byte ${size}, but tensor ${quoted(name)} reaches to byte ${dataStart + offset + bytes}. It is truncated: fetch it again.`,
      )
    expected += padded(bytes, alignment)
  }
}
