// Logarithm, sine, and cosine from additions, multiplications, divisions, and square roots alone, which IEEE 754 defines to the
// last bit. Math.log and similar functions may differ between engine versions, which would change replayed rounds.

const LN2 = Math.LN2
// ln 2 - Math.LN2.
const LN2_REST = 2.3190468138462996e-17
// 1/23, 1/21, ..., 1/3.
const ATANH = Float64Array.from({ length: 11 }, (_, i) => 1 / (23 - 2 * i))
// 1 / (n (n - 1)) and 1 / (n (n + 1)) for n = 18, 16, ..., 2.
const COSINE = Float64Array.from({ length: 9 }, (_, i) => 1 / ((18 - 2 * i) * (17 - 2 * i)))
const SINE = Float64Array.from({ length: 9 }, (_, i) => 1 / ((18 - 2 * i) * (19 - 2 * i)))
const scratch = new DataView(new ArrayBuffer(8))

/**
 * ln x for positive normal x, within 2 units in the last place. x = 2^k f with f in [sqrt 1/2, sqrt 2), and
 * ln f = 2 atanh((f - 1) / (f + 1)) by its series (Abramowitz and Stegun, 4.1.27).
 */
export const naturalLog = (x: number): number => {
  scratch.setFloat64(0, x)
  const high = scratch.getUint32(0)
  let exponent = (high >>> 20) - 1023
  scratch.setUint32(0, (high & 0xfffff) | 0x3ff00000)
  let fraction = scratch.getFloat64(0)
  if (fraction > Math.SQRT2) {
    fraction /= 2
    exponent += 1
  }
  const s = (fraction - 1) / (fraction + 1)
  const square = s * s
  let tail = 0
  for (let i = 0; i < ATANH.length; i++) tail = square * (tail + ATANH[i]!)
  return exponent * LN2 + (2 * s + (2 * s * tail + exponent * LN2_REST))
}

/** Returns [cos, sin] of an angle in turns in [0, 1), within 1e-15. Taylor series around the nearest multiple of a quarter. */
export const cosSinTurns = (turns: number): readonly [number, number] => {
  const eighths = Math.floor(turns * 8)
  const quarter = Math.floor((eighths + 1) / 2)
  const angle = (turns - quarter / 4) * (2 * Math.PI)
  const square = angle * angle
  let cos = 1
  let sin = 1
  for (let i = 0; i < COSINE.length; i++) {
    cos = 1 - square * COSINE[i]! * cos
    sin = 1 - square * SINE[i]! * sin
  }
  sin *= angle
  switch (quarter % 4) {
    case 0:
      return [cos, sin]
    case 1:
      return [-sin, cos]
    case 2:
      return [-cos, -sin]
    default:
      return [sin, -cos]
  }
}
