import { badRequest } from '../../domain/errors.ts'
import { decodeElements, encodeElements } from '../../tensors/elements.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { elementCount, type OnnxTensor } from './model.ts'

/** Returns the tensor's elements, row-major. Rounds 64-bit integers beyond 2^53. Throws bad_request for strings. */
export const numbersOf = (tensor: OnnxTensor): Float32Array | Float64Array => {
  if (tensor.type === 'string') throw badRequest('A tensor of strings was found where numbers are expected.')
  if (tensor.type !== 'u4' && tensor.type !== 'i4') return decodeElements(tensor.data, tensor.type)
  const sign = tensor.type === 'i4' ? 8 : 0
  // The first of two elements is in the lower half of the byte.
  return Float32Array.from({ length: elementCount(tensor.shape) }, (_, at) => {
    const nibble = (tensor.data[at >> 1]! >> ((at & 1) * 4)) & 15
    return (nibble ^ sign) - sign
  })
}

/** Creates a tensor from numbers, each rounded to the nearest value of the type. */
export const tensorOf = (type: DType, shape: readonly number[], values: ArrayLike<number>): OnnxTensor => {
  if (elementCount(shape) !== values.length) {
    throw badRequest(`${values.length} values do not fill the shape [${shape.join(', ')}].`)
  }
  return { type, shape, data: encodeElements(values, type) }
}

export const stringTensorOf = (shape: readonly number[], values: readonly string[]): OnnxTensor => ({
  type: 'string',
  shape,
  data: new Uint8Array(0),
  strings: values.map((value) => new TextEncoder().encode(value)),
})

export const scalarOf = (type: DType, value: number): OnnxTensor => tensorOf(type, [], [value])
