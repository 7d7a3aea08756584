// The two 16-bit floats: f16 (IEEE 754 binary16) and bf16 (the upper half of an f32).

// The exponent and mantissa are moved into an f32's place and rescaled by 2^112, which also normalises subnormals;
// exponent 31 (infinities and NaN) is then forced to an f32's all-ones exponent.
@inline
export function f16ToF32x4(at: usize): v128 {
  const bits = v128.load_ext<u16>(at)
  const magnitude = v128.and(bits, i32x4.splat(0x7fff))
  const scaled = f32x4.mul(i32x4.shl(magnitude, 13), f32x4.splat(5192296858534827628530496329220096.0))
  const special = v128.and(i32x4.gt_s(magnitude, i32x4.splat(0x7bff)), i32x4.splat(0x7f800000))
  const sign = i32x4.shl(v128.and(bits, i32x4.splat(0x8000)), 16)
  return v128.or(v128.or(scaled, special), sign)
}

@inline
export function bf16ToF32x4(at: usize): v128 {
  return i32x4.shl(v128.load_ext<u16>(at), 16)
}

// An f64 to a 16-bit float in one rounding, ties to even; going through f32 would round twice.
// Normal numbers: round the 52-bit mantissa to `mantissa` bits in the integer representation and move the exponent
// from bias 1023 to `bias`; a carry out of the mantissa raises the exponent, as it should. Subnormals: adding the
// power of two whose last place is the smallest subnormal leaves the rounded multiple in the low bits.
@inline
export function f64ToHalf(value: f64, mantissa: u64, bias: u64, subnormalAdder: f64, smallestNormal: f64): u32 {
  const bits = reinterpret<u64>(value)
  const sign = <u32>(bits >> 48) & 0x8000
  const infinity = ((<u32>bias * 2) + 1) << <u32>mantissa
  const magnitude = abs(value)
  if (!(magnitude < Infinity)) return sign | infinity | (magnitude == Infinity ? 0 : 1 << (<u32>mantissa - 1))
  if (magnitude < smallestNormal) {
    return sign | <u32>(reinterpret<u64>(magnitude + subnormalAdder) & 0xffff)
  }
  const shift: u64 = 52 - mantissa
  const whole = reinterpret<u64>(magnitude) - ((1023 - bias) << 52)
  const rounded = (whole + ((<u64>1 << (shift - 1)) - 1) + ((whole >> shift) & 1)) >> shift
  return sign | min(<u32>min(rounded, <u64>infinity), infinity)
}

@inline
export function f64ToF16(value: f64): u32 {
  return f64ToHalf(value, 10, 15, 268435456.0, 0.00006103515625) // 2^28, 2^-14
}

@inline
export function f64ToBf16(value: f64): u32 {
  // 2^-81, 2^-126
  return f64ToHalf(value, 7, 127, 4.1359030627651384e-25, 1.1754943508222875e-38)
}
