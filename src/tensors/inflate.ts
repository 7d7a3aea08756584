import { Inflate } from 'fflate'
import { badRequest } from '../domain/errors.ts'
import { showName } from './shape.ts'
import { copyOf } from './sources.ts'
import type { ByteSource, DeflatedMember } from './weight-file.ts'

export const isFflateError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'number'

/** Inflates in steps, so that a bomb is detected at most one step (times 1032) past its declared size. */
const inflateInto = (
  source: ByteSource,
  member: DeflatedMember,
  out: Uint8Array,
  name: string,
  step: number,
): number => {
  let produced = 0
  const inflate = new Inflate((chunk) => {
    if (produced < out.length) out.set(chunk.subarray(0, out.length - produced), produced)
    produced += chunk.length
  })
  for (let at = 0; at < member.compressedSize && produced <= member.size; at += step) {
    const length = Math.min(step, member.compressedSize - at)
    try {
      // Copied because the inflater keeps bytes it could not use yet.
      inflate.push(copyOf(source.read(member.offset + at, length)), at + length === member.compressedSize)
    } catch (cause) {
      if (!isFflateError(cause)) throw cause
      throw badRequest(`Array ${showName(name)} cannot be inflated: its compressed bytes are damaged.`)
    }
    if (out.length < member.size && produced >= out.length) return produced
  }
  return produced
}

/** Inflates the whole member. Throws bad_request unless it inflates to exactly its declared size. */
export const inflateMember = (source: ByteSource, member: DeflatedMember, name: string): Uint8Array => {
  const out = new Uint8Array(member.size)
  if (inflateInto(source, member, out, name, 16 * 1024) !== member.size)
    throw badRequest(`Array ${showName(name)} does not inflate to the ${member.size} bytes that its archive declares.`)
  return out
}

/** Inflates at most the first `length` bytes of the member. Throws bad_request. */
export const inflateStart = (source: ByteSource, member: DeflatedMember, length: number, name: string): Uint8Array => {
  const out = new Uint8Array(Math.min(length, member.size))
  const produced = inflateInto(source, member, out, name, 512)
  return out.subarray(0, Math.min(produced, out.length))
}
