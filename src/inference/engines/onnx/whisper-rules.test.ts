import { expect, test } from 'vitest'
import { createRun, preambleLength, type WhisperTokens } from './whisper-rules.ts'

// Words are 0 to 9, timestamps 20 to 39.
const TOKENS: WhisperTokens = {
  end: 10,
  start: 11,
  languages: new Map([
    ['en', 12],
    ['de', 13],
  ]),
  transcribe: 14,
  noTimestamps: 19,
  firstTimestamp: 20,
  suppressed: [9],
  suppressedAtBegin: [8, 10],
  latestFirstTimestamp: 5,
}
const PREAMBLE = [11, 12, 14]

const scores = (likely: Readonly<Record<number, number>>): Float32Array =>
  Float32Array.from({ length: 40 }, (_, token) => likely[token] ?? -10)

/** Returns the tokens that may be chosen next. */
const allowed = (sequence: readonly number[], given: Float32Array, requested: string | null = 'en', times = true) => {
  const run = createRun(TOKENS, requested, times)
  run.limit(sequence, given)
  return [...given.keys()].filter((token) => given[token] !== Number.NEGATIVE_INFINITY)
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

test('without a given language, the most likely one is used', () => {
  const run = createRun(TOKENS, null, true)
  const given = scores({ 3: 9, 12: 1, 13: 2 })
  run.limit([11], given)
  expect([run.language, given[13], given[3]]).toEqual(['de', 0, Number.NEGATIVE_INFINITY])
  expect(allowed([11], scores({ 13: 9 }), 'en')).toEqual([12])
})

test('the task follows the language, and without timestamps the token for that follows', () => {
  expect(allowed([11, 12], scores({}))).toEqual([14])
  expect(allowed([11, 12, 14], scores({}), 'en', false)).toEqual([19])
  expect([preambleLength(TOKENS, true), preambleLength(TOKENS, false)]).toEqual([3, 4])
})

test('an English-only model gets neither language nor task', () => {
  const english = { ...TOKENS, languages: new Map<string, number>() }
  const given = scores({})
  createRun(english, 'en', false).limit([11], given)
  expect([...given.keys()].filter((token) => given[token] === 0)).toEqual([19])
  expect([preambleLength(english, true), preambleLength(english, false)]).toEqual([1, 2])
})

test('speech starts with a timestamp that is not too late', () => {
  expect(allowed(PREAMBLE, scores({ 30: 5 }))).toEqual(range(20, 26))
})

test('a model that would start with a word was not trained on timestamps', () => {
  const run = createRun(TOKENS, 'en', true)
  const given = scores({ 1: 5 })
  run.limit(PREAMBLE, given)
  expect([run.knowsTimestamps, given[TOKENS.end]]).toEqual([false, 0])
})

test('words follow the first timestamp, except suppressed ones', () => {
  expect(allowed([...PREAMBLE, 20], scores({ 1: 5 }))).toEqual([...range(0, 8), ...range(11, 19)])
})

test('a timestamp closes a segment only if all timestamps together are more likely than any word', () => {
  const words = allowed([...PREAMBLE, 20, 1], scores({ 1: 5, 21: 4 }))
  expect(words).toEqual([...range(0, 9), ...range(10, 19), ...range(21, 40)])
  expect(allowed([...PREAMBLE, 20, 1], scores({ 1: 5, 25: 4.5, 26: 4.5 }))).toEqual(range(21, 40))
})

test('a closed segment is followed by the end or by a next segment that is not earlier', () => {
  const next = [...range(10, 19), ...range(30, 40)]
  expect(allowed([...PREAMBLE, 20, 1, 30], scores({ 10: 5 }))).toEqual(next)
  expect(allowed([...PREAMBLE, 20, 1, 30, 30], scores({ 1: 5 }))).toEqual([...range(0, 9), ...range(10, 19)])
})
