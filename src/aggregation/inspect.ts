import { badRequest } from '../domain/errors.ts'
import { detectFormat } from '../tensors/detect.ts'
import { type Layout, layoutOf, requireSameLayout } from '../tensors/layout.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { showName } from '../tensors/shape.ts'
import { BYTES_OF, elementCount, isDirect, type Tensor } from '../tensors/weight-file.ts'
import { startsLikeZip } from '../tensors/zip.ts'
import { expandTensor, ScratchFile } from './expand.ts'
import { type OpenFile, openFile, readFully } from './files.ts'
import type { Inspection } from './job.ts'
import { createKernel, isFloat, type Kernel } from './kernel.ts'

const COLUMNS = 65_536

/**
 * Looks at an uploaded weight file before it is kept. With `expected` the file must be a container of that layout;
 * without, any readable one passes, and so do bytes in no container we know (layout null, not scanned).
 * Throws bad_request naming the first difference, the damage, or the tensor and element that is NaN or infinite.
 */
export const inspectFile = async (
  path: string,
  { expected }: { readonly expected: Layout | null },
): Promise<Inspection> => {
  const file = openFile(path, 'r')
  try {
    // A zip that is neither .pt nor .npz is a container that cannot be read, not a vector.
    if (detectFormat(file) === null && !startsLikeZip(file.read(0, Math.min(4, file.size)))) {
      if (expected === null) return { format: 'raw', layout: null }
      throw badRequest(
        `The update is no weight file that we know, but the round's model has ${expected.length} named tensors. ` +
          'Send them as .safetensors, .pt or .pth, .npz or .npy.',
      )
    }
    const weights = readWeights(file)
    if (expected !== null) requireSameLayout(expected, weights, 'The update')
    await requireFinite(path, file, weights.tensors)
    return { format: weights.format, layout: layoutOf(weights) }
  } finally {
    file.close()
  }
}

/** One per thread: a fresh WebAssembly memory costs more than reading a small file. */
let scanner: { readonly kernel: Kernel; readonly row: number } | undefined

const createScanner = () => {
  const kernel = createKernel()
  return { kernel, row: kernel.allocate(COLUMNS * 8) }
}

const requireFinite = async (path: string, file: OpenFile, tensors: readonly Tensor[]): Promise<void> => {
  const { kernel, row } = (scanner ??= createScanner())
  const scanned = new Set<string>()
  for (const tensor of tensors) {
    // Tied tensors are looked at once.
    const place = `${tensor.byteOffset} ${tensor.deflated?.offset} ${tensor.dtype} ${tensor.shape} ${tensor.strides}`
    if (scanned.has(place)) continue
    scanned.add(place)
    if (isDirect(tensor)) scan(file, tensor, tensor.byteOffset, kernel, row)
    else if (isFloat(tensor.dtype)) {
      const scratch = new ScratchFile(`${path}.expanded`)
      try {
        const offset = await expandTensor(path, file, tensor, scratch)
        scan(scratch.file, tensor, offset, kernel, row)
      } finally {
        scratch.remove()
      }
    }
  }
}

const scan = (file: OpenFile, tensor: Tensor, offset: number, kernel: Kernel, row: number): void => {
  const { dtype } = tensor
  if (!isFloat(dtype)) return
  const count = elementCount(tensor.shape)
  for (let start = 0; start < count; start += COLUMNS) {
    const length = Math.min(COLUMNS, count - start)
    readFully(file.fd, kernel.bytes(row, length * BYTES_OF[dtype]), offset + start * BYTES_OF[dtype])
    const index = kernel.firstNonFinite(dtype, row, length)
    if (index !== -1)
      throw badRequest(
        `Tensor ${showName(tensor.name)} holds NaN or infinity at element ${start + index}. ` +
          'Training has diverged: lower the learning rate, or leave this update out.',
      )
  }
}
