const scratch = new DataView(new ArrayBuffer(8))

/** Rounds to the nearest integer, ties to even. */
export const roundToEven = (value: number): number => {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor
}

/**
 * Rounds a double once, to nearest with ties to even, to a sign, `exponentBits`, and `fractionBits` (IEEE 754-2008, section
 * 4.3.1). Going through float32 would round twice. Overflow becomes infinity; NaN stays NaN.
 */
const encode = (value: number, exponentBits: number, fractionBits: number): number => {
  const exponentMax = 2 ** exponentBits - 1
  const bias = 2 ** (exponentBits - 1) - 1
  scratch.setFloat64(0, value)
  const sign = (scratch.getUint32(0) >>> 31) << (exponentBits + fractionBits)
  const infinity = exponentMax << fractionBits
  if (Number.isNaN(value)) return infinity | (1 << (fractionBits - 1))
  const magnitude = Math.abs(value)
  if (magnitude === Number.POSITIVE_INFINITY) return sign | infinity
  // The value's exponent, but at least that of the subnormals.
  const exponent = Math.max(((scratch.getUint32(0) >>> 20) & 0x7ff) - 1023, 1 - bias)
  const scaled = magnitude * 2 ** (fractionBits - exponent)
  // A fraction that rounds up to 2 carries into the exponent; subnormals have no implicit bit to remove.
  const bits = ((exponent + bias - 1) << fractionBits) + roundToEven(scaled)
  return sign | Math.min(bits, infinity)
}

const decode = (bits: number, exponentBits: number, fractionBits: number): number => {
  const exponentMax = 2 ** exponentBits - 1
  const bias = 2 ** (exponentBits - 1) - 1
  const sign = (bits >>> (exponentBits + fractionBits)) & 1 ? -1 : 1
  const exponent = (bits >>> fractionBits) & exponentMax
  const fraction = bits & (2 ** fractionBits - 1)
  if (exponent === exponentMax) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits)
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias)
}

/** The IEEE binary16 bits of the nearest half; magnitudes from 65520 up become infinity. */
export const floatToHalf = (value: number): number => encode(value, 5, 10)

/** The value of IEEE binary16 bits, exact. */
export const halfToFloat = (bits: number): number => decode(bits, 5, 10)

/** Bits of the nearest bfloat16: the upper half of a float32. */
export const floatToBfloat16 = (value: number): number => encode(value, 8, 7)

/** The value of bfloat16 bits, exact. */
export const bfloat16ToFloat = (bits: number): number => decode(bits, 8, 7)
