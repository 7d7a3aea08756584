import { expect, test } from 'vitest'
import { createPace } from './batch-plan.ts'

const pace = (millisecondsPerToken: number) => {
  const created = createPace(256)
  created.measured(100, 100 * millisecondsPerToken)
  return created
}

test('before any measurement, a prompt gets the minimum', () => {
  expect(createPace(256).promptTokens(1, 1)).toBe(128)
  expect(createPace(100).promptTokens(1, 1)).toBe(100)
})

test('a stream pauses a tenth of a second for a prompt, and longer the more prompts wait', () => {
  expect(pace(0.6).promptTokens(1, 1)).toBe(160)
  expect(pace(0.6).promptTokens(8, 1)).toBe(160)
  expect(pace(0.6).promptTokens(4, 5)).toBe(192)
  expect(pace(0.6).promptTokens(1, 31)).toBe(256)
})

test('on a slow machine, short prompts are still read whole', () => {
  expect(pace(10).promptTokens(8, 1)).toBe(128)
})

test('batches with few prompt tokens do not affect the measured speed', () => {
  const created = pace(0.6)
  created.measured(31, 31_000)
  expect(created.promptTokens(1, 1)).toBe(160)
})
