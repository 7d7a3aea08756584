import { badRequest } from '../domain/errors.ts'
import type { ByteSource, ByteTarget } from './weight-file.ts'

/** A file in memory, or a buffer to write one into. Reads alias `bytes`; nothing is copied. */
export const bytesSource = (bytes: Uint8Array): ByteTarget => {
  const requireInside = (offset: number, length: number): void => {
    if (!(offset >= 0 && length >= 0 && offset + length <= bytes.length))
      throw badRequest(`Bytes ${offset} to ${offset + length} lie outside the ${bytes.length} available bytes.`)
  }
  return {
    size: bytes.length,
    read: (offset, length) => {
      requireInside(offset, length)
      return bytes.subarray(offset, offset + length)
    },
    write: (offset, data) => {
      requireInside(offset, data.length)
      bytes.set(data, offset)
    },
  }
}

/** Reads exactly `length` bytes. Throws bad_request naming the missing part of the file. */
export const readExactly = (source: ByteSource, offset: number, length: number, what: string): Uint8Array => {
  if (!Number.isSafeInteger(offset) || offset < 0 || !(length >= 0) || offset + length > source.size)
    throw badRequest(
      `The file is truncated or its lengths are wrong: ${what} needs bytes ${offset} to ${offset + length}, ` +
        `but the file has ${source.size}. Send the whole file again.`,
    )
  return source.read(offset, length)
}

/** Returns an independent copy. `slice` on a Node Buffer would return a view. */
export const copyOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

export const joinBytes = (parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8. Throws bad_request naming what is not text. */
export const decodeText = (bytes: Uint8Array, what: string): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw badRequest(`The file is damaged: ${what} is not valid UTF-8. Send the whole file again.`)
  }
}

const CHARS_AT_ONCE = 8192

/** Maps each byte to the character with its code. TextDecoder's latin1 is windows-1252 in browsers and since Node 24. */
export const decodeLatin1 = (bytes: Uint8Array): string => {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHARS_AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, at + CHARS_AT_ONCE))
  return text
}

/** A DataView over exactly these bytes. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Reads an unsigned 64-bit length. Values above 2^53 are rounded, but fail any bounds check. */
export const readU64 = (view: DataView, offset: number): number => Number(view.getBigUint64(offset, true))
