import { expect, it } from 'vitest'
import { cosine } from './similarity.ts'

it('the cosine of two vectors is 1 for the same direction, 0 for right angles, and -1 for opposite directions', () => {
  expect(cosine([1, 2], [2, 4])).toBeCloseTo(1, 12)
  expect(cosine([1, 0], [0, 3])).toBe(0)
  expect(cosine([1, 1], [-2, -2])).toBeCloseTo(-1, 12)
})

it('is null if a vector has no direction', () => {
  expect([cosine([0, 0], [1, 1]), cosine([1, 2], [1]), cosine([1], [Number.NaN])]).toEqual([null, null, null])
})
