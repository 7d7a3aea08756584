import { badRequest } from '../domain/errors.ts'
import type { ContainerPlan, TensorData } from './container-plan.ts'
import { type Layout, onlyTensor } from './layout.ts'
import { directTensor, elementCount } from './weight-file.ts'

/** Plans a raw vector, which holds only the values of one float32 tensor. Throws bad_request for any other layout. */
export const planRaw = (layout: Layout): ContainerPlan => {
  const { dtype, shape } = onlyTensor(layout, 'A raw vector')
  if (dtype !== 'f32') throw badRequest('A raw vector contains float32 values only.')
  const count = elementCount(shape)
  if (!(count > 0)) throw badRequest('A raw vector needs at least one value.')
  return {
    file: { tensors: [directTensor({ name: 'vector', dtype, shape: [count] }, 0)], members: [] },
    size: count * 4,
    pieces: [],
  }
}

/** Returns the bytes of a raw vector, which is a single float32 tensor. Throws bad_request for anything else. */
export const writeRaw = (tensors: readonly TensorData[]): Uint8Array<ArrayBuffer> => {
  const [only] = tensors
  if (tensors.length !== 1 || only?.dtype !== 'f32')
    throw badRequest('A raw vector contains exactly one float32 tensor. Use safetensors for more.')
  return new Uint8Array(only.data)
}
