// NumPy's objects in a pickle, as plain data. Source: numpy/_core/src/multiarray/methods.c (array_reduce, array_setstate).
import { badRequest } from '../domain/errors.ts'
import { decodeElements, readTensorFloats } from './elements.ts'
import { MAX_DIMENSIONS } from './limits.ts'
import { NUMPY_DTYPES } from './npy.ts'
import { isKind, isSize, type PickleObject, type PickleValue } from './pickle-value.ts'
import { bytesSource, readExactly, viewOf } from './sources.ts'
import { type ByteSource, columnMajorStrides, type DType, elementCount, rowMajorStrides } from './weight-file.ts'

/** A bytes object: its position in the source, or its content if the pickle encodes it as text. */
export interface PickledBytes extends PickleObject {
  readonly kind: 'bytes'
  readonly offset: number
  readonly length: number
  /** Set for protocol 2, which has no bytes objects; such content cannot be patched in place. */
  readonly content: Uint8Array | null
}

/** A dtype. `type` is NumPy's code: f, i, u, b (numbers), U, S (strings), O (objects), V (records). */
export interface NumpyType extends PickleObject {
  readonly kind: 'dtype'
  readonly type: string
  readonly size: number
  bigEndian: boolean
  /** Set for record types. */
  fields: ReadonlyMap<string, { readonly type: NumpyType; readonly offset: number }> | null
}

export interface NumpyArray extends PickleObject {
  readonly kind: 'array'
  shape: readonly number[]
  type: NumpyType | null
  columnMajor: boolean
  /** Null for arrays of objects. */
  bytes: PickledBytes | null
  /** The elements of an array of objects, in row-major order. */
  items: readonly PickleValue[]
}

export const isArray = (value: unknown): value is NumpyArray => isKind<NumpyArray>(value, 'array')
export const isNumpyType = (value: unknown): value is NumpyType => isKind<NumpyType>(value, 'dtype')
export const isBytes = (value: unknown): value is PickledBytes => isKind<PickledBytes>(value, 'bytes')

const damaged = (what: string) => badRequest(`The pickle is damaged: ${what}.`)

/** Interprets `numpy.dtype(code, align, copy)`. The byte order is in its state. */
export const numpyTypeOf = (args: readonly PickleValue[]): NumpyType => {
  const [type, size] = typeof args[0] === 'string' ? (/^([fiubUSOVcMm])(\d{0,9})$/.exec(args[0])?.slice(1) ?? []) : []
  if (type === undefined) throw damaged('it has an array of an unknown type')
  return { kind: 'dtype', type, size: Number(size) * (type === 'U' ? 4 : 1), bigEndian: false, fields: null }
}

const MAX_FIELDS = 64
/** Maximum bytes of a scalar, because a pickle can repeat one at the cost of a few bytes. */
const MAX_SCALAR = 256

/** The state of a dtype: (version, byte order, subarray, names, fields, size, alignment, flags). */
export const setTypeState = (target: NumpyType, state: PickleValue): void => {
  const [, order, subarray, , fields] = Array.isArray(state) ? state : []
  if (typeof order !== 'string' || (subarray ?? null) !== null) throw damaged('a dtype has an unknown state')
  target.bigEndian = order === '>'
  if (!(fields instanceof Map)) return
  if (fields.size > MAX_FIELDS) throw damaged(`a record has more than ${MAX_FIELDS} fields`)
  target.fields = new Map(
    [...fields].map(([name, field]) => {
      const [type, offset] = Array.isArray(field) ? field : []
      if (typeof name !== 'string' || !isNumpyType(type) || !isSize(offset) || offset + type.size > target.size)
        throw damaged('a record has a malformed field')
      return [name, { type, offset }]
    }),
  )
}

export const shapeOf = (value: PickleValue | undefined): number[] => {
  if (!Array.isArray(value) || value.length > MAX_DIMENSIONS || !value.every(isSize))
    throw damaged('the shape of an array is not a list of sizes')
  if (!Number.isSafeInteger(elementCount(value as number[])))
    throw damaged('an array has more elements than can be counted')
  return [...(value as number[])]
}

export const emptyArray = (): NumpyArray => ({
  kind: 'array',
  shape: [],
  type: null,
  columnMajor: false,
  bytes: null,
  items: [],
})

/** Fills in an array, whose elements must match its shape exactly. Throws bad_request. */
export const fillArray = (
  target: NumpyArray,
  type: PickleValue | undefined,
  shape: readonly number[],
  columnMajor: boolean,
  elements: PickleValue | undefined,
): NumpyArray => {
  if (!isNumpyType(type)) throw damaged('an array has no dtype')
  const count = elementCount(shape)
  const fits =
    type.type === 'O'
      ? Array.isArray(elements) && elements.length === count
      : isBytes(elements) && elements.length === count * type.size
  if (!fits) throw damaged(`an array of shape [${shape.join(', ')}] does not have as many elements`)
  target.type = type
  target.shape = shape
  target.columnMajor = columnMajor
  if (isBytes(elements)) target.bytes = elements
  else target.items = elements as PickleValue[]
  return target
}

export const dtypeOf = (type: NumpyType | null): DType | null => NUMPY_DTYPES.get(`${type?.type}${type?.size}`) ?? null

const contentOf = (source: ByteSource, bytes: PickledBytes): Uint8Array =>
  bytes.content ?? readExactly(source, bytes.offset, bytes.length, 'an array')

/** Reads a numeric array, row-major. Throws bad_request for other arrays. */
export const readArrayNumbers = (source: ByteSource, array: NumpyArray): Float32Array | Float64Array => {
  const dtype = dtypeOf(array.type)
  if (dtype === null || array.bytes === null)
    throw damaged('an array of other values was found where numbers are expected')
  const { shape, bytes } = array
  const strides = array.columnMajor ? columnMajorStrides(shape) : rowMajorStrides(shape)
  const from = bytes.content === null ? source : bytesSource(bytes.content)
  const byteOffset = bytes.content === null ? bytes.offset : 0
  readExactly(from, byteOffset, bytes.length, 'an array')
  const { bigEndian } = array.type!
  return readTensorFloats(from, { name: 'array', dtype, shape, strides, byteOffset, bigEndian, deflated: null })
}

/** Reads one field of a record array. Throws bad_request if it has no such numeric field. */
export const readArrayField = (source: ByteSource, array: NumpyArray, name: string): Float32Array | Float64Array => {
  const field = array.type?.fields?.get(name)
  const dtype = dtypeOf(field?.type ?? null)
  if (field === undefined || dtype === null || array.bytes === null || field.type.bigEndian)
    throw damaged(`an array of records has no field ${JSON.stringify(name)} of numbers`)
  const size = array.type!.size
  const content = contentOf(source, array.bytes)
  const count = elementCount(array.shape)
  const values = new Uint8Array(count * field.type.size)
  for (let i = 0; i < count; i++) {
    const start = i * size + field.offset
    values.set(content.subarray(start, start + field.type.size), i * field.type.size)
  }
  return decodeElements(values, dtype)
}

/** Reads an array of fixed-length strings, row-major. Throws bad_request for other arrays. */
export const readArrayTexts = (source: ByteSource, array: NumpyArray): string[] => {
  const { type, bytes } = array
  if (bytes === null || type === null || (type.type !== 'U' && type.type !== 'S') || type.bigEndian)
    throw damaged('an array of other values was found where strings are expected')
  const view = viewOf(contentOf(source, bytes))
  const width = type.type === 'U' ? 4 : 1
  return Array.from({ length: elementCount(array.shape) }, (_, i) => {
    const points = Array.from({ length: type.size / width }, (_, k) => {
      const at = i * type.size + k * width
      const point = width === 4 ? view.getUint32(at, true) : view.getUint8(at)
      return point > 0x10ffff ? 0xfffd : point
    })
    return String.fromCodePoint(...points).replace(/\0+$/, '')
  })
}

/** Converts a NumPy scalar to a plain value: `numpy._core.multiarray.scalar(dtype, bytes)`. */
export const numpyScalar = (source: ByteSource, type: PickleValue | undefined, bytes: PickleValue | undefined) => {
  const array = fillArray(emptyArray(), type, [], false, bytes)
  if (!isBytes(bytes) || bytes.length > MAX_SCALAR) throw damaged('a scalar is too long')
  const isText = array.type!.type === 'U' || array.type!.type === 'S'
  if (isText) return readArrayTexts(source, array)[0]!
  const [value] = readArrayNumbers(source, array)
  return array.type!.type === 'b' ? value !== 0 : value!
}
