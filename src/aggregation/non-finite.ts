import { conflict, type ServiceError } from '../domain/errors.ts'
import { showName } from '../tensors/shape.ts'
import { isFloat, type Kernel } from './kernel.ts'
import type { Chunk } from './strategy.ts'

/** The first row and element of a chunk that is infinite or NaN, as a conflict; null when all are finite. */
export const firstNonFinite = (kernel: Kernel, chunk: Chunk, address: number): ServiceError | null => {
  for (let row = 0; row < chunk.rows && isFloat(chunk.dtype); row++) {
    chunk.load(row, address)
    const index = kernel.firstNonFinite(chunk.dtype, address, chunk.length)
    if (index !== -1)
      return conflict(
        `The ${chunk.nameOf(row)} holds NaN or infinity in tensor ${showName(chunk.tensor)} at element ` +
          `${chunk.start + index}. Nothing was aggregated; its training diverged.`,
      )
  }
  return null
}

/**
 * Why a chunk's result is not finite: the first row and element that is infinite or NaN, or else that finite values led
 * out of the range of f64 or of the tensor's type. `address` is a row buffer.
 */
export const blameNonFinite = (kernel: Kernel, chunk: Chunk, address: number): ServiceError =>
  firstNonFinite(kernel, chunk, address) ??
  conflict(
    chunk.dtype === 'f64'
      ? `The weighted sum of tensor ${showName(chunk.tensor)} exceeds the range of 64-bit floats. Nothing was aggregated.`
      : `The new values of tensor ${showName(chunk.tensor)} exceed the range of its type, ${chunk.dtype}. ` +
          'Nothing was aggregated: lower the server learning rate or the noise.',
  )
