import { describe, expect, it } from 'vitest'
import { decodeElements, encodeElements, readTensorBytes, readTensorFloats } from './elements.ts'
import { bytesSource } from './sources.ts'
import { BYTES_OF, type DType, type Tensor } from './weight-file.ts'

const bytesOf = (values: ArrayLike<number>, dtype: DType): Uint8Array => encodeElements(values, dtype)

const tensor = (dtype: DType, shape: number[], strides: number[], more: Partial<Tensor> = {}): Tensor => ({
  name: 't',
  dtype,
  shape,
  strides,
  byteOffset: 0,
  bigEndian: false,
  deflated: null,
  ...more,
})

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

describe('gathering', () => {
  it.each<[DType, number[]]>(
    (Object.keys(BYTES_OF) as DType[]).filter((dtype) => dtype !== 'bool').map((dtype) => [dtype, count(24)]),
  )('reads %s with any strides and in either byte order', (dtype, values) => {
    const little = bytesOf(values, dtype)
    const big = new Uint8Array(little.length)
    for (let at = 0; at < big.length; at += BYTES_OF[dtype])
      big.set(little.subarray(at, at + BYTES_OF[dtype]).toReversed(), at)
    const floats = (bytes: Uint8Array, view: Tensor) => [...readTensorFloats(bytesSource(bytes), view)]
    const columns = [0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21]
    expect(floats(little, tensor(dtype, [2, 6], [1, 4]))).toEqual(columns)
    expect(floats(big, tensor(dtype, [2, 6], [1, 4], { bigEndian: true }))).toEqual(columns)
    expect(floats(big, tensor(dtype, [24], [1], { bigEndian: true }))).toEqual(values)
    expect(floats(little, tensor(dtype, [2, 2, 3], [12, 3, 1]))).toEqual([0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17])
    expect(floats(little, tensor(dtype, [2, 3], [0, 5], { byteOffset: BYTES_OF[dtype] }))).toEqual([1, 6, 11, 1, 6, 11])
    expect(floats(little, tensor(dtype, [], [], { byteOffset: 3 * BYTES_OF[dtype] }))).toEqual([3])
    expect(floats(little, tensor(dtype, [0, 3], [3, 1]))).toEqual([])
    expect(floats(little, tensor(dtype, [1, 3, 1], [99, 2, 7]))).toEqual([0, 2, 4])
  })

  it('reads a column-major matrix that is too large for one read in bounded reads', () => {
    const [rows, columns] = [1500, 2001]
    const values = Float32Array.from({ length: rows * columns }, (_, i) => i)
    const memory = bytesSource(new Uint8Array(values.buffer))
    let largest = 0
    const watched = {
      ...memory,
      read: (offset: number, length: number) => {
        largest = Math.max(largest, length)
        return memory.read(offset, length)
      },
    }
    const floats = readTensorFloats(watched, tensor('f32', [rows, columns], [1, rows]))
    expect(largest).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(largest).toBeGreaterThan(4 * 1024 * 1024)
    const wrong = [...floats.keys()].filter((i) => floats[i] !== (i % columns) * rows + Math.floor(i / columns))
    expect(wrong).toEqual([])
  })

  it('reads from sources that return Node buffers without modifying them', () => {
    const buffer = Buffer.from(bytesOf([1, 2, 3, 4], 'f32'))
    const before = Buffer.from(buffer)
    const source = { size: buffer.length, read: (at: number, length: number) => buffer.subarray(at, at + length) }
    const swapped = readTensorBytes(source, tensor('f32', [2, 2], [1, 2], { bigEndian: true }))
    expect(swapped).toHaveLength(16)
    expect(buffer.equals(before)).toBe(true)
  })
})

describe('numbers', () => {
  it('are exact in the narrowest array type that holds them', () => {
    expect(decodeElements(bytesOf([-1.5, 2], 'f16'), 'f16')).toEqual(new Float32Array([-1.5, 2]))
    expect(decodeElements(bytesOf([-1, 2 ** 31 - 1], 'i32'), 'i32')).toEqual(new Float64Array([-1, 2 ** 31 - 1]))
    expect(decodeElements(bytesOf([2 ** 53, 1], 'u64'), 'u64')).toEqual(new Float64Array([2 ** 53, 1]))
    expect(decodeElements(Uint8Array.of(0, 1, 7), 'bool')).toEqual(new Float32Array([0, 1, 1]))
  })

  it('are rounded to integers with ties to even and clamped to the range of their type', () => {
    const values = [0.5, 1.5, -0.5, -1.5, 2.4999, 1e30, -1e30, Number.NaN, Number.POSITIVE_INFINITY]
    const rounded = (dtype: DType) => [...decodeElements(encodeElements(values, dtype), dtype)]
    expect(rounded('i8')).toEqual([0, 2, 0, -2, 2, 127, -128, 0, 127])
    expect(rounded('u16')).toEqual([0, 2, 0, 0, 2, 65_535, 0, 0, 65_535])
    expect(rounded('i32')).toEqual([0, 2, 0, -2, 2, 2 ** 31 - 1, -(2 ** 31), 0, 2 ** 31 - 1])
    const wide = new BigInt64Array(new Uint8Array(encodeElements(values, 'i64')).buffer)
    expect([...wide]).toEqual([0n, 2n, 0n, -2n, 2n, 2n ** 63n - 1n, -(2n ** 63n), 0n, 2n ** 63n - 1n])
    const unsigned = new BigUint64Array(new Uint8Array(encodeElements(values, 'u64')).buffer)
    expect([...unsigned]).toEqual([0n, 2n, 0n, 0n, 2n, 2n ** 64n - 1n, 0n, 0n, 2n ** 64n - 1n])
  })

  it('survive a round trip through bytes in every type', () => {
    for (const dtype of Object.keys(BYTES_OF) as DType[]) {
      const values = dtype === 'bool' ? [0, 1, 1] : [0, 1, 100]
      expect([...decodeElements(encodeElements(values, dtype), dtype)]).toEqual(values)
    }
  })
})
