// Rows into sums: sums[i] += weight * row[i], in f64, one rounding per product and one per addition, never fused.
// Rows and sums are padded to a multiple of 8 elements, so that no vector loop needs a tail.
import { bf16ToF32x4, f16ToF32x4 } from './half'

// Adding to -0 keeps the sign of a zero: -0 + x is x for every x.
export function clear(sums: usize, length: i32): void {
  const zero = f64x2.splat(-0.0)
  const end = sums + ((<usize>length + 7) & ~7) * 8
  for (let at = sums; at < end; at += 16) v128.store(at, zero)
}

@inline
function low(values: v128): v128 {
  return f64x2.promote_low_f32x4(values)
}

@inline
function high(values: v128): v128 {
  return f64x2.promote_low_f32x4(v128.shuffle<i32>(values, values, 2, 3, 2, 3))
}

@inline
function addVector(sums: usize, values: v128, weight: v128): void {
  v128.store(sums, f64x2.add(v128.load(sums), f64x2.mul(low(values), weight)))
  v128.store(sums, f64x2.add(v128.load(sums, 16), f64x2.mul(high(values), weight)), 16)
}

export function addF32(row: usize, sums: usize, length: i32, weight: f64): void {
  const w = f64x2.splat(weight)
  const end = row + <usize>length * 4
  for (; row < end; row += 16, sums += 32) addVector(sums, v128.load(row), w)
}

export function addF64(row: usize, sums: usize, length: i32, weight: f64): void {
  const w = f64x2.splat(weight)
  const end = row + <usize>length * 8
  for (; row < end; row += 16, sums += 16) v128.store(sums, f64x2.add(v128.load(sums), f64x2.mul(v128.load(row), w)))
}

export function addF16(row: usize, sums: usize, length: i32, weight: f64): void {
  const w = f64x2.splat(weight)
  const end = row + <usize>length * 2
  for (; row < end; row += 8, sums += 32) addVector(sums, f16ToF32x4(row), w)
}

export function addBf16(row: usize, sums: usize, length: i32, weight: f64): void {
  const w = f64x2.splat(weight)
  const end = row + <usize>length * 2
  for (; row < end; row += 8, sums += 32) addVector(sums, bf16ToF32x4(row), w)
}

// Integers also return the largest magnitude of the row, from which the caller tells whether the sums are exact.
@inline
function addIntegers<T>(row: usize, sums: usize, length: i32, weight: f64): f64 {
  const end = row + <usize>length * sizeof<T>()
  let largest: f64 = 0
  for (; row < end; row += sizeof<T>(), sums += 8) {
    const value = <f64>load<T>(row)
    largest = max(largest, abs(value))
    store<f64>(sums, load<f64>(sums) + weight * value)
  }
  return largest
}

export function addI64(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<i64>(row, sums, length, weight)
}
export function addI32(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<i32>(row, sums, length, weight)
}
export function addI16(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<i16>(row, sums, length, weight)
}
export function addI8(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<i8>(row, sums, length, weight)
}
export function addU64(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<u64>(row, sums, length, weight)
}
export function addU32(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<u32>(row, sums, length, weight)
}
export function addU16(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<u16>(row, sums, length, weight)
}
export function addU8(row: usize, sums: usize, length: i32, weight: f64): f64 {
  return addIntegers<u8>(row, sums, length, weight)
}
export function addBool(row: usize, sums: usize, length: i32, weight: f64): f64 {
  for (let i: usize = 0; i < <usize>length; i++) {
    if (load<u8>(row + i)) store<f64>(sums + i * 8, load<f64>(sums + i * 8) + weight)
  }
  return 1
}
