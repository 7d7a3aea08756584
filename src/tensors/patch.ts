import { badRequest } from '../domain/errors.ts'
import { type Crc32, crc32 } from './crc32.ts'
import { overlapsItself, reach, showName } from './shape.ts'
import { copyOf, viewOf } from './sources.ts'
import { blocksOf, copyStrided, swapBytes } from './strided.ts'
import { BYTES_OF, type ByteTarget, byteLength, isDirect, type Tensor, type TensorPlaces } from './weight-file.ts'

const CRC_CHUNK = 1024 * 1024

const sameElements = (a: Tensor, b: Tensor): boolean =>
  a.byteOffset === b.byteOffset &&
  a.dtype === b.dtype &&
  a.shape.length === b.shape.length &&
  a.shape.every((size, axis) => size === b.shape[axis] && (size <= 1 || a.strides[axis] === b.strides[axis]))

/**
 * True if every tensor can accept new values in place: none is deflated, and no two elements share bytes. Tied tensors (two
 * names for exactly the same elements) count as one and must receive the same values.
 */
export const canPatch = (file: TensorPlaces): boolean => {
  if (file.tensors.some((tensor) => tensor.deflated !== null || overlapsItself(tensor))) return false
  const placed = file.tensors.filter(({ shape }) => !shape.includes(0)).sort((a, b) => a.byteOffset - b.byteOffset)
  let end = 0
  let previous: Tensor | undefined
  for (const tensor of placed) {
    if (previous !== undefined && sameElements(previous, tensor)) continue
    // Interleaved views are refused even if no elements overlap; they are too rare to distinguish.
    if (tensor.byteOffset < end) return false
    end = tensor.byteOffset + reach(tensor.shape, tensor.strides) * BYTES_OF[tensor.dtype]
    previous = tensor
  }
  return true
}

/**
 * Writes contiguous, row-major, little-endian elements to a tensor's position in the file, which may be strided or
 * big-endian. Call `seal` afterwards for zip members. Throws bad_request if that is not possible (see canPatch).
 */
export const writeTensorBytes = (target: ByteTarget, tensor: Tensor, bytes: Uint8Array): void => {
  if (tensor.deflated !== null || overlapsItself(tensor))
    throw badRequest(
      `Tensor ${showName(tensor.name)} is compressed or an expanded view; it cannot be written in place.`,
    )
  if (bytes.length !== byteLength(tensor))
    throw badRequest(`Tensor ${showName(tensor.name)} takes ${byteLength(tensor)} bytes, not ${bytes.length}.`)
  if (isDirect(tensor)) {
    target.write(tensor.byteOffset, bytes)
    return
  }
  const itemBytes = BYTES_OF[tensor.dtype]
  const swapped = tensor.bigEndian ? copyOf(bytes) : bytes
  if (tensor.bigEndian) swapBytes(swapped, itemBytes)
  for (const { shape, strides, byteOffset, span, at, steps } of blocksOf(tensor)) {
    // Read first: a strided tensor has other bytes between its elements.
    const place = copyOf(target.read(byteOffset, span * itemBytes))
    copyStrided(itemBytes, shape, { bytes: swapped, at, strides: steps }, { bytes: place, at: 0, strides })
    target.write(byteOffset, place)
  }
}

/**
 * Recomputes the CRC-32 of every zip member that holds tensors, in every field that stores it. Streams, so memory use does
 * not depend on file size. In Node, pass zlib's: `seal(target, file, zlib.crc32)`.
 */
export const seal = (target: ByteTarget, file: Pick<TensorPlaces, 'members'>, crc: Crc32 = crc32): void => {
  for (const { dataOffset, size, crcOffsets } of file.members) {
    let value = 0
    for (let at = 0; at < size; at += CRC_CHUNK)
      value = crc(target.read(dataOffset + at, Math.min(CRC_CHUNK, size - at)), value)
    const field = new Uint8Array(4)
    viewOf(field).setUint32(0, value, true)
    for (const offset of crcOffsets) target.write(offset, field)
  }
}
