import { InferenceError } from '../errors.ts'

/** Scales a vector to length 1 (L2). @throws InferenceError engine_failed if it contains a number that is not finite */
export const unitVector = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector)
  if (!Number.isFinite(length)) {
    throw new InferenceError(
      'engine_failed',
      'The model produced NaN or infinite values for this text. Use another precision or quantization of the model.',
    )
  }
  return length === 0 ? vector : vector.map((value) => value / length)
}
