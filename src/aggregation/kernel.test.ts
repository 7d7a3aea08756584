import { describe, expect, it } from 'vitest'
import { BYTES_OF, type DType } from '../tensors/weight-file.ts'
import { divideToNearestEven } from './exact-integers.ts'
import { createKernel, type FloatType, padded } from './kernel.ts'
import { bf16Value, encode, f16Value, meanOf, randomRow, toBf16, toF16 } from './kernel-oracle.fixture.ts'

const DTYPES = Object.keys(BYTES_OF) as DType[]
const FLOATS: FloatType[] = ['f64', 'f32', 'f16', 'bf16']

const meanByKernel = (dtype: DType, rows: readonly Uint8Array[], weights: readonly number[]) => {
  const kernel = createKernel()
  const length = rows[0]!.length / BYTES_OF[dtype]
  const row = kernel.allocate(padded(length) * 8)
  const sums = kernel.allocate(padded(length) * 8)
  kernel.clear(sums, length)
  const largest = rows.map((bytes, k) => {
    kernel.bytes(row, padded(length) * 8).fill(0)
    kernel.bytes(row, bytes.length).set(bytes)
    return kernel.add(dtype, row, sums, length, weights[k]!)
  })
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const finite = kernel.finish(dtype, sums, total, row, length)
  return { bytes: kernel.bytes(row, rows[0]!.length).slice(), finite, largest }
}

describe('the kernel', () => {
  it.each(DTYPES)("computes the oracle's weighted means of random %s rows, bit for bit, at odd lengths", (dtype) => {
    for (const length of [1, 2, 3, 7, 8, 9, 31, 1001]) {
      const rows = [0, 1, 2, 3, 4].map((k) => randomRow(dtype, length, 7919 * length + k * 104729 + 1, true))
      const weights = [3, 1, 0, 17, 250]
      const { bytes, finite } = meanByKernel(dtype, rows, weights)
      expect(finite).toBe(true)
      expect(bytes).toEqual(meanOf(dtype, rows, weights))
    }
  })

  it.each(FLOATS)('returns a single %s row unchanged, including subnormals and negative zeros', (dtype) => {
    const row = encode(dtype, [-0, 0, 5e-324, -1e-45, 6e-8, -6e-5, 1e-40, 1, -65504, 0.1])
    expect(meanByKernel(dtype, [row], [7]).bytes).toEqual(row)
  })

  it('decodes every finite f16 and bf16 pattern', () => {
    for (const [dtype, patternValue, toBits] of [
      ['f16', f16Value, toF16],
      ['bf16', bf16Value, toBf16],
    ] as const) {
      const patterns = Array.from({ length: 65_536 }, (_, bits) => bits).filter((bits) =>
        Number.isFinite(patternValue(bits)),
      )
      const row = new Uint8Array(Uint16Array.from(patterns).buffer)
      expect(Buffer.compare(meanByKernel(dtype, [row], [1]).bytes, row)).toBe(0)
      expect(toBits(patternValue(0x0001))).toBe(1)
    }
  })

  it('rounds f64 means to 16 bits once, where going through f32 would round twice', () => {
    // Just above the tie between two neighbors; f32 cannot represent the difference and would round to the tie.
    const aboveTie16 = 1 + 2 ** -11 + 2 ** -40
    const aboveTieBf = 1 + 2 ** -8 + 2 ** -40
    expect(meanByKernel('f64', [encode('f64', [aboveTie16])], [1]).finite).toBe(true)
    const kernel = createKernel()
    const sums = kernel.allocate(64)
    const out = kernel.allocate(64)
    kernel.bytes(sums, 16).set(encode('f64', [aboveTie16, 1 + 2 ** -11]))
    kernel.finish('f16', sums, 1, out, 2)
    expect(kernel.bytes(out, 4).slice()).toEqual(new Uint8Array(Uint16Array.of(0x3c01, 0x3c00).buffer))
    kernel.bytes(sums, 16).set(encode('f64', [aboveTieBf, 1 + 2 ** -8]))
    kernel.finish('bf16', sums, 1, out, 2)
    expect(kernel.bytes(out, 4).slice()).toEqual(new Uint8Array(Uint16Array.of(0x3f81, 0x3f80).buffer))
  })

  it.each(FLOATS)('finds the first non-finite %s element at any position, and none in finite rows', (dtype) => {
    const kernel = createKernel()
    const row = kernel.allocate(64 * 8)
    for (const length of [1, 5, 8, 19]) {
      kernel.bytes(row, 64 * 8).fill(255) // Everything past the end is NaN and must be ignored.
      const finite = randomRow(dtype, length, length + 3, true)
      kernel.bytes(row, finite.length).set(finite)
      expect(kernel.firstNonFinite(dtype, row, length)).toBe(-1)
      for (let bad = 0; bad < length; bad++) {
        for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
          const infinite = { f64: '7ff0', f32: '7f80', f16: '7c00', bf16: '7f80' }[dtype]
          const element = new Uint8Array(BYTES_OF[dtype])
          const high = Number.parseInt(infinite, 16) | (Number.isNaN(value) ? 1 : 0) | (value < 0 ? 0x8000 : 0)
          new DataView(element.buffer).setUint16(BYTES_OF[dtype] - 2, high, true)
          kernel.bytes(row, finite.length).set(finite)
          kernel.bytes(row + bad * BYTES_OF[dtype], BYTES_OF[dtype]).set(element)
          expect(kernel.firstNonFinite(dtype, row, length)).toBe(bad)
        }
      }
    }
  })

  it.each(FLOATS)('reports that a %s mean is not finite', (dtype) => {
    const rows = [randomRow(dtype, 9, 5, true), randomRow(dtype, 9, 6, true)]
    new DataView(rows[1]!.buffer).setUint16(rows[1]!.length - 2, dtype === 'f16' ? 0x7c00 : 0x7ff0, true)
    expect(meanByKernel(dtype, rows, [1, 1]).finite).toBe(false)
  })

  it.each([
    ['f16', 65_520, 65_519],
    ['bf16', 3.4e38, 3.38e38],
    ['f32', 3.41e38, 3.4e38],
  ] as const)('reports a mean beyond the range of %s', (dtype, beyond, within) => {
    const kernel = createKernel()
    const [sums, out] = [kernel.allocate(64), kernel.allocate(64)]
    for (const [value, fits] of [
      [beyond, false],
      [-beyond, false],
      [within, true],
    ] as const) {
      kernel.bytes(sums, 64).fill(0)
      kernel.bytes(sums, 8).set(encode('f64', [value]))
      expect(kernel.finish(dtype, sums, 1, out, 1)).toBe(fits)
    }
  })

  it('returns the largest magnitude of an integer row', () => {
    expect(meanByKernel('i8', [encode('i8', [3, -128, 7])], [1]).largest).toEqual([128])
    expect(meanByKernel('u32', [encode('u32', [3, 4_294_967_295])], [1]).largest).toEqual([4_294_967_295])
    expect(meanByKernel('i64', [encode('i64', [-(2n ** 63n)])], [1]).largest).toEqual([2 ** 63])
  })
})

describe('exact division', () => {
  it('rounds to the nearest integer, ties to even, on both sides of zero', () => {
    const halves = [-5n, -3n, -1n, 1n, 3n, 5n].map((n) => divideToNearestEven(n, 2n))
    expect(halves).toEqual([-2n, -2n, 0n, 0n, 2n, 2n])
    expect([-7n, -5n, -4n, 4n, 5n, 7n].map((n) => divideToNearestEven(n, 3n))).toEqual([-2n, -2n, -1n, 1n, 2n, 2n])
    expect(divideToNearestEven(2n ** 80n + 1n, 2n)).toBe(2n ** 79n)
  })
})
