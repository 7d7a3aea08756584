import { expect, test } from 'vitest'
import { seededRandom, seedFrom } from './random.ts'

const take = (count: number, draw: () => number): number[] => Array.from({ length: count }, draw)

test('the same seed gives the same sequence, another seed gives another', () => {
  const first = take(5, seededRandom(7).uniform)
  expect(take(5, seededRandom(7).uniform)).toEqual(first)
  expect(take(5, seededRandom(8).uniform)).not.toEqual(first)
  expect(take(5, seededRandom(7 + 2 ** 32).uniform)).not.toEqual(first)
})

test('uniform numbers are evenly distributed over [0, 1)', () => {
  const numbers = take(100_000, seededRandom(1).uniform)
  const tenths = new Array<number>(10).fill(0)
  for (const number of numbers) tenths[Math.floor(number * 10)]!++
  // The standard deviation of each count is 95.
  for (const count of tenths) expect(Math.abs(count - 10_000)).toBeLessThan(450)
})

test('normal numbers have the requested mean, deviation and tails', () => {
  const random = seededRandom(2)
  const numbers = take(100_000, () => random.normal(3, 2))
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length
  const variance = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0) / numbers.length
  const beyondTwo = numbers.filter((value) => Math.abs(value - 3) > 4).length / numbers.length
  expect(mean).toBeCloseTo(3, 1)
  expect(Math.sqrt(variance)).toBeCloseTo(2, 1)
  expect(beyondTwo).toBeCloseTo(0.0455, 2)
})

test('shuffling keeps every item and depends on the seed', () => {
  const items = Uint32Array.from({ length: 50 }, (_, index) => index)
  const shuffled = items.slice()
  seededRandom(3).shuffle(shuffled)
  const again = items.slice()
  seededRandom(3).shuffle(again)
  expect(again).toEqual(shuffled)
  expect(shuffled).not.toEqual(items)
  expect(shuffled.slice().sort()).toEqual(items)
})

test("a text's seed is its FNV-1a hash", () => {
  expect([seedFrom(''), seedFrom('a'), seedFrom('foobar')]).toEqual([0x811c9dc5, 0xe40c292c, 0xbf9cf968])
})
