import { badRequest } from '../domain/errors.ts'
import { MAX_HDF5_BLOCK, MAX_HDF5_BLOCKS } from './limits.ts'
import { copyOf, readExactly, readU64, viewOf } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

/** A message of an object header; `at` is the offset of its bytes in the file. */
export interface Hdf5Message {
  readonly type: number
  readonly isShared: boolean
  readonly bytes: Uint8Array
  readonly at: number
}

interface Range {
  readonly start: number
  readonly end: number
}

export const damagedHdf5 = (reason: string) =>
  badRequest(`The HDF5 file is damaged: ${reason}. Send the whole file again.`)

const CONTINUATION = 0x10
const OHDR = 'OHDR'
const OCHK = 'OCHK'

/** The four letters that a structure begins with. */
export const magicOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes.subarray(0, 4))

/** Reads the structures of an HDF5 file and records which bytes they occupy. Layouts: HDF5 File Format Specification 3.0. */
export class Hdf5File {
  readonly #source: ByteSource
  readonly #taken: Range[] = []

  constructor(source: ByteSource) {
    this.#source = source
  }

  /** Reads a structure, whose bytes no dataset may use. Throws bad_request outside the file or if there are too many. */
  read(at: number, length: number, what: string): Uint8Array<ArrayBuffer> {
    if (this.#taken.length >= MAX_HDF5_BLOCKS || length > MAX_HDF5_BLOCK)
      throw badRequest('The HDF5 file has more structures than any model needs. Save the weights alone.')
    const bytes = copyOf(readExactly(this.#source, at, length, what))
    this.#taken.push({ start: at, end: at + length })
    return bytes
  }

  /** Throws bad_request if a dataset overlaps a structure or another dataset; two names for the same dataset are allowed. */
  requireApart(datasets: readonly Range[]): void {
    const own = new Map(datasets.map((range) => [`${range.start} ${range.end}`, range]))
    const ranges = [
      ...this.#taken.map((range) => ({ ...range, isData: false })),
      ...[...own.values()].map((range) => ({ ...range, isData: true })),
    ]
    let end = { any: 0, data: 0 }
    for (const range of ranges.sort((a, b) => a.start - b.start)) {
      if (range.start === range.end) continue
      if (range.start < (range.isData ? end.any : end.data)) throw damagedHdf5('a dataset overlaps something else')
      end = { any: Math.max(end.any, range.end), data: range.isData ? Math.max(end.data, range.end) : end.data }
    }
  }

  /** Returns the address of the root group's header. Supports superblock versions 0 to 3 with 8-byte offsets. */
  root(): number {
    const version = this.read(8, 1, 'the HDF5 superblock')[0]!
    const [sizes, base, root, length] = version < 2 ? [13, version === 0 ? 24 : 28, 0, 96] : [9, 12, 36, 48]
    const bytes = this.read(0, version === 1 ? 100 : length, 'the HDF5 superblock')
    const view = viewOf(bytes)
    if (version > 3 || bytes[sizes] !== 8 || bytes[sizes + 1] !== 8 || readU64(view, base) !== 0)
      throw badRequest(
        'The HDF5 file is written in a form that is not supported (superblock version, size of offsets, or base address). ' +
          'Write it with h5py and its default settings.',
      )
    return readU64(view, version < 2 ? base + 40 : root)
  }

  /** Returns the messages of the object header at `address`, of either version. */
  messages(address: number): Hdf5Message[] {
    const start = this.read(address, 16, 'an object header')
    return magicOf(start) === OHDR ? this.#newMessages(address, start) : this.#oldMessages(address, start)
  }

  #oldMessages(address: number, start: Uint8Array): Hdf5Message[] {
    if (start[0] !== 1) throw damagedHdf5(`there is no object header at byte ${address}`)
    const blocks: Range[] = [{ start: address + 16, end: address + 16 + viewOf(start).getUint32(8, true) }]
    return this.#collect(blocks, (bytes, at) => {
      const view = viewOf(bytes)
      if (at + 8 > bytes.length) return null
      return { type: view.getUint16(at, true), size: view.getUint16(at + 2, true), flags: bytes[at + 4]!, header: 8 }
    })
  }

  #newMessages(address: number, start: Uint8Array): Hdf5Message[] {
    const flags = start[5]!
    const sizeBytes = 1 << (flags & 3)
    const sizeAt = 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0)
    const field = this.read(address + sizeAt, sizeBytes, 'an object header')
    const size = field.reduce((sum, byte, at) => sum + byte * 256 ** at, 0)
    const first = address + sizeAt + sizeBytes
    const header = flags & 4 ? 6 : 4
    return this.#collect([{ start: first, end: first + size }], (bytes, at, isContinued) => {
      // A continuation block begins with its signature and ends with a checksum.
      if (isContinued && at === 0) {
        if (magicOf(bytes) !== OCHK) throw damagedHdf5('an object header continues where there is none')
        return { type: 0, size: 0, flags: 0, header: 4 }
      }
      if (at + header > bytes.length - (isContinued ? 4 : 0)) return null
      return { type: bytes[at]!, size: viewOf(bytes).getUint16(at + 1, true), flags: bytes[at + 3]!, header }
    })
  }

  #collect(
    blocks: Range[],
    next: (
      bytes: Uint8Array,
      at: number,
      isContinued: boolean,
    ) => { readonly type: number; readonly size: number; readonly flags: number; readonly header: number } | null,
  ): Hdf5Message[] {
    const messages: Hdf5Message[] = []
    for (let block = 0; block < blocks.length; block++) {
      const { start, end } = blocks[block]!
      const bytes = this.read(start, end - start, 'an object header')
      for (let at = 0; at < bytes.length; ) {
        const message = next(bytes, at, block > 0)
        if (message === null) break
        const from = at + message.header
        at = from + message.size
        if (at > bytes.length) throw damagedHdf5('a message of an object header is too long')
        const content = bytes.subarray(from, at)
        if (message.type !== CONTINUATION)
          messages.push({ type: message.type, isShared: (message.flags & 2) !== 0, bytes: content, at: start + from })
        else {
          if (content.length < 16) throw damagedHdf5('an object header continues nowhere')
          const nextAddress = readU64(viewOf(content), 0)
          blocks.push({ start: nextAddress, end: nextAddress + readU64(viewOf(content), 8) })
        }
      }
    }
    return messages
  }
}
