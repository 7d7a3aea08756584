import type { Piece } from './container-plan.ts'
import { crc32 } from './crc32.ts'
import { joinBytes } from './sources.ts'
import type { ZipMember } from './weight-file.ts'
import { centralRecord, endRecords, type Header, localHeader } from './zip-records.ts'

/** A stored member to be written: known first bytes, then `tail` bytes of tensor data that are written later. */
export interface PlannedMember {
  readonly name: string
  readonly start: Uint8Array
  readonly tail: number
  /** The data begins at a multiple of this. */
  readonly align: number
}

export interface ZipPlan {
  readonly size: number
  readonly pieces: readonly Piece[]
  /** In the order of the planned members. */
  readonly members: readonly ZipMember[]
}

/**
 * Lays out a zip archive of stored members without their tensor data: write the pieces, then the data, then call `seal`.
 * Deterministic. Members of 4 GiB or more and archives beyond that size become zip64.
 */
export const planZip = (planned: readonly PlannedMember[]): ZipPlan => {
  const pieces: Piece[] = []
  const members: ZipMember[] = []
  const headers: Header[] = []
  let at = 0
  for (const { name: text, start, tail, align } of planned) {
    const name = new TextEncoder().encode(text)
    const header = { name, size: start.length + tail, crc: tail === 0 ? crc32(start, 0) : 0, offset: at }
    const local = localHeader(header, align)
    pieces.push({ offset: at, bytes: joinBytes([local, start]) })
    members.push({ name: text, dataOffset: at + local.length, size: header.size, crcOffsets: [at + 14] })
    headers.push(header)
    at += local.length + header.size
  }
  const directory = headers.map(centralRecord)
  let central = at
  const sealed = members.map((member, i) => {
    const crcOffsets = [central + 16, ...member.crcOffsets]
    central += directory[i]!.length
    return { ...member, crcOffsets }
  })
  pieces.push({ offset: at, bytes: joinBytes([...directory, endRecords(planned.length, at, central - at)]) })
  return { size: at + pieces.at(-1)!.bytes.length, pieces, members: sealed }
}
