import { badRequest } from '../domain/errors.ts'
import { type ByteSource, directTensor, type TensorPlaces } from './weight-file.ts'

/** Reads a bare little-endian float32 vector: one tensor `vector` of shape [n]. Throws bad_request for any other length. */
export const readRaw = (source: ByteSource): TensorPlaces => {
  if (source.size === 0) throw badRequest('The file is empty. Send the weights of the model.')
  if (source.size % 4 !== 0)
    throw badRequest(
      `The file is not in a known weight format, and its ${source.size} bytes are not a float32 vector ` +
        '(not a multiple of 4). Send .safetensors, .pt, .npz, .npy, or raw little-endian float32 values.',
    )
  return { tensors: [directTensor({ name: 'vector', dtype: 'f32', shape: [source.size / 4] }, 0)], members: [] }
}

/** True if the file name declares a bare float32 vector. */
export const namesRawVector = (fileName: string): boolean => /\.f32$/i.test(fileName)

/** The magnitudes of trained weights lie in this range, except for zeros. */
const MIN_PLAUSIBLE = 1e-20
const MAX_PLAUSIBLE = 1e9
/** The fraction of values that may lie outside. */
const OUTLIERS = 1 / 1000

/** Judges, chunk by chunk, whether undeclared bytes are plausible as a float32 vector. */
export const createPlausibility = () => {
  let values = 0
  let outside = 0
  let finite = true
  return {
    /** Adds consecutive values of the file. */
    add(chunk: Float32Array): void {
      values += chunk.length
      for (let i = 0; i < chunk.length; i++) {
        const size = Math.abs(chunk[i]!)
        if (size >= MIN_PLAUSIBLE && size <= MAX_PLAUSIBLE) continue
        if (size === 0) continue
        outside++
        if (!(size < Number.POSITIVE_INFINITY)) finite = false
      }
    },
    /** Returns why the bytes are not plausible, or null if they are. */
    doubt(): string | null {
      if (!finite) return 'read as float32, some values are NaN or infinite'
      if (outside <= values * OUTLIERS) return null
      return `read as float32, ${outside} of ${values} values lie outside ${MIN_PLAUSIBLE} to ${MAX_PLAUSIBLE} in magnitude`
    },
  }
}
