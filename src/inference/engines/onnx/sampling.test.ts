import { expect, test } from 'vitest'
import { createRandom } from '../../../domain/random-numbers.ts'
import { sample } from './chat-model.ts'

const SCORES = Float32Array.from([0.5, 0.3, 0.15, 0.05], Math.log)

const shares = (temperature: number, topP: number): number[] => {
  const random = createRandom(7)
  const counts = [0, 0, 0, 0]
  for (let time = 0; time < 20_000; time += 1) counts[sample(SCORES, temperature, topP, random)]! += 1 / 20_000
  return counts.map((share) => Math.round(share * 50) / 50)
}

test('tokens are drawn according to their probabilities', () => {
  expect(shares(1, 1)).toEqual([0.5, 0.3, 0.14, 0.06].map((share) => expect.closeTo(share, 1)))
})

test('a low temperature favors likely tokens, and zero takes the most likely one', () => {
  // 0.5 ** 2 divided by the sum of squares.
  expect(shares(0.5, 1)[0]).toBeCloseTo(0.25 / 0.365, 1)
  expect(shares(0, 1)).toEqual([1, 0, 0, 0])
})

test('top_p keeps the fewest tokens that reach it, and at least one', () => {
  expect(shares(1, 0.8)).toEqual([expect.closeTo(0.62, 1), expect.closeTo(0.38, 1), 0, 0])
  expect(shares(1, 0.01)).toEqual([1, 0, 0, 0])
})

test('scores that are not numbers are refused', () => {
  const scores = Float32Array.of(Number.NaN, Number.NaN)
  expect(() => sample(scores, 0, 1, createRandom(1))).toThrow('The model produced NaN or infinite values.')
})

test('forbidden tokens are never drawn', () => {
  const scores = Float32Array.of(Number.NEGATIVE_INFINITY, 0, Number.NEGATIVE_INFINITY)
  const random = createRandom(1)
  expect(new Set(Array.from({ length: 100 }, () => sample(scores, 2, 1, random)))).toEqual(new Set([1]))
})
