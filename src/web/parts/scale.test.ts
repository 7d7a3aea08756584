import { expect, it } from 'vitest'
import { scaleOf } from './scale.ts'

it('a scale contains all values with some padding, and has round ticks', () => {
  const { from, to, ticks, at } = scaleOf([0.13, 0.91])
  expect([from, to]).toEqual([expect.closeTo(0.0988, 9), expect.closeTo(0.9412, 9)])
  expect(ticks).toEqual([0.2, 0.4, 0.6, 0.8])
  expect([at(from), at((from + to) / 2), at(to)]).toEqual([0, 0.5, 1])
})

it.each([
  ['none', [], 0, 1],
  ['one', [7], 3.5, 10.5],
  ['zero', [0], -0.5, 0.5],
  ['what is not finite, which is left out', [Number.NaN, Number.POSITIVE_INFINITY, 7], 3.5, 10.5],
  ['the largest that are reported', [-3.4e38, 3.4e38], -3.67e38, 3.67e38],
])('a scale of %s has a width', (_, values, from, to) => {
  const scale = scaleOf(values)
  expect(scale.from).toBeLessThanOrEqual(from)
  expect(scale.to).toBeGreaterThanOrEqual(to)
  expect(scale.ticks.length).toBeGreaterThan(1)
  expect(scale.ticks.every((tick) => tick >= scale.from && tick <= scale.to)).toBe(true)
})
