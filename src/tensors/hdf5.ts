import { badRequest } from '../domain/errors.ts'
import { ExpandedHdf5 } from './hdf5-chunks.ts'
import { damagedHdf5, Hdf5File, type Hdf5Message } from './hdf5-file.ts'
import { type Hdf5Link, linksIn } from './hdf5-links.ts'
import { MAX_DIMENSIONS, MAX_NESTING, MAX_TENSORS } from './limits.ts'
import { requireShape, showName, showShape } from './shape.ts'
import { readU64, viewOf } from './sources.ts'
import {
  BYTES_OF,
  type ByteSource,
  byteLength,
  type DType,
  rowMajorStrides,
  type Tensor,
  type TensorPlaces,
  type ZipMember,
} from './weight-file.ts'
import type { ZipEntry } from './zip.ts'

const DATASPACE = 0x01
const DATATYPE = 0x03
const EXTERNAL = 0x07
const LAYOUT = 0x08
const FILTERS = 0x0b
const CONTIGUOUS = 1
const UNALLOCATED = 2n ** 64n - 1n
/** The state of Keras optimizers and random generators is not a weight; results keep it unchanged. */
const KEPT = /^(optimizer|optimizer_weights)(\/|$)|(^|\/)seed_generator(_\d+)?(\/|$)/
const KERAS_MODEL = 'model_weights'

const INTEGERS: Readonly<Record<number, readonly [DType, DType]>> = {
  1: ['u8', 'i8'],
  2: ['u16', 'i16'],
  4: ['u32', 'i32'],
  8: ['u64', 'i64'],
}
/** Keyed by the number of bytes and of exponent bits. */
const FLOATS: Readonly<Record<string, DType>> = { '2 5': 'f16', '2 8': 'bf16', '4 8': 'f32', '8 11': 'f64' }

interface Elements {
  readonly dtype: DType
  readonly bigEndian: boolean
}

/** Returns a dataset's element type (IV.A.2.d), or null for text and references, which are not weights. */
const elementsOf = ({ bytes, isShared }: Hdf5Message, name: string): Elements | null => {
  const kind = bytes[0]! & 15
  const size = bytes.length >= 8 ? viewOf(bytes).getUint32(4, true) : 0
  const bigEndian = (bytes[1]! & 1) === 1 && size > 1
  if (!isShared && [3, 5, 7, 9].includes(kind)) return null
  const dtype =
    kind === 0 ? INTEGERS[size]?.[bytes[1]! & 8 ? 1 : 0] : kind === 1 ? FLOATS[`${size} ${bytes[13]}`] : undefined
  // h5py stores NumPy's bool as a one-byte enumeration.
  if (kind === 8 && size === 1) return { dtype: 'bool', bigEndian: false }
  const isWhole = bytes.length >= 12 && viewOf(bytes).getUint16(10, true) === size * 8 && (bytes[1]! & 0x40) === 0
  if (isShared || dtype === undefined || !isWhole)
    throw badRequest(
      `Dataset ${showName(name)} has elements of a type that cannot be aggregated. Save floats of 16, 32, or 64 bits, ` +
        'integers, or booleans.',
    )
  return { dtype, bigEndian }
}

/** Returns a dataset's shape (IV.A.2.b), or null for a null dataspace, which has no elements. */
const shapeOf = ({ bytes }: Hdf5Message, name: string): number[] | null => {
  const [version, rank] = bytes as unknown as [number, number]
  const start = version === 1 ? 8 : 4
  if ((version !== 1 && version !== 2) || rank > MAX_DIMENSIONS || start + rank * 8 > bytes.length)
    throw damagedHdf5(`dataset ${showName(name)} has no readable shape`)
  if (version === 2 && bytes[3] === 2) return null
  return requireShape(
    Array.from({ length: rank }, (_, axis) => readU64(viewOf(bytes), start + axis * 8)),
    name,
  )
}

/** Returns the offset of a dataset's elements (IV.A.2.i), which must be contiguous and `size` bytes long. */
const placeOf = ({ bytes }: Hdf5Message, size: number, name: string): number => {
  const [version, kind] = bytes as unknown as [number, number]
  if ((version !== 3 && version !== 4) || kind !== CONTIGUOUS || bytes.length < 18)
    throw badRequest(
      `Dataset ${showName(name)} is chunked, compressed, or stored in another way in which a result cannot be written in place. ` +
        'Save the weights with model.save_weights(path), or with create_dataset(name, data=array) without further options.',
    )
  const address = viewOf(bytes).getBigUint64(2, true)
  if (address === UNALLOCATED) {
    if (size === 0) return 0
    throw badRequest(`Dataset ${showName(name)} was created without values. Write them before saving.`)
  }
  if (readU64(viewOf(bytes), 10) !== size)
    throw badRequest(
      `Dataset ${showName(name)} needs ${size} bytes, but has ${readU64(viewOf(bytes), 10)}. Send the whole file again.`,
    )
  return Number(address)
}

const datasetOf = (
  file: Hdf5File,
  source: ByteSource,
  messages: readonly Hdf5Message[],
  name: string,
): Tensor | null => {
  const [space, type, layout, filters] = [DATASPACE, DATATYPE, LAYOUT, FILTERS].map((kind) =>
    messages.find((one) => one.type === kind),
  )
  if (!space || !type || !layout) return null
  const elements = elementsOf(type, name)
  const shape = elements === null ? null : shapeOf(space, name)
  if (elements === null || shape === null) return null
  if (messages.some((message) => message.type === EXTERNAL))
    throw badRequest(`Dataset ${showName(name)} has its elements in another file, which is not opened.`)
  const size = byteLength({ dtype: elements.dtype, shape })
  const itemBytes = BYTES_OF[elements.dtype]
  const byteOffset =
    source instanceof ExpandedHdf5 && ExpandedHdf5.isChunked(layout)
      ? source.add(file, { name, shape, itemBytes, layout, filters })
      : placeOf(layout, size, name)
  if (byteOffset + size > source.size)
    throw badRequest(
      `Dataset ${showName(name)} of shape ${showShape(shape)} reaches byte ${byteOffset + size} of a file that has only ` +
        `${source.size}. Send the whole file again.`,
    )
  return { name, ...elements, shape, strides: rowMajorStrides(shape), byteOffset, deflated: null }
}

/**
 * Locates the numeric datasets of an HDF5 file, named by their paths; of a Keras model, only its weights. Supports
 * superblocks 0 to 3, both kinds of groups, and contiguous elements; chunks (also gzip-compressed) only if the source is an
 * `ExpandedHdf5`. Follows links only within the file. Throws bad_request naming the dataset.
 */
export const readHdf5 = (source: ByteSource): TensorPlaces => {
  const file = new Hdf5File(source)
  const tensors: Tensor[] = []
  const groups = new Set<number>()
  const visit = ({ name, address }: Hdf5Link, depth: number): void => {
    if (KEPT.test(name)) return
    if (depth > MAX_NESTING) throw badRequest(`The HDF5 file nests deeper than ${MAX_NESTING} groups.`)
    if (tensors.length > MAX_TENSORS) throw badRequest(`The HDF5 file has more than ${MAX_TENSORS} datasets.`)
    const messages = file.messages(address)
    const links = linksIn(file, messages)
    if (links === null) {
      const tensor = datasetOf(file, source, messages, name)
      if (tensor !== null) tensors.push(tensor)
      return
    }
    if (groups.has(address)) throw badRequest(`Group ${showName(name)} of the HDF5 file is linked twice. Save it once.`)
    groups.add(address)
    for (const link of links)
      visit({ name: name === '' ? link.name : `${name}/${link.name}`, address: link.address }, depth + 1)
  }
  const root = file.root()
  // Whole models of Keras 2, and of Keras 3 in HDF5, keep the weights in a group next to the optimizer's.
  const model = linksIn(file, file.messages(root))?.find(({ name }) => name === KERAS_MODEL)
  visit({ name: '', address: model?.address ?? root }, 0)
  file.requireApart(
    tensors.map((tensor) => ({ start: tensor.byteOffset, end: tensor.byteOffset + byteLength(tensor) })),
  )
  return { tensors, members: [] }
}

const WEIGHTS = 'model.weights.h5'

/** Reads Keras 3's .keras: a zip with the weights in a stored HDF5 file. Throws bad_request. */
export const readKeras = (source: ByteSource, entries: readonly ZipEntry[]): TensorPlaces => {
  const entry = entries.find(({ name }) => name === WEIGHTS)
  if (entry?.method !== 'stored')
    throw badRequest(
      entry === undefined
        ? 'The Keras model keeps its weights in several files. Save it without max_shard_size.'
        : 'The Keras model is compressed. Save it with model.save(path), which does not compress.',
    )
  const { dataOffset, size } = entry
  const inner: ByteSource = {
    size,
    read: (offset, length) => source.read(dataOffset + offset, length),
  }
  const tensors = readHdf5(inner).tensors.map((tensor) => ({ ...tensor, byteOffset: dataOffset + tensor.byteOffset }))
  const member: ZipMember = { name: WEIGHTS, dataOffset, size, crcOffsets: entry.crcOffsets }
  return { tensors, members: [member] }
}
