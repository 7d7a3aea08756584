// Blocks of 32 weights with one scale: Q8_0, Q4_0, Q5_0, Q5_1 (ggml-common.h has their layouts). Rounding and the order of
// operations are those of ggml's reference quantizers, so that the bytes are the same.
import { f16ToF32x4, bf16ToF32x4, f64ToF16 } from './half'

@inline
export function storeF16(at: usize, value: f32): void {
  store<u16>(at, <u16>f64ToF16(<f64>value))
}

@inline
export function loadF16(at: usize): f32 {
  return f32x4.extract_lane(f16ToF32x4(at), 0)
}

@inline
function highestLane(v: v128): f32 {
  return max(
    max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)),
  )
}

// The largest magnitude of a row of f32; NaN when one is in it.
export function largest(x: usize, length: i32): f32 {
  let found = f32x4.splat(0)
  const end = x + <usize>length * 4
  for (; x + 16 <= end; x += 16) found = f32x4.max(found, f32x4.abs(v128.load(x)))
  let result = highestLane(found)
  for (; x < end; x += 4) result = max(result, abs(load<f32>(x)))
  return result
}

export function fromF16(row: usize, out: usize, length: i32): void {
  const end = row + <usize>length * 2
  for (; row < end; row += 8, out += 16) v128.store(out, f16ToF32x4(row))
}

export function fromBF16(row: usize, out: usize, length: i32): void {
  const end = row + <usize>length * 2
  for (; row < end; row += 8, out += 16) v128.store(out, bf16ToF32x4(row))
}

export function fromQ8_0(row: usize, out: usize, length: i32): void {
  const end = out + <usize>length * 4
  for (; out < end; row += 34, out += 128) {
    const scale = loadF16(row)
    for (let i: usize = 0; i < 32; i++) store<f32>(out + i * 4, <f32>load<i8>(row + 2 + i) * scale)
  }
}

export function toF16(x: usize, out: usize, length: i32): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 4, out += 2) storeF16(out, load<f32>(x))
}

// roundf: halves away from zero.
@inline
function rounded(v: v128): v128 {
  const whole = f32x4.trunc(v)
  const up = f32x4.ge(f32x4.abs(f32x4.sub(v, whole)), f32x4.splat(0.5))
  const one = v128.or(v128.and(v, i32x4.splat(0x80000000)), f32x4.splat(1))
  return i32x4.trunc_sat_f32x4_s(f32x4.add(whole, v128.and(up, one)))
}

export function toQ8_0(x: usize, out: usize, length: i32): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 128, out += 34) {
    const scale: f32 = largest(x, 32) / 127
    const inverse = f32x4.splat(scale != 0 ? 1 / scale : 0)
    storeF16(out, scale)
    for (let i: usize = 0; i < 32; i += 16) {
      const at = x + i * 4
      const a = rounded(f32x4.mul(v128.load(at), inverse))
      const b = rounded(f32x4.mul(v128.load(at, 16), inverse))
      const c = rounded(f32x4.mul(v128.load(at, 32), inverse))
      const d = rounded(f32x4.mul(v128.load(at, 48), inverse))
      v128.store(out + 2 + i, i8x16.narrow_i16x8_s(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d)))
    }
  }
}

// The first weight of the largest magnitude, with its sign.
@inline
function extreme(x: usize): f32 {
  const magnitude = largest(x, 32)
  if (magnitude == 0) return 0
  for (let i: usize = 0; i < 128; i += 4) if (abs(load<f32>(x + i)) == magnitude) return load<f32>(x + i)
  return 0
}

@inline
function nibbles(at: usize, inverse: v128): v128 {
  const shifted = f32x4.add(f32x4.mul(v128.load(at), inverse), f32x4.splat(8.5))
  return i32x4.min_s(i32x4.trunc_sat_f32x4_s(shifted), i32x4.splat(15))
}

export function toQ4_0(x: usize, out: usize, length: i32): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 128, out += 18) {
    const scale: f32 = extreme(x) / -8
    const inverse = f32x4.splat(scale != 0 ? 1 / scale : 0)
    storeF16(out, scale)
    for (let i: usize = 0; i < 16; i += 4) {
      const at = x + i * 4
      const pair = v128.or(nibbles(at, inverse), i32x4.shl(nibbles(at + 64, inverse), 4))
      const words = i16x8.narrow_i32x4_u(pair, pair)
      store<u32>(out + 2 + i, i32x4.extract_lane(i8x16.narrow_i16x8_u(words, words), 0))
    }
  }
}

@inline
function storeFives(x: usize, out: usize, subtract: f32, inverse: f32, add: f32): void {
  let high: u32 = 0
  for (let i: usize = 0; i < 16; i++) {
    const a = min(31, <i32>((load<f32>(x + i * 4) - subtract) * inverse + add))
    const b = min(31, <i32>((load<f32>(x + 64 + i * 4) - subtract) * inverse + add))
    store<u8>(out + 4 + i, (a & 15) | ((b & 15) << 4))
    high |= (<u32>(a >> 4) << <u32>i) | (<u32>(b >> 4) << <u32>(i + 16))
  }
  store<u32>(out, high)
}

export function toQ5_0(x: usize, out: usize, length: i32): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 128, out += 22) {
    const scale: f32 = extreme(x) / -16
    storeF16(out, scale)
    storeFives(x, out + 2, 0, scale != 0 ? 1 / scale : 0, 16.5)
  }
}

export function toQ5_1(x: usize, out: usize, length: i32): void {
  const end = x + <usize>length * 4
  for (; x < end; x += 128, out += 24) {
    let low = load<f32>(x)
    let high = low
    for (let i: usize = 4; i < 128; i += 4) {
      low = min(low, load<f32>(x + i))
      high = max(high, load<f32>(x + i))
    }
    const scale: f32 = (high - low) / 31
    storeF16(out, scale)
    storeF16(out + 2, low)
    storeFives(x, out + 4, low, scale != 0 ? 1 / scale : 0, 0.5)
  }
}
