import { conflict, type ServiceError } from '../domain/errors.ts'
import { showName } from '../tensors/shape.ts'
import { isFloat, type Kernel } from './kernel.ts'
import type { Chunk } from './strategy.ts'

/** Names neither the device nor its values, because no privacy budget covers that. */
const DIVERGED =
  'An update contains NaN or infinity: its training diverged. Nothing was aggregated. Lower the learning rate of the devices; a private ' +
  'round does not tell which device it was.'

/** Returns a conflict naming the first infinite or NaN element of a chunk, or null if all are finite. */
export const firstNonFinite = (kernel: Kernel, chunk: Chunk, address: number): ServiceError | null => {
  for (let row = 0; row < chunk.rows && isFloat(chunk.dtype); row++) {
    chunk.load(row, address)
    const index = kernel.firstNonFinite(chunk.dtype, address, chunk.length)
    if (index !== -1 && chunk.isPrivate) return conflict(DIVERGED)
    if (index !== -1)
      return conflict(
        `The ${chunk.nameOf(row)} contains NaN or infinity in tensor ${showName(chunk.tensor)} at element ` +
          `${chunk.start + index}. Nothing was aggregated; its training diverged.`,
      )
  }
  return null
}

/**
 * Explains why a chunk's result is not finite: the first infinite or NaN element of a row, otherwise finite values that
 * exceed the range of f64 or of the tensor's type. `address` is a row buffer.
 */
export const nonFiniteError = (kernel: Kernel, chunk: Chunk, address: number): ServiceError =>
  firstNonFinite(kernel, chunk, address) ??
  (chunk.dtype === 'f64'
    ? beyondRange(kernel, chunk, address, `The weighted sum of tensor ${showName(chunk.tensor)}`)
    : beyondType(chunk))

export const beyondType = ({ tensor, dtype }: { readonly tensor: string; readonly dtype: string }): ServiceError =>
  conflict(
    `The new values of tensor ${showName(tensor)} exceed the range of its type, ${dtype}. ` +
      'Nothing was aggregated: lower the server learning rate or the noise.',
  )

/** Like `nonFiniteError`, for a non-finite state vector of the strategy although the result is finite. */
export const nonFiniteStateError = (kernel: Kernel, chunk: Chunk, vector: number, address: number): ServiceError => {
  const what = `The state that the strategy keeps for tensor ${showName(chunk.tensor)} between rounds`
  chunk.loadState(vector, address)
  if (kernel.firstNonFinite('f64', address, chunk.length) === -1) return beyondRange(kernel, chunk, address, what)
  return conflict(
    `${what} has contained NaN or infinity since an earlier round, so the tensor can no longer be trained. Nothing was aggregated: start another ` +
      'job from the last result.',
  )
}

/**
 * An error for `what` exceeding the range of f64; names the element that contributed most if rows hold f64, but not its value,
 * because all members of a federation read the error.
 */
const beyondRange = (kernel: Kernel, chunk: Chunk, address: number, what: string): ServiceError => {
  const overflow = `${what} exceeds the range of 64-bit floats. Nothing was aggregated`
  if (chunk.isPrivate)
    return conflict(
      `${overflow}: lower the server learning rate or, in a round with differential privacy, the clip norm or the noise.`,
    )
  let most = { value: 0, row: 0, element: 0 }
  for (let row = 0; row < chunk.rows && chunk.dtype === 'f64'; row++) {
    chunk.load(row, address)
    for (const [i, value] of kernel.doubles(address, chunk.length).entries())
      if (Math.abs(value) > Math.abs(most.value)) most = { value, row, element: chunk.start + i }
  }
  const largest =
    most.value === 0
      ? ''
      : ` The largest value is element ${most.element} of the ${chunk.nameOf(most.row)}; its training diverged.`
  return conflict(`${overflow}.${largest}`)
}
