/** Element types we read and write. `bool` is one byte, 0 or 1. */
export type DType =
  | 'f64'
  | 'f32'
  | 'f16'
  | 'bf16'
  | 'i64'
  | 'i32'
  | 'i16'
  | 'i8'
  | 'u64'
  | 'u32'
  | 'u16'
  | 'u8'
  | 'bool'

export const BYTES_OF: Readonly<Record<DType, number>> = {
  f64: 8,
  f32: 4,
  f16: 2,
  bf16: 2,
  i64: 8,
  i32: 4,
  i16: 2,
  i8: 1,
  u64: 8,
  u32: 4,
  u16: 2,
  u8: 1,
  bool: 1,
}

/**
 * Random access to a file's bytes. Synchronous, so that every parser is a plain function: a file descriptor in Node,
 * an ArrayBuffer in a browser. `read` returns exactly `length` bytes or throws; the result may alias the source.
 */
export interface ByteSource {
  readonly size: number
  read(offset: number, length: number): Uint8Array
}

/** A byte source that can also be patched in place. */
export interface ByteTarget extends ByteSource {
  write(offset: number, bytes: Uint8Array): void
}

/** A deflated zip member: its elements are not addressable in the file, only by inflating the whole member. */
export interface DeflatedMember {
  /** Absolute byte offset of the deflate stream in the file. */
  readonly offset: number
  readonly compressedSize: number
  readonly size: number
}

export interface Tensor {
  readonly name: string
  readonly dtype: DType
  /** Dimensions; `[]` is a scalar with one element. */
  readonly shape: readonly number[]
  /** Steps in elements, one per dimension. */
  readonly strides: readonly number[]
  /** Byte offset of element 0: absolute in the file, or inside the inflated member when `deflated` is set. */
  readonly byteOffset: number
  readonly bigEndian: boolean
  readonly deflated: DeflatedMember | null
}

/** Where each tensor's bytes are in a file, in the file's order. */
export interface TensorPlaces {
  readonly tensors: readonly Tensor[]
  /** Zip members whose CRC-32 covers tensor bytes; recomputed by `seal` after a patch. Empty for other containers. */
  readonly members: readonly ZipMember[]
  /** What must be the same in every file of a round, and is never averaged; absent: nothing. */
  readonly constants?: readonly Constant[]
  /** Groups of tensors that are merged by rules of their own; absent: none. */
  readonly statistics?: readonly Statistic[]
  /** Why files of a round can be averaged only where it begins with a model; absent: they always can. */
  readonly needsModel?: string
}

/** What an estimator counted in its data: merged exactly from several, where a mean would be wrong. */
export interface Statistic {
  /** For messages. */
  readonly name: string
  readonly kind:
    | 'standard_scaler'
    | 'min_max_scaler'
    | 'max_abs_scaler'
    | 'gaussian_nb'
    | 'multinomial_nb'
    | 'bernoulli_nb'
    | 'complement_nb'
  /** The names of its tensors by scikit-learn's attributes. */
  readonly tensors: Readonly<Record<string, string>>
  /** Attributes that are the same in every file, being constants. */
  readonly options: Readonly<Record<string, unknown>>
}

/** A value beside the weights, such as the order of classes, by a checksum of its bytes. */
export interface Constant {
  readonly name: string
  readonly digest: string
}

/** Where a stored zip member keeps its data and the places that repeat its CRC-32. */
export interface ZipMember {
  readonly name: string
  readonly dataOffset: number
  readonly size: number
  /** Absolute byte offsets of every CRC-32 field of this member: local header, data descriptor, central directory. */
  readonly crcOffsets: readonly number[]
}

export const elementCount = (shape: readonly number[]): number => shape.reduce((count, size) => count * size, 1)

export const byteLength = (tensor: Pick<Tensor, 'shape' | 'dtype'>): number =>
  elementCount(tensor.shape) * BYTES_OF[tensor.dtype]

/** Row-major strides, in elements: the last dimension steps by 1. */
export const rowMajorStrides = (shape: readonly number[]): number[] => {
  const strides = new Array<number>(shape.length)
  let step = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step
    step *= shape[axis]!
  }
  return strides
}

/** True when the elements lie in the file one after another, row-major and little-endian: readable as they stand. */
export const isDirect = (tensor: Tensor): boolean => {
  if (tensor.deflated !== null || tensor.bigEndian) return false
  const expected = rowMajorStrides(tensor.shape)
  return tensor.shape.every((size, axis) => size <= 1 || tensor.strides[axis] === expected[axis])
}
