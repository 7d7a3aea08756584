import { badRequest } from '../domain/errors.ts'
import type { ByteSource, WeightFile } from './weight-file.ts'

/** A bare little-endian float32 vector: one tensor `vector` of shape [n]. Throws bad_request on any other length. */
export const readRaw = (source: ByteSource): WeightFile => {
  if (source.size === 0) throw badRequest('The file is empty. Send the weights of the model.')
  if (source.size % 4 !== 0)
    throw badRequest(
      `The file is no weight file that we know, and its ${source.size} bytes are no float32 vector either ` +
        '(not a multiple of 4). Send .safetensors, .pt, .npz, .npy or raw little-endian float32 values.',
    )
  const shape = [source.size / 4]
  return {
    format: 'raw',
    tensors: [{ name: 'vector', dtype: 'f32', shape, strides: [1], byteOffset: 0, bigEndian: false, deflated: null }],
    members: [],
  }
}
