import { badRequest } from '../domain/errors.ts'
import { showName } from './shape.ts'
import { readExactly, viewOf } from './sources.ts'
import type { ByteSource, ZipMember } from './weight-file.ts'
import { type CentralRecord, damaged, findDirectory, readDirectory } from './zip-directory.ts'

/** A member of a zip archive. `size` is its inflated size; stored members have `compressedSize === size`. */
export interface ZipEntry extends ZipMember {
  readonly method: 'stored' | 'deflated'
  readonly compressedSize: number
  readonly crc: number
}

const LOCAL = 0x04034b50
const DESCRIPTOR = 0x08074b50

interface Placed {
  readonly entry: ZipEntry
  readonly start: number
  readonly end: number
}

const place = (source: ByteSource, record: CentralRecord): Placed => {
  const shown = `member ${showName(record.name)}`
  if (record.flags & 1) throw badRequest(`The zip ${shown} is encrypted. Save the file without a password.`)
  if (record.method !== 0 && record.method !== 8)
    throw badRequest(`The zip ${shown} is compressed with method ${record.method}; use stored or deflated.`)
  if (record.method === 0 && record.compressedSize !== record.size) throw damaged(`${shown} has two different sizes`)
  const local = readExactly(source, record.headerOffset, 30 + record.rawName.length, `the header of ${shown}`)
  const view = viewOf(local)
  const sameName = record.rawName.every((byte, i) => local[30 + i] === byte)
  if (view.getUint32(0, true) !== LOCAL || view.getUint16(26, true) !== record.rawName.length || !sameName)
    throw damaged(`${shown} is not where the directory says`)
  if (view.getUint16(8, true) !== record.method) throw damaged(`${shown} has two different compression methods`)
  const streamed = (view.getUint16(6, true) & 8) !== 0
  const localCrc = view.getUint32(14, true)
  const dataOffset = record.headerOffset + 30 + record.rawName.length + view.getUint16(28, true)
  const crcOffsets = [record.crcOffset]
  // A streaming writer sets the CRC-32 in the local header to zero and stores it in a descriptor after the data.
  if (!(streamed && localCrc === 0)) {
    if (localCrc !== record.crc) throw damaged(`${shown} has two different checksums`)
    crcOffsets.push(record.headerOffset + 14)
  }
  let end = dataOffset + record.compressedSize
  if (streamed) {
    const descriptor = viewOf(readExactly(source, end, 8, `the descriptor of ${shown}`))
    const at = descriptor.getUint32(0, true) === DESCRIPTOR ? 4 : 0
    if (descriptor.getUint32(at, true) !== record.crc) throw damaged(`${shown} has two different checksums`)
    crcOffsets.push(end + at)
    end += at + 12
  }
  const { name, size, compressedSize, crc } = record
  const method = record.method === 0 ? 'stored' : 'deflated'
  return { start: record.headerOffset, end, entry: { name, method, size, compressedSize, crc, dataOffset, crcOffsets } }
}

/**
 * Reads the members of a zip archive (including zip64) in directory order. Checks that names are unique, that local headers
 * agree with the directory, and that no two members share a byte, so that every reader sees the bytes we patch or inflate.
 * Throws bad_request.
 */
export const readZip = (source: ByteSource): ZipEntry[] => {
  const directory = findDirectory(source)
  const placed = readDirectory(source, directory).map((record) => place(source, record))
  const names = new Set(placed.map(({ entry }) => entry.name))
  if (names.size !== placed.length) throw damaged('two members have the same name')
  let previousEnd = 0
  for (const { start, end } of [...placed].sort((a, b) => a.start - b.start)) {
    if (start < previousEnd) throw damaged('two members overlap')
    previousEnd = end
  }
  if (previousEnd > directory.offset) throw damaged('a member reaches into the directory')
  return placed.map(({ entry }) => entry)
}

export const startsLikeZip = (head: Uint8Array): boolean =>
  head.length >= 4 &&
  head[0] === 0x50 &&
  head[1] === 0x4b &&
  (head[2] === 3 || head[2] === 5) &&
  head[3] === head[2] + 1
