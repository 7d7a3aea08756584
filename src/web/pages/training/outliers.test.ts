import { expect, it } from 'vitest'
import { outliers } from './outliers.ts'

it('a value far from the others is an outlier, even if there are several', () => {
  expect(outliers([1, 1.1, 0.9, 1.05, 9])).toEqual([false, false, false, false, true])
  expect(outliers([1, 1.2, null, 0.8, 1.1, 100, 90])).toEqual([false, false, false, false, false, true, true])
})

it('finds no outliers among mostly equal values, or if there are too few values', () => {
  expect(outliers([2, 2, 2, 2, 5])).toEqual([false, false, false, false, false])
  expect(outliers([1, 1, 50])).toEqual([false, false, false])
})
