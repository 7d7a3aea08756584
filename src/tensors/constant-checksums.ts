import { crc32 } from './crc32.ts'
import { readExactly } from './sources.ts'
import type { ByteSource, Constant } from './weight-file.ts'

const CHUNK = 1024 * 1024

const checksum = (crc: number, size: number): string => `${size}:${(crc >>> 0).toString(16).padStart(8, '0')}`

/** Makes a constant from bytes in memory. */
export const constantOf = (name: string, bytes: Uint8Array): Constant => ({
  name,
  digest: checksum(crc32(bytes, 0), bytes.length),
})

/** Makes a constant from `size` bytes of the file, read in pieces. Throws bad_request past the end of the file. */
export const constantIn = (source: ByteSource, name: string, offset: number, size: number): Constant => {
  let crc = 0
  for (let at = 0; at < size; at += CHUNK)
    crc = crc32(readExactly(source, offset + at, Math.min(CHUNK, size - at), `constant ${name}`), crc)
  return { name, digest: checksum(crc, size) }
}
