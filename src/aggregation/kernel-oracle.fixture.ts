import { BYTES_OF, type DType } from '../tensors/weight-file.ts'
import { divideToNearestEven } from './exact-integers.ts'

/** The kernel's computations in a slow and obvious form, for tests. */

const halfValue = (bits: number, mantissaBits: number, bias: number): number => {
  const sign = bits & 0x8000 ? -1 : 1
  const ones = 2 ** (15 - mantissaBits) - 1
  const exponent = (bits >> mantissaBits) & ones
  const fraction = (bits & (2 ** mantissaBits - 1)) / 2 ** mantissaBits
  if (exponent === ones) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias)
  return sign * (1 + fraction) * 2 ** (exponent - bias)
}

export const f16Value = (bits: number): number => halfValue(bits, 10, 15)
export const bf16Value = (bits: number): number => halfValue(bits, 7, 127)

/** Finds the nearest 16-bit pattern, ties to even mantissa, by bisection over all nonnegative patterns. */
const nearestHalf = (value: number, patternValue: (bits: number) => number, infinity: number): number => {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (Number.isNaN(value)) return infinity + 1
  let low = 0
  let high = infinity
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (patternValue(middle) <= magnitude) low = middle
    else high = middle
  }
  // Above the largest finite value, infinity counts as one step further.
  const above = high === infinity ? 2 * patternValue(low) - patternValue(low - 1) : patternValue(high)
  const toLow = magnitude - patternValue(low)
  const toHigh = above - magnitude
  return sign | (toLow < toHigh || (toLow === toHigh && low % 2 === 0) ? low : high)
}

export const toF16 = (value: number): number => nearestHalf(value, f16Value, 0x7c00)
export const toBf16 = (value: number): number => nearestHalf(value, bf16Value, 0x7f80)

/** Decodes little-endian elements to numbers; 64-bit integers to bigints. */
export const decode = (dtype: DType, bytes: Uint8Array): (number | bigint)[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const read: Readonly<Record<DType, (at: number) => number | bigint>> = {
    f64: (at) => view.getFloat64(at, true),
    f32: (at) => view.getFloat32(at, true),
    f16: (at) => f16Value(view.getUint16(at, true)),
    bf16: (at) => bf16Value(view.getUint16(at, true)),
    i64: (at) => view.getBigInt64(at, true),
    i32: (at) => view.getInt32(at, true),
    i16: (at) => view.getInt16(at, true),
    i8: (at) => view.getInt8(at),
    u64: (at) => view.getBigUint64(at, true),
    u32: (at) => view.getUint32(at, true),
    u16: (at) => view.getUint16(at, true),
    u8: (at) => view.getUint8(at),
    bool: (at) => (view.getUint8(at) === 0 ? 0 : 1),
  }
  return Array.from({ length: bytes.length / BYTES_OF[dtype] }, (_, i) => read[dtype](i * BYTES_OF[dtype]))
}

/** Encodes numbers as little-endian elements, rounded to nearest even. */
export const encode = (dtype: DType, values: readonly (number | bigint)[]): Uint8Array => {
  const bytes = new Uint8Array(values.length * BYTES_OF[dtype])
  const view = new DataView(bytes.buffer)
  const write: Readonly<Record<DType, (at: number, value: number | bigint) => void>> = {
    f64: (at, value) => view.setFloat64(at, Number(value), true),
    f32: (at, value) => view.setFloat32(at, Number(value), true),
    f16: (at, value) => view.setUint16(at, toF16(Number(value)), true),
    bf16: (at, value) => view.setUint16(at, toBf16(Number(value)), true),
    i64: (at, value) => view.setBigInt64(at, BigInt(value), true),
    i32: (at, value) => view.setInt32(at, Number(value), true),
    i16: (at, value) => view.setInt16(at, Number(value), true),
    i8: (at, value) => view.setInt8(at, Number(value)),
    u64: (at, value) => view.setBigUint64(at, BigInt(value), true),
    u32: (at, value) => view.setUint32(at, Number(value), true),
    u16: (at, value) => view.setUint16(at, Number(value), true),
    u8: (at, value) => view.setUint8(at, Number(value)),
    bool: (at, value) => view.setUint8(at, Number(value)),
  }
  values.forEach((value, i) => void write[dtype](i * BYTES_OF[dtype], value))
  return bytes
}

/** sum(weight * row) / sum(weight) per column: floats in f64 in row order, integers exactly. */
export const meanOf = (dtype: DType, rows: readonly Uint8Array[], weights: readonly number[]): Uint8Array => {
  const columns = rows.map((row) => decode(dtype, row))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const float = dtype === 'f64' || dtype === 'f32' || dtype === 'f16' || dtype === 'bf16'
  const means = columns[0]!.map((_, i) =>
    float
      ? weights.reduce((sum, weight, k) => sum + weight * Number(columns[k]![i]), -0) / total
      : divideToNearestEven(
          weights.reduce((sum, weight, k) => sum + BigInt(weight) * BigInt(columns[k]![i]!), 0n),
          BigInt(total),
        ),
  )
  return encode(dtype, means)
}

/** The mean of ranks [from, to) per column: floats in f64 from +0 in the order of ranks, integers exactly. */
export const rankMeanOf = (dtype: DType, rows: readonly Uint8Array[], from: number, to: number): Uint8Array => {
  const columns = rows.map((row) => decode(dtype, row))
  const ascending = (a: number | bigint, b: number | bigint): number => (a < b ? -1 : a > b ? 1 : 0)
  const float = dtype === 'f64' || dtype === 'f32' || dtype === 'f16' || dtype === 'bf16'
  const means = columns[0]!.map((_, i) => {
    const middle = columns
      .map((row) => row[i]!)
      .sort(ascending)
      .slice(from, to)
    if (float) return middle.reduce((sum: number, value) => sum + Number(value), 0) / middle.length
    return divideToNearestEven(
      middle.reduce((sum: bigint, value) => sum + BigInt(value), 0n),
      BigInt(middle.length),
    )
  })
  return encode(dtype, means)
}

/** xorshift32, for reproducible failures. */
export const randomBytes = (length: number, seed: number): Uint8Array => {
  let state = seed | 1
  return Uint8Array.from({ length }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 255
  })
}

/** Random bit patterns, including subnormals; without infinities and NaN if `finite`. */
export const randomRow = (dtype: DType, length: number, seed: number, finite: boolean): Uint8Array => {
  const bytes = randomBytes(length * BYTES_OF[dtype], seed)
  if (!finite) return bytes
  const values = decode(dtype, bytes).map((value, i) =>
    typeof value === 'bigint' ? value % 1_000_003n : Number.isFinite(value) ? value / 1024 : i,
  )
  return encode(
    dtype,
    dtype.startsWith('f') || dtype === 'bf16' ? values : values.map((v) => (typeof v === 'bigint' ? v : Math.trunc(v))),
  )
}

/** Uniform numbers in [0, 1), reproducible by seed (Weyl sequence with a 32-bit mixer). */
export const randomNumbers = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
