// Sums into means: out[i] = sums[i] / total, rounded once more to the element type. The float forms return 1 when a
// rounded mean is infinite or NaN, else 0.
import { f64ToBf16, f64ToF16 } from './half'

export function finishF32(sums: usize, total: f64, out: usize, length: i32): i32 {
  const divisor = f64x2.splat(total)
  const end = out + <usize>length * 4
  let bad = i64x2.splat(0)
  for (; out < end; out += 16, sums += 32) {
    const a = f64x2.div(v128.load(sums), divisor)
    const b = f64x2.div(v128.load(sums, 16), divisor)
    const narrow = v128.shuffle<i32>(f32x4.demote_f64x2_zero(a), f32x4.demote_f64x2_zero(b), 0, 1, 4, 5)
    bad = v128.or(bad, f32x4.ne(f32x4.sub(narrow, narrow), f32x4.splat(0)))
    v128.store(out, narrow)
  }
  return v128.any_true(bad) ? 1 : 0
}

export function finishF64(sums: usize, total: f64, out: usize, length: i32): i32 {
  const divisor = f64x2.splat(total)
  const end = out + <usize>length * 8
  let bad = i64x2.splat(0)
  for (; out < end; out += 16, sums += 16) {
    const mean = f64x2.div(v128.load(sums), divisor)
    bad = v128.or(bad, f64x2.ne(f64x2.sub(mean, mean), f64x2.splat(0)))
    v128.store(out, mean)
  }
  return v128.any_true(bad) ? 1 : 0
}

export function finishF16(sums: usize, total: f64, out: usize, length: i32): i32 {
  const end = out + <usize>length * 2
  let bad: i32 = 0
  for (; out < end; out += 2, sums += 8) {
    const half = f64ToF16(load<f64>(sums) / total)
    bad |= (half & 0x7c00) == 0x7c00 ? 1 : 0
    store<u16>(out, <u16>half)
  }
  return bad
}

export function finishBf16(sums: usize, total: f64, out: usize, length: i32): i32 {
  const end = out + <usize>length * 2
  let bad: i32 = 0
  for (; out < end; out += 2, sums += 8) {
    const half = f64ToBf16(load<f64>(sums) / total)
    bad |= (half & 0x7f80) == 0x7f80 ? 1 : 0
    store<u16>(out, <u16>half)
  }
  return bad
}

// Integers round to the nearest, ties to even. A mean lies between the smallest and the largest input: no overflow.
export function finishI64(sums: usize, total: f64, out: usize, length: i32): void {
  const end = out + <usize>length * 8
  for (; out < end; out += 8, sums += 8) store<i64>(out, <i64>nearest(load<f64>(sums) / total))
}
export function finishI32(sums: usize, total: f64, out: usize, length: i32): void {
  const end = out + <usize>length * 4
  for (; out < end; out += 4, sums += 8) store<i32>(out, <i32>(<i64>nearest(load<f64>(sums) / total)))
}
export function finishI16(sums: usize, total: f64, out: usize, length: i32): void {
  const end = out + <usize>length * 2
  for (; out < end; out += 2, sums += 8) store<i16>(out, <i16>(<i64>nearest(load<f64>(sums) / total)))
}
export function finishI8(sums: usize, total: f64, out: usize, length: i32): void {
  const end = out + <usize>length
  for (; out < end; out += 1, sums += 8) store<i8>(out, <i8>(<i64>nearest(load<f64>(sums) / total)))
}
