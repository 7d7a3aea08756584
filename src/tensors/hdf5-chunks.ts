// HDF5 datasets in chunks, compressed or not: layout version 3, as h5py writes them. HDF5 File Format Specification 3.0.
import { unzlibSync } from 'fflate'
import { badRequest } from '../domain/errors.ts'
import { damagedHdf5, type Hdf5File, type Hdf5Message, magicOf } from './hdf5-file.ts'
import { MAX_NESTING } from './limits.ts'
import { showName } from './shape.ts'
import { readExactly, readU64, viewOf } from './sources.ts'
import { copyStrided } from './strided.ts'
import { type ByteSource, elementCount, rowMajorStrides } from './weight-file.ts'

const CHUNKED = 2
const GZIP = 1
const SHUFFLE = 2
const FLETCHER32 = 3
/** For all chunked datasets of a file together. */
const MAX_BYTES = 2 ** 30

interface Filter {
  readonly id: number
  readonly values: readonly number[]
}

/** A filter pipeline message (IV.A.2.l), versions 1 and 2, in the order in which the filters were applied. */
const filtersOf = ({ bytes }: Hdf5Message): Filter[] => {
  const view = viewOf(bytes)
  const [version, count] = bytes as unknown as [number, number]
  if (version !== 1 && version !== 2) throw damagedHdf5('a list of filters cannot be read')
  let at = version === 1 ? 8 : 2
  return Array.from({ length: count }, () => {
    const id = view.getUint16(at, true)
    const hasName = version === 1 || id >= 256
    const nameSize = hasName ? view.getUint16(at + 2, true) : 0
    const valuesAt = at + (hasName ? 8 : 6)
    const values = view.getUint16(valuesAt - 2, true)
    const start = valuesAt + (version === 1 ? Math.ceil(nameSize / 8) * 8 : nameSize)
    at = start + (version === 1 ? values + (values % 2) : values) * 4
    return { id, values: Array.from({ length: values }, (_, value) => view.getUint32(start + value * 4, true)) }
  })
}

/** Undoes the shuffle filter, which groups bytes by their position in the element. */
const unshuffled = (bytes: Uint8Array, itemBytes: number): Uint8Array => {
  const count = Math.floor(bytes.length / itemBytes)
  const result = Uint8Array.from(bytes)
  for (let item = 0; item < count; item++)
    for (let byte = 0; byte < itemBytes; byte++) result[item * itemBytes + byte] = bytes[byte * count + item]!
  return result
}

const unfiltered = (given: Uint8Array, filters: readonly Filter[], mask: number, size: number, name: string) => {
  let bytes = given
  for (const [at, { id, values }] of [...filters.entries()].reverse()) {
    if (((mask >>> at) & 1) === 1) continue
    if (id === FLETCHER32) bytes = bytes.subarray(0, -4)
    else if (id === SHUFFLE) bytes = unshuffled(bytes, Math.max(1, values[0] ?? 1))
    else if (id === GZIP) {
      try {
        bytes = unzlibSync(bytes, { out: new Uint8Array(size + 4) })
      } catch {
        throw damagedHdf5(`a chunk of dataset ${showName(name)} does not inflate`)
      }
    } else
      throw badRequest(
        `Dataset ${showName(name)} is compressed by a filter other than gzip (${id}). Save it with compression='gzip'.`,
      )
  }
  if (bytes.length !== size) throw damagedHdf5(`a chunk of dataset ${showName(name)} has another size`)
  return bytes
}

interface Dataset {
  readonly name: string
  readonly shape: readonly number[]
  readonly itemBytes: number
  readonly layout: Hdf5Message
  readonly filters: Hdf5Message | undefined
}

/** A file followed by its chunked datasets, assembled. Read-only. */
export class ExpandedHdf5 implements ByteSource {
  readonly #source: ByteSource
  readonly #added: { readonly start: number; readonly bytes: Uint8Array }[] = []
  size: number

  constructor(source: ByteSource) {
    this.#source = source
    this.size = source.size
  }

  read(offset: number, length: number): Uint8Array {
    const part = this.#added.find(({ start, bytes }) => offset >= start && offset + length <= start + bytes.length)
    return part === undefined
      ? this.#source.read(offset, length)
      : part.bytes.subarray(offset - part.start, offset - part.start + length)
  }

  /** True if the elements are in chunks of a supported layout. */
  static isChunked({ bytes }: Hdf5Message): boolean {
    return bytes[0] === 3 && bytes[1] === CHUNKED
  }

  /** Assembles a dataset and returns its offset. Throws bad_request. */
  add(file: Hdf5File, { name, shape, itemBytes, layout, filters: pipeline }: Dataset): number {
    const rank = shape.length
    const view = viewOf(layout.bytes)
    if (layout.bytes[2] !== rank + 1 || layout.bytes.length < 11 + (rank + 1) * 4)
      throw damagedHdf5(`the chunks of dataset ${showName(name)} have other dimensions`)
    const chunk = shape.map((_, axis) => view.getUint32(11 + axis * 4, true))
    const size = elementCount(chunk) * itemBytes
    const total = elementCount(shape) * itemBytes
    const added = this.#added.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (size === 0 || added + Math.max(size, total) > MAX_BYTES)
      throw badRequest(`The chunked datasets of the HDF5 file take more than ${MAX_BYTES} bytes. Save them unchunked.`)
    const expected = shape.reduce((product, length, axis) => product * Math.ceil(length / chunk[axis]!), 1)
    const filters = pipeline === undefined ? [] : filtersOf(pipeline)
    const out = new Uint8Array(total)
    const strides = { chunk: rowMajorStrides(chunk), whole: rowMajorStrides(shape) }
    let found = 0

    const place = (offsets: readonly number[], bytes: Uint8Array): void => {
      if (offsets.some((offset, axis) => offset >= shape[axis]! || offset % chunk[axis]! !== 0) || ++found > expected)
        throw damagedHdf5(`a chunk of dataset ${showName(name)} lies outside it`)
      const part = chunk.map((length, axis) => Math.min(length, shape[axis]! - offsets[axis]!))
      const at = offsets.reduce((sum, offset, axis) => sum + offset * strides.whole[axis]!, 0)
      const to = { bytes: out, at, strides: strides.whole }
      copyStrided(itemBytes, part, { bytes, at: 0, strides: strides.chunk }, to)
    }
    const node = (address: number, above: number): void => {
      const head = file.read(address, 24, 'a B-tree')
      const level = head[5]!
      if (magicOf(head) !== 'TREE' || head[4] !== 1 || level >= above) throw damagedHdf5('a B-tree is broken')
      const count = viewOf(head).getUint16(6, true)
      const step = 8 + (rank + 1) * 8 + 8
      const entries = viewOf(file.read(address + 24, count * step, 'a B-tree'))
      for (let at = 0; at < count * step; at += step) {
        const child = readU64(entries, at + step - 8)
        if (level > 0) {
          node(child, level)
          continue
        }
        const offsets = shape.map((_, axis) => readU64(entries, at + 8 + axis * 8))
        const stored = readExactly(this.#source, child, entries.getUint32(at, true), 'a chunk')
        place(offsets, unfiltered(stored, filters, entries.getUint32(at + 4, true), size, name))
      }
    }
    const root = view.getBigUint64(3, true)
    if (root !== 2n ** 64n - 1n) node(Number(root), MAX_NESTING)
    if (found !== expected)
      throw badRequest(`Dataset ${showName(name)} was created without some of its values. Write them before saving.`)
    const start = this.size
    this.#added.push({ start, bytes: out })
    this.size += total
    return start
  }
}
