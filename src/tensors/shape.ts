import { badRequest } from '../domain/errors.ts'
import { MAX_DIMENSIONS, MAX_NAME_CHARACTERS, MAX_TENSORS, MAX_VIEW_FACTOR, MAX_VIEW_SLACK } from './limits.ts'
import { BYTES_OF, byteLength, type Constant, type DType, type Tensor } from './weight-file.ts'

/** Formats a shape for messages: `[4, 1, 3, 3]`. */
export const showShape = (shape: readonly number[]): string => `[${shape.join(', ')}]`

/** Quotes and truncates an untrusted name, so that messages stay readable. */
export const showName = (name: string): string => JSON.stringify(name.length > 120 ? `${name.slice(0, 117)}...` : name)

/** Validates a shape: integers of at least 0 whose product is exact. Throws bad_request naming the tensor. */
export const requireShape = (value: unknown, name: string): number[] => {
  if (!Array.isArray(value) || value.length > MAX_DIMENSIONS)
    throw badRequest(`Tensor ${showName(name)} has no readable shape (a list of at most ${MAX_DIMENSIONS} sizes).`)
  let count = 1
  for (const size of value as unknown[]) {
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
      throw badRequest(`Tensor ${showName(name)} has a size in its shape that is not a whole number of at least 0.`)
    count *= Math.max(size, 1)
  }
  if (!Number.isSafeInteger(count * 8))
    throw badRequest(`Tensor ${showName(name)} of shape ${showShape(value)} has more elements than can be counted.`)
  return value as number[]
}

/** The number of elements from the first to the last one that a strided view can reach; 0 for an empty view. */
export const reach = (shape: readonly number[], strides: readonly number[]): number => {
  if (shape.includes(0)) return 0
  return shape.reduce((last, size, axis) => last + (size - 1) * strides[axis]!, 0) + 1
}

/**
 * True if two different indices may refer to the same element, so that the tensor cannot accept new values in place:
 * expanded views (a stride of 0) and windows that slide by less than their length.
 */
export const overlapsItself = (tensor: Pick<Tensor, 'shape' | 'strides'>): boolean => {
  if (tensor.shape.includes(0)) return false
  const axes = tensor.shape
    .map((size, axis) => ({ size, stride: tensor.strides[axis]! }))
    .filter(({ size }) => size > 1)
    .sort((a, b) => a.stride - b.stride)
  let covered = 1
  for (const { size, stride } of axes) {
    if (stride < covered) return true
    covered += (size - 1) * stride
  }
  return false
}

export interface View {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly strides: readonly number[]
  /** Elements before element 0. */
  readonly offset: number
}

/** Throws bad_request naming the tensor unless the strided view lies within its storage of `storageBytes`. */
export const requireInside = (view: View, storageBytes: number, name: string): void => {
  const { shape, strides, offset, dtype } = view
  const steps = [offset, ...strides]
  if (strides.length !== shape.length || !steps.every((step) => Number.isSafeInteger(step) && step >= 0))
    throw badRequest(`Tensor ${showName(name)} has invalid strides or an invalid offset for ${showShape(shape)}.`)
  const bytes = (offset + reach(shape, strides)) * BYTES_OF[dtype]
  if (!(bytes <= storageBytes) && !shape.includes(0))
    throw badRequest(
      `Tensor ${showName(name)} of shape ${showShape(shape)} reaches byte ${bytes} of a storage that has only ${storageBytes}.`,
    )
  // Without strides of 0, every element occupies its own bytes. Overlapping windows do not, but count as if they did.
  const dense = shape.reduce((count, size, axis) => (strides[axis] === 0 ? count : count * size), BYTES_OF[dtype])
  if (dense > storageBytes)
    throw badRequest(
      `Tensor ${showName(name)} claims ${dense} bytes of elements from a storage of ${storageBytes}. ` +
        'Call .contiguous() on it before saving.',
    )
}

/** Checks the limits that apply to the whole file, and that names are unique. Throws bad_request. */
export const requireSoundTensors = (
  tensors: readonly Tensor[],
  fileSize: number,
  constants: readonly Constant[] = [],
): void => {
  if (tensors.length === 0)
    throw badRequest('The file contains no tensors. Save the weights themselves (a state dict).')
  if (tensors.length > MAX_TENSORS)
    throw badRequest(`The file contains ${tensors.length} tensors; at most ${MAX_TENSORS} are read.`)
  const names = new Set<string>()
  let characters = 0
  let claimed = 0
  for (const tensor of tensors) {
    if (names.has(tensor.name)) throw badRequest(`The file contains two tensors named ${showName(tensor.name)}.`)
    names.add(tensor.name)
    characters += tensor.name.length
    if (tensor.deflated === null) claimed += byteLength(tensor)
  }
  for (const { name } of constants) {
    if (names.has(name)) throw badRequest(`The file contains two values named ${showName(name)}.`)
    names.add(name)
    characters += name.length
  }
  if (characters > MAX_NAME_CHARACTERS) throw badRequest('The names of the tensors are longer than any model needs.')
  if (claimed > MAX_VIEW_FACTOR * fileSize + MAX_VIEW_SLACK)
    throw badRequest(
      `The tensors claim ${claimed} bytes out of a file of ${fileSize}: too many views share the same storage. ` +
        'Call .contiguous() on expanded tensors before saving.',
    )
}

/** Checks a layout to be written: unique names and valid shapes. Throws bad_request. */
export const requireSoundLayout = (layout: readonly Pick<Tensor, 'name' | 'shape'>[]): void => {
  if (layout.length === 0) throw badRequest('There are no tensors to write.')
  const names = new Set<string>()
  for (const { name, shape } of layout) {
    if (names.has(name)) throw badRequest(`There are two tensors named ${showName(name)}.`)
    names.add(name)
    requireShape(shape, name)
  }
}
