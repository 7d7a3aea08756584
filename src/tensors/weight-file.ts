export const BYTES_OF = {
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
} as const

/** Element types that can be read and written. `bool` is one byte, 0 or 1. */
export type DType = keyof typeof BYTES_OF

/**
 * Random access to a file's bytes: a file descriptor in Node, an ArrayBuffer in a browser. Synchronous, so that parsers are
 * plain functions. `read` returns exactly `length` bytes or throws; the result may alias the source.
 */
export interface ByteSource {
  readonly size: number
  read(offset: number, length: number): Uint8Array
}

/** A byte source that can be patched in place. */
export interface ByteTarget extends ByteSource {
  write(offset: number, bytes: Uint8Array): void
}

/** A deflated zip member, whose elements can only be accessed by inflating it. */
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
  /** Strides in elements, one per dimension. */
  readonly strides: readonly number[]
  /** Byte offset of element 0: absolute in the file, or inside the inflated member when `deflated` is set. */
  readonly byteOffset: number
  readonly bigEndian: boolean
  readonly deflated: DeflatedMember | null
}

/** The positions of all tensors in a file, in file order. */
export interface TensorPlaces {
  readonly tensors: readonly Tensor[]
  /** Zip members whose CRC-32 covers tensor bytes; recomputed by `seal` after a patch. Empty for other containers. */
  readonly members: readonly ZipMember[]
  /** Values that must be the same in every file of a round and are never averaged; none if absent. */
  readonly constants?: readonly Constant[]
  /** Groups of tensors with their own merge rules; none if absent. */
  readonly statistics?: readonly Statistic[]
  /** Why averaging these files requires a round that begins with a model; if absent, it does not. */
  readonly needsModel?: string
}

/** What an estimator counted in its data. Several are merged exactly, because a mean would be wrong. */
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
  /** Tensor names by scikit-learn attribute. */
  readonly tensors: Readonly<Record<string, string>>
  /** Attributes that are constants and therefore the same in every file. */
  readonly options: Readonly<Record<string, unknown>>
}

/** A value other than a weight, such as the order of classes, represented by a checksum of its bytes. */
export interface Constant {
  readonly name: string
  readonly digest: string
}

/** The positions of a stored zip member's data and of all copies of its CRC-32. */
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

/** Column-major strides, in elements: the first dimension steps by 1. */
export const columnMajorStrides = (shape: readonly number[]): number[] =>
  rowMajorStrides([...shape].reverse()).reverse()

/** A tensor whose elements are contiguous, row-major, and little-endian from `byteOffset` on. */
export const directTensor = (
  { name, dtype, shape }: Pick<Tensor, 'name' | 'dtype' | 'shape'>,
  byteOffset: number,
): Tensor => ({ name, dtype, shape, strides: rowMajorStrides(shape), byteOffset, bigEndian: false, deflated: null })

/** True if the elements are contiguous, row-major, and little-endian in the file, so that they can be read as they are. */
export const isDirect = (tensor: Tensor): boolean => {
  if (tensor.deflated !== null || tensor.bigEndian) return false
  const expected = rowMajorStrides(tensor.shape)
  return tensor.shape.every((size, axis) => size <= 1 || tensor.strides[axis] === expected[axis])
}
