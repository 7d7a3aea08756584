import { expect, it } from 'vitest'
import { outliers } from './outliers.ts'

it('a value far from the others is an outlier, however few hide among how many', () => {
  expect(outliers([1, 1.1, 0.9, 1.05, 9])).toEqual([false, false, false, false, true])
  expect(outliers([1, 1.2, null, 0.8, 1.1, 100, 90])).toEqual([false, false, false, false, false, true, true])
})

it('among equals, or too few, there is none', () => {
  expect(outliers([2, 2, 2, 2, 5])).toEqual([false, false, false, false, false])
  expect(outliers([1, 1, 50])).toEqual([false, false, false])
})
