import { badRequest } from '../../domain/errors.ts'
import { encodeElements, readTensorFloats } from '../../tensors/elements.ts'
import { readWeights } from '../../tensors/read-weights.ts'
import { bytesSource } from '../../tensors/sources.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { writeSafetensors } from '../../tensors/write-safetensors.ts'
import type { NamedTensor } from './dense-network.ts'

/** A model to train: its values, and each tensor's type in files. */
export interface Model {
  readonly tensors: readonly NamedTensor[]
  readonly dtypes: ReadonlyMap<string, DType>
}

const FLOATS: readonly DType[] = ['f64', 'f32', 'f16', 'bf16']

/**
 * Decodes a weight file in any supported container. Throws bad_request if the file cannot be read or has an integer tensor,
 * which cannot be trained.
 */
export const decodeModel = (bytes: Uint8Array): Model => {
  const source = bytesSource(bytes)
  const { tensors } = readWeights(source)
  const whole = tensors.find((tensor) => !FLOATS.includes(tensor.dtype))
  if (whole) {
    throw badRequest(
      `Tensor '${whole.name}' has type ${whole.dtype}; the built-in trainer trains floating point only. ` +
        'Use --trainer "command" for this model.',
    )
  }
  return {
    tensors: tensors.map((tensor) => ({
      name: tensor.name,
      shape: tensor.shape,
      data: Float64Array.from(readTensorFloats(source, tensor)),
    })),
    dtypes: new Map(tensors.map((tensor) => [tensor.name, tensor.dtype])),
  }
}

/** Encodes tensors as a .safetensors file, each with its type in the original model; new ones are float32. */
export const encodeModel = (tensors: readonly NamedTensor[], dtypes: Model['dtypes']): Uint8Array<ArrayBuffer> => {
  const file = writeSafetensors(
    tensors.map(({ name, shape, data }) => {
      const dtype = dtypes.get(name) ?? 'f32'
      return { name, shape, dtype, data: encodeElements(data, dtype) }
    }),
  )
  return file as Uint8Array<ArrayBuffer>
}
