import { createReadStream } from 'node:fs'
import { createInflateRaw } from 'node:zlib'
import { badRequest } from '../domain/errors.ts'
import { readTensorBytes } from '../tensors/elements.ts'
import { showName } from '../tensors/shape.ts'
import { BYTES_OF, type DeflatedMember, elementCount, isDirect, type Tensor } from '../tensors/weight-file.ts'
import type { OpenFile, ScratchFile } from './files.ts'

/** Limits the memory for gathering a strided tensor. */
export const SLICE_BYTES = 32 * 1024 * 1024

const inflateInto = async (path: string, member: DeflatedMember, name: string, scratch: ScratchFile): Promise<void> => {
  const compressed = createReadStream(path, { start: member.offset, end: member.offset + member.compressedSize - 1 })
  const inflate = createInflateRaw()
  compressed.on('error', (error) => inflate.destroy(error)).pipe(inflate)
  const start = scratch.end
  try {
    for await (const bytes of inflate as AsyncIterable<Uint8Array>) {
      // Stops a bomb at its declared size, which the reader has checked.
      if (scratch.end - start + bytes.length > member.size) break
      scratch.append(bytes)
    }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_'))) throw cause
    throw badRequest(`Array ${showName(name)} cannot be inflated: its compressed bytes are damaged.`)
  } finally {
    compressed.destroy()
  }
  if (scratch.end - start !== member.size || !inflate.readableEnded)
    throw badRequest(`Array ${showName(name)} does not inflate to the ${member.size} bytes that its archive declares.`)
}

/** Part of a tensor, itself a tensor: elements [start, start + its count) in row-major order. */
interface Slice {
  readonly tensor: Tensor
  readonly start: number
}

/** Splits a tensor with any strides into row-major parts of at most `most` elements. Yields nothing for an empty tensor. */
export function* slicesOf(tensor: Tensor, most: number): Generator<Slice> {
  const count = elementCount(tensor.shape)
  if (count <= most) {
    if (count > 0) yield { tensor, start: 0 }
    return
  }
  const [size, ...innerShape] = tensor.shape
  const [stride, ...innerStrides] = tensor.strides
  const step = stride! * BYTES_OF[tensor.dtype]
  const inner = count / size!
  const group = Math.floor(most / inner)
  for (let at = 0; at < size!; at += Math.max(group, 1)) {
    const byteOffset = tensor.byteOffset + at * step
    if (group > 0)
      yield {
        tensor: { ...tensor, byteOffset, shape: [Math.min(group, size! - at), ...innerShape] },
        start: at * inner,
      }
    else
      for (const { tensor: part, start } of slicesOf(
        { ...tensor, byteOffset, shape: innerShape, strides: innerStrides },
        most,
      ))
        yield { tensor: part, start: at * inner + start }
  }
}

/**
 * Appends a compressed, strided, or big-endian tensor to a scratch file, contiguous and little-endian, and returns its byte
 * offset there. Memory is bounded by SLICE_BYTES. Throws bad_request for damaged compressed bytes.
 */
export const expandTensor = async (
  path: string,
  file: OpenFile,
  tensor: Tensor,
  scratch: ScratchFile,
): Promise<number> => {
  let placed = tensor
  let source = file
  if (tensor.deflated !== null) {
    const start = scratch.end
    await inflateInto(path, tensor.deflated, tensor.name, scratch)
    placed = { ...tensor, deflated: null, byteOffset: start + tensor.byteOffset }
    source = scratch.file
    if (isDirect(placed)) return placed.byteOffset
  }
  const start = scratch.end
  for (const slice of slicesOf(placed, SLICE_BYTES / BYTES_OF[tensor.dtype]))
    scratch.append(readTensorBytes(source, slice.tensor))
  return start
}
