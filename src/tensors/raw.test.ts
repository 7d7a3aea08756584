import { expect, it } from 'vitest'
import { createPlausibility, namesRawVector } from './raw.ts'

const doubt = (...chunks: readonly (readonly number[])[]): string | null => {
  const plausibility = createPlausibility()
  for (const chunk of chunks) plausibility.add(Float32Array.from(chunk))
  return plausibility.doubt()
}

it('accepts the extreme plausible values and rejects the next floats beyond them', () => {
  expect(doubt([1e9, -1e9])).toBeNull()
  expect(doubt([1e9 + 64])).toBe('read as float32, 1 of 1 values lie outside 1e-20 to 1000000000 in magnitude')
  expect(doubt([1.0000001e-20])).toBeNull()
  expect(doubt([9.999e-21])).toContain('1 of 1')
})

it('counts across all chunks', () => {
  const ones = new Array<number>(500).fill(1)
  expect(doubt([...ones, 1e30], ones.slice(1))).toBeNull()
  expect(doubt([...ones, 1e30], ones.slice(2))).toContain('1 of 999')
  expect(doubt(ones, ones, [Number.POSITIVE_INFINITY], ones, ones)).toBe(
    'read as float32, some values are NaN or infinite',
  )
})

it('recognizes a raw vector only by the end of the file name', () => {
  for (const name of ['a.f32', 'A.F32', '.f32']) expect(namesRawVector(name)).toBe(true)
  for (const name of ['a.f32x', 'f32', 'a.f32.bin', 'af32']) expect(namesRawVector(name)).toBe(false)
})
