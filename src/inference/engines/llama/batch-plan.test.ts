import { expect, test } from 'vitest'
import { type Occupied, planBatch } from './batch-plan.ts'
import { choiceWith } from './choice.fixture.ts'
import type { Choice } from './choice.ts'

const choice = (id: number, tokens: number, filled: number, drafts: readonly number[] = []): Choice =>
  choiceWith({
    id,
    promptTokens: tokens,
    tokens: Array.from({ length: tokens }, (_, index) => index),
    filled,
    drafts,
    started: false,
  })

const plan = (occupied: readonly Occupied[], more: { batch?: number; prompt?: number; apart?: boolean } = {}) =>
  planBatch(occupied, {
    batchTokens: more.batch ?? 16,
    promptTokens: () => more.prompt ?? 8,
    // Streams in one batch are as fast as one after another, or much slower.
    costs: { of: (tokens) => (more.apart ? tokens ** 2 : tokens) },
  }).map(({ sequence, position, tokens, outputs }) => [sequence, position, tokens.length, [...outputs]])

test('a prompt is read in the fewest equal pieces of whole fours or whole tiles, and answered at its end', () => {
  const pieces = (tokens: number, batch: number): number[] => {
    const counts: number[] = []
    for (let filled = 0; filled < tokens; filled += counts.at(-1)!) {
      const [[, at, count, outputs] = []] = plan([{ slot: 0, choice: choice(1, tokens, filled) }], { batch })
      counts.push(count as number)
      expect([at, outputs]).toEqual([filled, filled + counts.at(-1)! === tokens ? [counts.at(-1)! - 1] : []])
    }
    return counts
  }
  expect(pieces(16, 16)).toEqual([16])
  expect(pieces(20, 16)).toEqual([12, 8])
  expect(pieces(33, 16)).toEqual([12, 12, 9])
  expect(pieces(20, 3)).toEqual([3, 3, 3, 3, 3, 3, 2])
  expect(pieces(570, 256)).toEqual([192, 192, 186])
  expect(pieces(1137, 256)).toEqual([256, 256, 256, 192, 177])
  expect(pieces(1137, 300)).toEqual([256, 256, 256, 192, 177])
  expect(pieces(300, 200)).toEqual([192, 108])
})

test('next to streams, a prompt takes only its share, and is kept separate from them', () => {
  const occupied = [
    { slot: 2, choice: choice(3, 10, 9) },
    { slot: 0, choice: choice(1, 5, 4) },
    { slot: 1, choice: choice(2, 20, 0) },
  ]
  expect(plan(occupied)).toEqual([
    [0, 4, 1, [0]],
    [2, 9, 1, [0]],
    [1, 0, 8, []],
  ])
  // Behind slots 0 and 1, the prompt in slot 2 would be combined with them and cut after one token.
  const next = [
    { slot: 0, choice: choice(1, 5, 4) },
    { slot: 1, choice: choice(2, 7, 6) },
    { slot: 2, choice: choice(3, 20, 0) },
  ]
  expect(plan(next).map(([slot]) => slot)).toEqual([2, 0, 1])
})

test('next to streams, a prompt is read in whole fours, and its remainder token by token with them', () => {
  const stream = { slot: 0, choice: choice(1, 5, 4) }
  expect(plan([stream, { slot: 1, choice: choice(2, 7, 0) }])).toEqual([
    [1, 0, 4, []],
    [0, 4, 1, [0]],
  ])
  expect(plan([stream, { slot: 1, choice: choice(2, 7, 4) }])).toEqual([
    [0, 4, 1, [0]],
    [1, 4, 1, []],
  ])
  expect(plan([{ slot: 1, choice: choice(2, 7, 4) }])).toEqual([[1, 4, 3, [2]]])
})

test('the oldest prompt is read first, regardless of its slot', () => {
  const occupied = [
    { slot: 0, choice: choice(9, 20, 0) },
    { slot: 1, choice: choice(4, 10, 0) },
    { slot: 2, choice: choice(12, 3, 0) },
  ]
  // The next prompt's piece of 10 does not fit as well, and no newer prompt overtakes it.
  expect(plan(occupied)).toEqual([[1, 0, 10, [9]]])
  expect(plan(occupied.slice(1))).toEqual([
    [1, 0, 10, [9]],
    [2, 0, 3, [2]],
  ])
})

test('a batch full of streams reads no prompt', () => {
  const occupied = [
    { slot: 0, choice: choice(1, 5, 4) },
    { slot: 1, choice: choice(2, 5, 4) },
    { slot: 2, choice: choice(3, 20, 0) },
  ]
  expect(plan(occupied, { batch: 2 }).map(([slot]) => slot)).toEqual([0, 1])
})

test("guesses are checked after the next token, and never take another stream's place", () => {
  const occupied = [
    { slot: 0, choice: choice(1, 5, 4, [7, 8, 9]) },
    { slot: 1, choice: choice(2, 5, 4, [7]) },
  ]
  expect(plan(occupied)).toEqual([
    [0, 4, 4, [0, 1, 2, 3]],
    [1, 4, 2, [0, 1]],
  ])
  expect(plan(occupied, { batch: 3 })).toEqual([
    [0, 4, 2, [0, 1]],
    [1, 4, 1, [0]],
  ])
})

test('streams that are faster one after another are in descending order', () => {
  const occupied = [0, 1, 2].map((slot) => ({ slot, choice: choice(slot, 5, 4) }))
  expect(plan(occupied, { apart: true }).map(([slot]) => slot)).toEqual([2, 1, 0])
})
