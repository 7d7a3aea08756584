import { badRequest } from '../domain/errors.ts'
import { inflateStart } from './inflate.ts'
import { MAX_DEFLATE_RATIO, MAX_DEFLATED_MEMBERS, type ReadLimits } from './limits.ts'
import { npyHeaderLength, parseNpyHeader, readNpyAt, requireNpySize } from './npy.ts'
import { showName } from './shape.ts'
import type { ByteSource, DeflatedMember, Tensor, TensorPlaces } from './weight-file.ts'
import type { ZipEntry } from './zip.ts'

const SUFFIX = '.npy'
const USUAL_HEADER = 256

const readDeflated = (source: ByteSource, entry: ZipEntry, name: string): Tensor => {
  if (entry.size > entry.compressedSize * MAX_DEFLATE_RATIO)
    throw badRequest(
      `Array ${showName(name)} claims to inflate from ${entry.compressedSize} to ${entry.size} bytes, ` +
        'which exceeds the possible compression ratio. The file is refused.',
    )
  const member: DeflatedMember = { offset: entry.dataOffset, compressedSize: entry.compressedSize, size: entry.size }
  const guess = inflateStart(source, member, USUAL_HEADER, name)
  const length = npyHeaderLength(guess, name)
  const start = length <= guess.length ? guess.subarray(0, length) : inflateStart(source, member, length, name)
  if (start.length < length) throw badRequest(`Array ${showName(name)} is truncated inside its header.`)
  const header = parseNpyHeader(start, name)
  requireNpySize(header, entry.size, name)
  const { dtype, shape, strides, bigEndian } = header
  return { name, dtype, shape, strides, byteOffset: length, bigEndian, deflated: member }
}

/**
 * Reads NumPy's .npz: a zip of .npy arrays, stored or deflated. Tensors have the names of their members without `.npy`.
 * Throws bad_request, also for archives that claim to inflate beyond the limits.
 */
export const readNpz = (source: ByteSource, entries: readonly ZipEntry[], limits: ReadLimits): TensorPlaces => {
  const deflated = entries.filter(({ method }) => method === 'deflated')
  if (deflated.length > MAX_DEFLATED_MEMBERS)
    throw badRequest(`The .npz has ${deflated.length} compressed arrays. Save them uncompressed (numpy.savez).`)
  const inflated = deflated.reduce((sum, { size }) => sum + size, 0)
  if (inflated > limits.maxInflatedBytes)
    throw badRequest(
      `The arrays claim to inflate to ${inflated} bytes; at most ${limits.maxInflatedBytes} are read. ` +
        'Save them uncompressed (numpy.savez).',
    )
  const tensors = entries.map((entry) => {
    if (!entry.name.endsWith(SUFFIX))
      throw badRequest(`Member ${showName(entry.name)} of this .npz is not an array. Save arrays only.`)
    const name = entry.name.slice(0, -SUFFIX.length)
    return entry.method === 'stored'
      ? readNpyAt(source, entry.dataOffset, entry.size, name)
      : readDeflated(source, entry, name)
  })
  const members = entries
    .filter(({ method }) => method === 'stored')
    .map(({ name, dataOffset, size, crcOffsets }) => ({ name, dataOffset, size, crcOffsets }))
  return { tensors, members }
}
