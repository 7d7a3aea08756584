import { expect, it } from 'vitest'
import { percentilesOf } from './benchmark.ts'

it('percentiles are measured values, with the worst ones last', () => {
  const values = Array.from({ length: 10 }, (_, index) => 10 - index)
  expect(percentilesOf(values, 'highest')).toEqual({ p50: 5, p90: 9, p99: 10 })
  expect(percentilesOf(values, 'lowest')).toEqual({ p50: 6, p90: 2, p99: 1 })
  expect(percentilesOf([7], 'highest')).toEqual({ p50: 7, p90: 7, p99: 7 })
  const hundred = Array.from({ length: 200 }, (_, index) => index + 1)
  expect(percentilesOf(hundred, 'highest')).toEqual({ p50: 100, p90: 180, p99: 198 })
})
