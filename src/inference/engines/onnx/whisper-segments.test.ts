import { expect, test } from 'vitest'
import { segmentsOf } from './whisper-segments.ts'

const TOKENS = { firstTimestamp: 1000 }
const at = (seconds: number): number => 1000 + Math.round(seconds * 50)

test.each([
  ['one segment up to silence', [at(0), 1, 2, at(1.5)], [[0, 1.5, [1, 2]]], 30],
  [
    'two segments',
    [at(0), 1, at(1), at(1.2), 2, at(3)],
    [
      [0, 1, [1]],
      [1.2, 3, [2]],
    ],
    30,
  ],
  ['more to come after the last segment', [at(0), 1, at(4), at(4)], [[0, 4, [1]]], 4],
  ['a segment that the window cut off', [at(0), 1, at(4), at(4.2), 2, 3], [[0, 4, [1]]], 4],
  ['one segment alone that was cut off', [at(0.5), 1, 2], [[0.5, 30, [1, 2]]], 30],
  ['no words', [at(0), at(30)], [], 30],
  ['nothing', [], [], 30],
  ['times beyond the window', [at(0), 1, at(40)], [[0, 30, [1]]], 30],
])('%s', (_, response, segments, nextStart) => {
  expect(segmentsOf(TOKENS, response, 30)).toEqual({
    segments: segments.map(([start, end, tokens]) => ({ start, end, tokens })),
    nextStart,
  })
})
