import { badRequest } from '../domain/errors.ts'
import { MAX_NPY_HEADER } from './limits.ts'
import { requireShape, showName } from './shape.ts'
import { decodeLatin1, readExactly, viewOf } from './sources.ts'
import {
  BYTES_OF,
  type ByteSource,
  byteLength,
  columnMajorStrides,
  type DType,
  rowMajorStrides,
  type Tensor,
} from './weight-file.ts'

/** The header of a .npy array. Source: numpy.lib.format, versions 1.0 to 3.0. */
export interface NpyHeader {
  readonly dtype: DType
  readonly bigEndian: boolean
  readonly shape: readonly number[]
  readonly strides: readonly number[]
  /** Bytes before element 0. */
  readonly length: number
}

/** Element types by NumPy's codes, without the byte order. */
export const NUMPY_DTYPES: ReadonlyMap<string, DType> = new Map([
  ['f8', 'f64'],
  ['f4', 'f32'],
  ['f2', 'f16'],
  ['i8', 'i64'],
  ['i4', 'i32'],
  ['i2', 'i16'],
  ['i1', 'i8'],
  ['u8', 'u64'],
  ['u4', 'u32'],
  ['u2', 'u16'],
  ['u1', 'u8'],
  ['b1', 'bool'],
])

const READABLE = 'float64, float32, float16, integers, and bool'

export const startsLikeNpy = (head: Uint8Array): boolean =>
  head.length >= 6 && head[0] === 0x93 && String.fromCharCode(...head.subarray(1, 6)) === 'NUMPY'

/** Computes the offset of element 0 in the array from its first 12 bytes. Throws bad_request. */
export const npyHeaderLength = (head: Uint8Array, name: string): number => {
  if (head.length < 12 || !startsLikeNpy(head)) throw badRequest(`Array ${showName(name)} is not a .npy array.`)
  const major = head[6]!
  if (major < 1 || major > 3) throw badRequest(`Array ${showName(name)} has the unknown .npy version ${major}.`)
  const view = viewOf(head)
  const length = major === 1 ? 10 + view.getUint16(8, true) : 12 + view.getUint32(8, true)
  if (length > MAX_NPY_HEADER)
    throw badRequest(`Array ${showName(name)} has a header of ${length} bytes, which is too long.`)
  return length
}

/** Parses the whole header, `npyHeaderLength` bytes. The dict is matched, never evaluated. Throws bad_request. */
export const parseNpyHeader = (header: Uint8Array, name: string): NpyHeader => {
  const text = decodeLatin1(header.subarray(header[6] === 1 ? 10 : 12))
  const descr = /['"]descr['"]\s*:\s*['"]([^'"]*)['"]/.exec(text)?.[1]
  const order = /['"]fortran_order['"]\s*:\s*(True|False)/.exec(text)?.[1]
  const sizes = /['"]shape['"]\s*:\s*\(([^()]*)\)/.exec(text)?.[1]
  if (descr === undefined || order === undefined || sizes === undefined)
    throw badRequest(
      `Array ${showName(name)} has a header that cannot be read, or structured elements. Save plain arrays.`,
    )
  const dtype = NUMPY_DTYPES.get(descr.replace(/^[<>|=]/, ''))
  if (dtype === undefined || !/^[<>|=]/.test(descr)) {
    const reason = descr.includes('O') ? 'pickled Python objects, which are never loaded' : `elements of type ${descr}`
    throw badRequest(`Array ${showName(name)} contains ${reason.slice(0, 80)}; supported types are ${READABLE}.`)
  }
  // Python 2 wrote sizes as 3L.
  const items = sizes.split(',').map((item) => item.trim().replace(/L$/, ''))
  if (items.at(-1) === '') items.pop()
  const shape = requireShape(
    items.map((item) => (/^\d{1,16}$/.test(item) ? Number(item) : Number.NaN)),
    name,
  )
  const strides = order === 'True' ? columnMajorStrides(shape) : rowMajorStrides(shape)
  return { dtype, bigEndian: descr.startsWith('>') && BYTES_OF[dtype] > 1, shape, strides, length: header.length }
}

/** Throws bad_request unless the array exactly fills its file or member. */
export const requireNpySize = (header: NpyHeader, size: number, name: string): void => {
  const needed = header.length + byteLength(header)
  if (needed > size)
    throw badRequest(
      `Array ${showName(name)} is truncated: its header promises ${needed} bytes, but there are ${size}.`,
    )
  if (needed < size)
    throw badRequest(
      `Array ${showName(name)} is followed by ${size - needed} bytes that its header does not account for.`,
    )
}

/** Locates the uncompressed .npy array in bytes [offset, offset + size) of the file. Throws bad_request. */
export const readNpyAt = (source: ByteSource, offset: number, size: number, name: string): Tensor => {
  const length = npyHeaderLength(readExactly(source, offset, Math.min(12, size), `array ${showName(name)}`), name)
  const header = readExactly(source, offset, Math.min(length, size), `the header of array ${showName(name)}`)
  if (header.length < length) throw badRequest(`Array ${showName(name)} is truncated inside its header.`)
  const parsed = parseNpyHeader(header, name)
  requireNpySize(parsed, size, name)
  const { dtype, bigEndian, shape, strides } = parsed
  return { name, dtype, shape, strides, byteOffset: offset + length, bigEndian, deflated: null }
}

/** A .npy file: one tensor named `array`. Throws bad_request. */
export const readNpy = (source: ByteSource): Tensor => readNpyAt(source, 0, source.size, 'array')
