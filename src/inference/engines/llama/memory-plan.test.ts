import { expect, test } from 'vitest'
import { planMemory } from './memory-plan.ts'

const GB = 2 ** 30
const FIRST = 2 ** 25
const model = { trainContextTokens: 32_768, cacheBytesPerToken: 100_000 }

test('the context is as long as in training, up to 4096 tokens', () => {
  const memory = { free: 100 * GB, total: 200 * GB }
  expect(planMemory({ contextTokens: null, slots: 8 }, model, FIRST, memory)).toEqual({
    contextTokens: 4096,
    slots: 8,
    firstSlots: 8,
  })
  const short = { ...model, trainContextTokens: 512 }
  expect(planMemory({ contextTokens: null, slots: 8 }, short, FIRST, memory)).toEqual({
    contextTokens: 512,
    slots: 8,
    firstSlots: 8,
  })
})

test('eight slots if they take little memory, otherwise four; the first get memory at once, the others on demand', () => {
  const memory = { free: 100 * GB, total: 200 * GB }
  const usual = { contextTokens: null, slots: null }
  expect(planMemory(usual, model, FIRST, memory)).toEqual({ contextTokens: 4096, slots: 4, firstSlots: 1 })
  expect(planMemory(usual, { ...model, cacheBytesPerToken: 4096 }, FIRST, memory)).toEqual({
    contextTokens: 4096,
    slots: 8,
    firstSlots: 2,
  })
  expect(planMemory({ contextTokens: 300, slots: null }, model, FIRST, memory)).toEqual({
    contextTokens: 300,
    slots: 8,
    firstSlots: 8,
  })
})

test('with little memory the context is shorter, down to 256 tokens', () => {
  const memory = { free: 4 * GB, total: 8 * GB }
  expect(planMemory({ contextTokens: null, slots: 8 }, model, FIRST, memory)).toEqual({
    contextTokens: 2048,
    slots: 8,
    firstSlots: 8,
  })
  expect(planMemory({ contextTokens: null, slots: 8 }, model, FIRST, { ...memory, free: 1 })).toEqual({
    contextTokens: 256,
    slots: 8,
    firstSlots: 8,
  })
})

test('requested values are kept, or refused with the numbers', () => {
  const memory = { free: 1 * GB, total: 8 * GB }
  expect(planMemory({ contextTokens: 5000, slots: 4 }, model, FIRST, memory)).toEqual({
    contextTokens: 5000,
    slots: 4,
    firstSlots: 4,
  })
  expect(() => planMemory({ contextTokens: 50_000, slots: 4 }, model, FIRST, memory)).toThrow(
    '4 slots of 50000 tokens take 18.6 GB, but only 8.0 GB is available. Use fewer slots or a shorter context.',
  )
})
