import { badRequest } from '../domain/errors.ts'
import type { ContainerPlan, TensorData } from './container-plan.ts'

/** A raw vector of `count` float32 values: nothing but the values. Throws bad_request for none. */
export const planRaw = (count: number): ContainerPlan => {
  if (!(count > 0)) throw badRequest('A raw vector needs at least one value.')
  const vector = { name: 'vector', dtype: 'f32', shape: [count], strides: [1], byteOffset: 0 } as const
  return {
    file: { format: 'raw', tensors: [{ ...vector, bigEndian: false, deflated: null }], members: [] },
    size: count * 4,
    pieces: [],
  }
}

/** The bytes of the one float32 tensor that a raw vector is. Throws bad_request for anything else. */
export const writeRaw = (tensors: readonly TensorData[]): Uint8Array => {
  const [only] = tensors
  if (tensors.length !== 1 || only?.dtype !== 'f32')
    throw badRequest('A raw vector holds exactly one float32 tensor. Use safetensors for more.')
  return new Uint8Array(only.data)
}
