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
  (chunk.dtype === 'f64'
    ? beyondRange(kernel, chunk, address, `The weighted sum of tensor ${showName(chunk.tensor)}`)
    : conflict(
        `The new values of tensor ${showName(chunk.tensor)} exceed the range of its type, ${chunk.dtype}. ` +
          'Nothing was aggregated: lower the server learning rate or the noise.',
      ))

/** Why a vector that the strategy keeps for the next round is not finite, though the result is; as `blameNonFinite`. */
export const blameState = (kernel: Kernel, chunk: Chunk, vector: number, address: number): ServiceError => {
  const what = `What the strategy keeps for tensor ${showName(chunk.tensor)} between rounds`
  chunk.loadState(vector, address)
  if (kernel.firstNonFinite('f64', address, chunk.length) === -1) return beyondRange(kernel, chunk, address, what)
  return conflict(
    `${what} has held NaN or infinity since an earlier round, which stops its training. Nothing was aggregated: start another ` +
      'job from the last result.',
  )
}

/** `what` exceeds the range of f64, with the value that contributed most to it where rows hold f64. */
const beyondRange = (kernel: Kernel, chunk: Chunk, address: number, what: string): ServiceError => {
  let most = { value: 0, row: 0, element: 0 }
  for (let row = 0; row < chunk.rows && chunk.dtype === 'f64'; row++) {
    chunk.load(row, address)
    const values = new Float64Array(kernel.bytes(address, 0).buffer, address, chunk.length)
    for (const [i, value] of values.entries())
      if (Math.abs(value) > Math.abs(most.value)) most = { value, row, element: chunk.start + i }
  }
  const largest =
    most.value === 0
      ? ''
      : ` The largest value, ${most.value}, is element ${most.element} of the ${chunk.nameOf(most.row)}; its training diverged.`
  return conflict(`${what} exceeds the range of 64-bit floats. Nothing was aggregated.${largest}`)
}
