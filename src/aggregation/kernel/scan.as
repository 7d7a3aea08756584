// The index of the first element that is infinite or NaN (all exponent bits set), or -1.

@inline
function firstIn<T>(row: usize, from: i32, length: i32, exponent: T): i32 {
  for (let i = from; i < length; i++) {
    if ((load<T>(row + <usize>i * sizeof<T>()) & exponent) == exponent) return i
  }
  return -1
}

export function scanF32(row: usize, length: i32): i32 {
  const exponent = i32x4.splat(0x7f800000)
  const whole = length & ~3
  for (let i = 0; i < whole; i += 4) {
    const hit = i32x4.eq(v128.and(v128.load(row + <usize>i * 4), exponent), exponent)
    if (v128.any_true(hit)) return firstIn<u32>(row, i, length, 0x7f800000)
  }
  return firstIn<u32>(row, whole, length, 0x7f800000)
}

export function scanF64(row: usize, length: i32): i32 {
  return firstIn<u64>(row, 0, length, 0x7ff0000000000000)
}

@inline
function scanHalf(row: usize, length: i32, mask: i32): i32 {
  const exponent = i16x8.splat(<i16>mask)
  const whole = length & ~7
  for (let i = 0; i < whole; i += 8) {
    const hit = i16x8.eq(v128.and(v128.load(row + <usize>i * 2), exponent), exponent)
    if (v128.any_true(hit)) return firstIn<u16>(row, i, length, <u16>mask)
  }
  return firstIn<u16>(row, whole, length, <u16>mask)
}

export function scanF16(row: usize, length: i32): i32 {
  return scanHalf(row, length, 0x7c00)
}

export function scanBf16(row: usize, length: i32): i32 {
  return scanHalf(row, length, 0x7f80)
}
