import { describe, expect, test } from 'vitest'
import { createTextStream } from './text-stream.ts'

/** A vocabulary of single bytes, as models have it for what they know no word for. */
const bytes = (tokens: readonly number[]): string => Buffer.from(tokens).toString('utf8')

const run = (text: string, stops: readonly string[]) => {
  const stream = createTextStream(bytes, stops)
  const pieces: string[] = []
  for (const byte of Buffer.from(text)) {
    const { text: certain, stopped } = stream.push(byte)
    if (certain !== '') pieces.push(certain)
    if (stopped !== null) return { pieces, stopped }
  }
  const rest = stream.end()
  if (rest !== '') pieces.push(rest)
  return { pieces, stopped: null }
}

describe('text of tokens', () => {
  test('comes in whole characters, however many tokens each takes', () => {
    const { pieces } = run('aé€😀.', [])
    expect(pieces).toEqual(['a', 'é', '€', '😀', '.'])
  })

  test('drops half a character at the end', () => {
    const stream = createTextStream(bytes, [])
    const [first, second] = Buffer.from('€')
    expect([stream.push(0x61), stream.push(first!), stream.push(second!)].map(({ text }) => text)).toEqual([
      'a',
      '',
      '',
    ])
    expect(stream.end()).toBe('')
  })

  test('goes on after bytes that are no character', () => {
    const stream = createTextStream(bytes, [])
    const text = [0xff, 0x61, 0x62].map((byte) => stream.push(byte).text).join('') + stream.end()
    expect(text).toBe('\ufffdab')
  })

  test('ends before a stop sequence, which is never seen in part', () => {
    expect(run('one END two', ['END'])).toEqual({ pieces: ['o', 'n', 'e', ' '], stopped: 'END' })
  })

  test('gives back what only looked like the beginning of a stop sequence', () => {
    const { pieces, stopped } = run('EN ENE', ['END'])
    expect(pieces).toEqual(['EN ', 'EN', 'E'])
    expect(stopped).toBeNull()
  })

  test('ends at the first of several stop sequences', () => {
    expect(run('abcdef', ['ef', 'cd']).pieces.join('')).toBe('ab')
    expect(run('aab', ['ab']).pieces.join('')).toBe('a')
  })

  test('knows no stop in an empty one', () => {
    expect(run('abc', ['']).pieces.join('')).toBe('abc')
  })
})
