import { bfloat16ToFloat, floatToBfloat16, floatToHalf, halfToFloat, roundToEven } from './half.ts'
import { inflateMember } from './inflate.ts'
import { bytesSource, copyOf, viewOf } from './sources.ts'
import { blocksOf, copyStrided, swapBytes } from './strided.ts'
import { BYTES_OF, type ByteSource, byteLength, type DType, isDirect, type Tensor } from './weight-file.ts'

/**
 * Returns a tensor's elements as contiguous, row-major, little-endian bytes: gathers strided elements, swaps byte order, and
 * inflates. The result may alias the source. Throws bad_request if a member does not inflate as declared.
 */
export const readTensorBytes = (source: ByteSource, tensor: Tensor): Uint8Array => {
  if (tensor.deflated !== null) {
    const inflated = bytesSource(inflateMember(source, tensor.deflated, tensor.name))
    return readTensorBytes(inflated, { ...tensor, deflated: null })
  }
  if (isDirect(tensor)) return source.read(tensor.byteOffset, byteLength(tensor))
  const itemBytes = BYTES_OF[tensor.dtype]
  const bytes = new Uint8Array(byteLength(tensor))
  for (const { shape, strides, byteOffset, span, at, steps } of blocksOf(tensor)) {
    const from = { bytes: source.read(byteOffset, span * itemBytes), at: 0, strides }
    copyStrided(itemBytes, shape, from, { bytes, at, strides: steps })
  }
  if (tensor.bigEndian) swapBytes(bytes, itemBytes)
  return bytes
}

type Decode = (view: DataView, at: number) => number

const DECODE: Readonly<Record<DType, Decode>> = {
  f64: (view, at) => view.getFloat64(at, true),
  f32: (view, at) => view.getFloat32(at, true),
  f16: (view, at) => halfToFloat(view.getUint16(at, true)),
  bf16: (view, at) => bfloat16ToFloat(view.getUint16(at, true)),
  i64: (view, at) => Number(view.getBigInt64(at, true)),
  i32: (view, at) => view.getInt32(at, true),
  i16: (view, at) => view.getInt16(at, true),
  i8: (view, at) => view.getInt8(at),
  u64: (view, at) => Number(view.getBigUint64(at, true)),
  u32: (view, at) => view.getUint32(at, true),
  u16: (view, at) => view.getUint16(at, true),
  u8: (view, at) => view.getUint8(at),
  bool: (view, at) => (view.getUint8(at) === 0 ? 0 : 1),
}

/** Types whose values all fit a float32 exactly. */
const FITS_F32: ReadonlySet<DType> = new Set(['f32', 'f16', 'bf16', 'i16', 'i8', 'u16', 'u8', 'bool'])

/** Decodes contiguous little-endian bytes into a Float32Array if that is exact, otherwise into a Float64Array. */
export const decodeElements = (bytes: Uint8Array, dtype: DType): Float32Array | Float64Array => {
  // Assumes a little-endian host, as all JavaScript engines have today.
  if (dtype === 'f32') return new Float32Array(copyOf(bytes).buffer)
  if (dtype === 'f64') return new Float64Array(copyOf(bytes).buffer)
  const count = bytes.length / BYTES_OF[dtype]
  const values = FITS_F32.has(dtype) ? new Float32Array(count) : new Float64Array(count)
  const view = viewOf(bytes)
  const decode = DECODE[dtype]
  for (let i = 0; i < count; i++) values[i] = decode(view, i * BYTES_OF[dtype])
  return values
}

/** Returns a tensor's elements as numbers, row-major. Rounds 64-bit integers beyond 2^53. Throws like readTensorBytes. */
export const readTensorFloats = (source: ByteSource, tensor: Tensor): Float32Array | Float64Array =>
  decodeElements(readTensorBytes(source, tensor), tensor.dtype)

/** Rounds to the nearest integer, ties to even, and clamps to the type's range. NaN becomes 0, as in typed arrays. */
const toInteger = (value: number, min: number, max: number): number =>
  Number.isNaN(value) ? 0 : Math.min(Math.max(roundToEven(value), min), max)

const toInteger64 = (value: number, min: bigint, max: bigint): bigint => {
  const whole = toInteger(value, Number(min), Number(max))
  const exact = BigInt(whole)
  return exact < min ? min : exact > max ? max : exact
}

const ENCODE: Readonly<Record<DType, (view: DataView, at: number, value: number) => void>> = {
  f64: (view, at, value) => view.setFloat64(at, value, true),
  f32: (view, at, value) => view.setFloat32(at, value, true),
  f16: (view, at, value) => view.setUint16(at, floatToHalf(value), true),
  bf16: (view, at, value) => view.setUint16(at, floatToBfloat16(value), true),
  i64: (view, at, value) => view.setBigInt64(at, toInteger64(value, -(2n ** 63n), 2n ** 63n - 1n), true),
  i32: (view, at, value) => view.setInt32(at, toInteger(value, -(2 ** 31), 2 ** 31 - 1), true),
  i16: (view, at, value) => view.setInt16(at, toInteger(value, -(2 ** 15), 2 ** 15 - 1), true),
  i8: (view, at, value) => view.setInt8(at, toInteger(value, -128, 127)),
  u64: (view, at, value) => view.setBigUint64(at, toInteger64(value, 0n, 2n ** 64n - 1n), true),
  u32: (view, at, value) => view.setUint32(at, toInteger(value, 0, 2 ** 32 - 1), true),
  u16: (view, at, value) => view.setUint16(at, toInteger(value, 0, 2 ** 16 - 1), true),
  u8: (view, at, value) => view.setUint8(at, toInteger(value, 0, 255)),
  bool: (view, at, value) => view.setUint8(at, value === 0 ? 0 : 1),
}

/** Encodes numbers as contiguous little-endian bytes, each rounded to the nearest value of the type (ties to even). */
export const encodeElements = (values: ArrayLike<number>, dtype: DType): Uint8Array => {
  const bytes = new Uint8Array(values.length * BYTES_OF[dtype])
  const view = viewOf(bytes)
  const encode = ENCODE[dtype]
  for (let i = 0; i < values.length; i++) encode(view, i * BYTES_OF[dtype], values[i]!)
  return bytes
}
