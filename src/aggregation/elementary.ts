// Logarithm, sine and cosine from additions, multiplications, divisions and square roots alone, which IEEE 754 fixes to
// the last bit: Math.log and its kin may differ between versions of an engine, and a replayed round must not.

const LN2 = Math.LN2
// What Math.LN2 lacks of ln 2.
const LN2_REST = 2.3190468138462996e-17
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
  for (let odd = 23; odd >= 3; odd -= 2) tail = square * (tail + 1 / odd)
  return exponent * LN2 + (2 * s + (2 * s * tail + exponent * LN2_REST))
}

/** [cos, sin] of `turns` whole circles, turns in [0, 1), within 1e-15. Taylor series in the nearest eighth. */
export const cosSinTurns = (turns: number): readonly [number, number] => {
  const eighths = Math.floor(turns * 8)
  const quarter = Math.floor((eighths + 1) / 2)
  const angle = (turns - quarter / 4) * (2 * Math.PI)
  const square = angle * angle
  let cos = 1
  let sin = 1
  for (let n = 18; n >= 2; n -= 2) {
    cos = 1 - (square / (n * (n - 1))) * cos
    sin = 1 - (square / (n * (n + 1))) * sin
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
