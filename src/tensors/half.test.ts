import { describe, expect, it } from 'vitest'
import { bfloat16ToFloat, floatToBfloat16, floatToHalf, halfToFloat } from './half.ts'

const everyPattern = Array.from({ length: 65_536 }, (_, bits) => bits)

describe.each([
  { name: 'half', encode: floatToHalf, decode: halfToFloat, infinity: 0x7c00, nan: 0x7e00 },
  { name: 'bfloat16', encode: floatToBfloat16, decode: bfloat16ToFloat, infinity: 0x7f80, nan: 0x7fc0 },
])('$name', ({ encode, decode, infinity, nan }) => {
  it('round-trips every bit pattern that is a number, including signed zeros and infinities', () => {
    const wrong = everyPattern.filter((bits) => {
      const value = decode(bits)
      return !Number.isNaN(value) && encode(value) !== bits
    })
    expect(wrong).toEqual([])
  })

  it('turns every NaN into the quiet NaN', () => {
    const nans = everyPattern.filter((bits) => Number.isNaN(decode(bits)))
    expect(nans.every((bits) => (bits & infinity) === infinity && (bits & ~0x8000) !== infinity)).toBe(true)
    expect(encode(Number.NaN)).toBe(nan)
  })

  it('rounds to the nearest neighbor, ties to even', () => {
    for (let bits = 0; bits < infinity - 1; bits++) {
      const low = decode(bits)
      const high = decode(bits + 1)
      const middle = (low + high) / 2
      const even = bits % 2 === 0 ? bits : bits + 1
      const near = [encode(middle - (high - low) / 8), encode(middle), encode(middle + (high - low) / 8)]
      if (near[0] !== bits || near[1] !== even || near[2] !== bits + 1)
        expect({ bits, near }).toEqual({ bits, near: [bits, even, bits + 1] })
    }
  })

  it('becomes infinity only from half a step beyond its largest value', () => {
    const largest = decode(infinity - 1)
    const step = largest - decode(infinity - 2)
    expect(encode(largest + step * 0.499)).toBe(infinity - 1)
    expect(encode(largest + step * 0.5)).toBe(infinity)
    expect(encode(-1e300)).toBe(infinity | 0x8000)
    expect(encode(Number.NEGATIVE_INFINITY)).toBe(infinity | 0x8000)
  })
})

it('matches known values from IEEE 754 and PyTorch', () => {
  expect([0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000, 0x3555].map(halfToFloat)).toEqual([
    1,
    -2,
    65_504,
    2 ** -14,
    2 ** -24,
    -0,
    0.333251953125,
  ])
  expect([0x3f80, 0xc000, 0x7f7f, 0x0080, 0x0001, 0x3eab].map(bfloat16ToFloat)).toEqual([
    1,
    -2,
    3.3895313892515355e38,
    2 ** -126,
    2 ** -133,
    0.333984375,
  ])
  expect([1 / 3, 65_519.99, 65_520, 2 ** -25, 2 ** -25 * 1.0001].map(floatToHalf)).toEqual([
    0x3555, 0x7bff, 0x7c00, 0, 1,
  ])
})

it('rounds once: a double just above a tie is not rounded to float32 first', () => {
  // Rounding to float32 first would land exactly on the tie, then on the even neighbor below.
  expect(floatToHalf(1 + 2 ** -11 + 2 ** -40)).toBe(0x3c01)
  expect(floatToBfloat16(1 + 2 ** -8 + 2 ** -40)).toBe(0x3f81)
})
