import { badRequest } from '../domain/errors.ts'
import type { ByteSource, ByteTarget } from './weight-file.ts'

/** A file that is already in memory, or a buffer to write one into. Reads alias `bytes`; nothing is copied. */
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

/** Reads exactly `length` bytes, or says which part of the file is missing. Throws bad_request. */
export const readExactly = (source: ByteSource, offset: number, length: number, what: string): Uint8Array => {
  if (!Number.isSafeInteger(offset) || offset < 0 || !(length >= 0) || offset + length > source.size)
    throw badRequest(
      `The file is truncated or its lengths are wrong: ${what} needs bytes ${offset} to ${offset + length}, ` +
        `but the file has ${source.size}. Send the whole file again.`,
    )
  return source.read(offset, length)
}

/** A copy that shares nothing. `slice` would not do: on a Node Buffer it is a view. */
export const copyOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** UTF-8 bytes as text. Throws bad_request, saying what is no text. */
export const decodeText = (bytes: Uint8Array, what: string): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw badRequest(`The file is damaged: ${what} is not valid UTF-8. Send the whole file again.`)
  }
}

const CHARS_AT_ONCE = 8192

/** Each byte as the character of its number. In browsers, and from Node 24 on, TextDecoder's latin1 is windows-1252 instead. */
export const decodeLatin1 = (bytes: Uint8Array): string => {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHARS_AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, at + CHARS_AT_ONCE))
  return text
}

/** A DataView over exactly these bytes. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** An unsigned 64-bit length; above 2^53 it is rounded, which every bounds check refuses anyway. */
export const readU64 = (view: DataView, offset: number): number => Number(view.getBigUint64(offset, true))
