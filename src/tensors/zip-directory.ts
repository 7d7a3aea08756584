import { badRequest } from '../domain/errors.ts'
import { MAX_ZIP_DIRECTORY, MAX_ZIP_MEMBERS } from './limits.ts'
import { copyOf, decodeText, readExactly, readU64, viewOf } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

interface Directory {
  readonly offset: number
  readonly size: number
  readonly count: number
}

/** A member's record in the directory at the end of the archive. */
export interface CentralRecord {
  readonly name: string
  readonly rawName: Uint8Array
  readonly flags: number
  readonly method: number
  readonly crc: number
  readonly crcOffset: number
  readonly compressedSize: number
  readonly size: number
  readonly headerOffset: number
}

// Signatures and layouts: PKWARE APPNOTE 6.3, sections 4.3.7 to 4.3.16.
const END = 0x06054b50
const END64 = 0x06064b50
const END64_LOCATOR = 0x07064b50
const CENTRAL = 0x02014b50
const U32_MAX = 0xffffffff

export const damaged = (reason: string) =>
  badRequest(`The zip archive inside this file is damaged or truncated: ${reason}. Send the whole file again.`)

const findEnd = (source: ByteSource): number => {
  const start = Math.max(0, source.size - 22 - 0xffff)
  const tail = source.read(start, source.size - start)
  const view = viewOf(tail)
  for (let at = tail.length - 22; at >= 0; at--)
    if (view.getUint32(at, true) === END && at + 22 + view.getUint16(at + 20, true) === tail.length) return start + at
  throw damaged('its directory at the end of the file is missing')
}

/** Finds the directory, which begins where the members end. Throws bad_request. */
export const findDirectory = (source: ByteSource): Directory => {
  const at = findEnd(source)
  const end = viewOf(readExactly(source, at, 22, 'the end record'))
  let directory = { count: end.getUint16(10, true), size: end.getUint32(12, true), offset: end.getUint32(16, true) }
  let stop = at
  const locator = at >= 20 ? viewOf(readExactly(source, at - 20, 20, 'the zip64 locator')) : null
  if (locator?.getUint32(0, true) === END64_LOCATOR) {
    stop = readU64(locator, 8)
    const end64 = viewOf(readExactly(source, stop, 56, 'the zip64 end record'))
    if (end64.getUint32(0, true) !== END64) throw damaged('its zip64 end record is missing')
    directory = { count: readU64(end64, 32), size: readU64(end64, 40), offset: readU64(end64, 48) }
  }
  if (directory.offset + directory.size !== stop) throw damaged('its directory is not where the end record says')
  if (directory.count > MAX_ZIP_MEMBERS || directory.size > MAX_ZIP_DIRECTORY)
    throw badRequest(`The file is a zip archive of ${directory.count} members; at most ${MAX_ZIP_MEMBERS} are read.`)
  return directory
}

/** Returns a record's sizes and offset, from its zip64 extra field where a 32-bit field is at its maximum. */
const wideFields = (extra: Uint8Array, fields: readonly number[]): number[] => {
  const view = viewOf(extra)
  for (let at = 0; at + 4 <= extra.length; ) {
    const length = view.getUint16(at + 2, true)
    if (view.getUint16(at, true) === 1) {
      let next = at + 4
      const stop = Math.min(next + length, extra.length)
      return fields.map((field) => {
        if (field !== U32_MAX) return field
        if (next + 8 > stop) throw damaged('a zip64 field is too short')
        next += 8
        return readU64(view, next - 8)
      })
    }
    at += 4 + length
  }
  return [...fields]
}

// Copied because the next read may reuse the source's buffer.
const bytesOf = (source: ByteSource, { offset, size }: Directory): Uint8Array =>
  copyOf(readExactly(source, offset, size, 'the directory'))

/** Finds the records in the bytes of a directory: where each begins, and where its name, extra field, and comment end. */
const findRecords = function* (bytes: Uint8Array) {
  const view = viewOf(bytes)
  for (let at = 0, next: number; at < bytes.length; at = next) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) throw damaged('a directory record is broken')
    const nameEnd = at + 46 + view.getUint16(at + 28, true)
    const extraEnd = nameEnd + view.getUint16(at + 30, true)
    next = extraEnd + view.getUint16(at + 32, true)
    if (next > bytes.length) throw damaged('a directory record is too long')
    yield { at, nameEnd, extraEnd }
  }
}

/** Reads every record of the directory, in order. Throws bad_request. */
export const readDirectory = (source: ByteSource, directory: Directory): CentralRecord[] => {
  const bytes = bytesOf(source, directory)
  const view = viewOf(bytes)
  const records: CentralRecord[] = []
  for (const { at, nameEnd, extraEnd } of findRecords(bytes)) {
    const rawName = bytes.subarray(at + 46, nameEnd)
    const narrow = [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)]
    const [size, compressedSize, headerOffset] = wideFields(bytes.subarray(nameEnd, extraEnd), narrow)
    records.push({
      name: decodeText(rawName, 'the name of a zip member'),
      rawName,
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      crcOffset: directory.offset + at + 16,
      compressedSize: compressedSize!,
      size: size!,
      headerOffset: headerOffset!,
    })
  }
  if (records.length !== directory.count) throw damaged('its directory does not contain the members it counts')
  return records
}

/**
 * Reads only the members' names, fast enough for the event loop: 200,000 in some 80 ms. Characters that are not ASCII come out
 * wrong. Throws bad_request.
 */
export const readMemberNames = (source: ByteSource): string[] => {
  const bytes = bytesOf(source, findDirectory(source))
  // One character for each byte.
  const text = new TextDecoder('latin1').decode(bytes)
  return Array.from(findRecords(bytes), ({ at, nameEnd }) => text.slice(at + 46, nameEnd))
}
