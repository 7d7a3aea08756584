import { expect, it } from 'vitest'
import { lookUp } from './prompt-lookup.ts'

it.each<readonly [string, readonly number[], number, readonly number[]]>([
  ['what followed the last tokens when they stood there before', [1, 2, 3, 4, 5, 9, 1, 2, 3], 2, [4, 5]],
  ['what followed the longer match, not the later one', [7, 1, 2, 3, 9, 1, 2, 4, 8, 7, 1, 2], 1, [3]],
  ['what followed the later of equal matches', [1, 2, 3, 9, 1, 2, 4, 8, 1, 2], 1, [4]],
  ['the loop that a text is in, as often as asked', [1, 2, 1, 2, 1, 2], 5, [1, 2, 1, 2, 1]],
  ['one token again and again', [5, 5, 5], 3, [5, 5, 5]],
  ['nothing where only one token agrees', [1, 2, 3, 4, 2], 4, []],
  ['nothing of nothing', [], 4, []],
  ['no more than is asked for', [1, 2, 3, 1, 2], 0, []],
])('guesses %s', (_, tokens, max, guess) => {
  expect(lookUp(tokens, max)).toEqual(guess)
})

it('does not search further back than its limit', () => {
  const text = [1, 2, 3, ...Array.from({ length: 17_000 }, (_, n) => 10 + n), 1, 2]
  expect(lookUp(text, 1)).toEqual([])
})
