import { describe, expect, test } from 'vitest'
import { HERMES, LLAMA } from '../../structured-output/tool-syntax.ts'
import { createDetokenizer, cutAtStops, type TextStream } from './text-stream.ts'

/** A vocabulary of single bytes, which models use for unknown words. */
const bytes = (tokens: readonly number[]): string => Buffer.from(tokens).toString('utf8')

const run = (
  text: string,
  stops: readonly string[],
  stream: TextStream = cutAtStops(createDetokenizer(bytes), stops),
) => {
  const pieces: string[] = []
  for (const byte of Buffer.from(text)) {
    const { text: certain, stopped } = stream.push(byte)
    if (certain !== '') pieces.push(certain)
    if (stopped !== null) return { pieces, stopped }
  }
  const rest = stream.end()
  if (rest.text !== '') pieces.push(rest.text)
  return { pieces, stopped: rest.stopped }
}

describe('text of tokens', () => {
  test('arrives in whole characters, however many tokens each takes', () => {
    const { pieces } = run('aé€😀.', [])
    expect(pieces).toEqual(['a', 'é', '€', '😀', '.'])
  })

  test('keeps the space before a word that continues a text, which vocabularies drop before the first word', () => {
    const words = (tokens: readonly number[]): string =>
      tokens
        .map((token) => ` ${token}`)
        .join('')
        .slice(1)
    const [alone, after] = [createDetokenizer(words), createDetokenizer(words, [7])]
    expect([alone.push(1), alone.push(2)]).toEqual(['1', ' 2'])
    expect([after.push(1), after.push(2)]).toEqual([' 1', ' 2'])
  })

  test('drops an incomplete character at the end', () => {
    const stream = cutAtStops(createDetokenizer(bytes), [])
    const [first, second] = Buffer.from('€')
    expect([stream.push(0x61), stream.push(first!), stream.push(second!)].map(({ text }) => text)).toEqual([
      'a',
      '',
      '',
    ])
    expect(stream.end()).toEqual({ text: '', stopped: null })
  })

  test('continues after bytes that are not a character', () => {
    const stream = cutAtStops(createDetokenizer(bytes), [])
    const text = [0xff, 0x61, 0x62].map((byte) => stream.push(byte).text).join('') + stream.end().text
    expect(text).toBe('\ufffdab')
  })

  test('ends before a stop sequence, no part of which is emitted', () => {
    expect(run('one END two', ['END'])).toEqual({ pieces: ['o', 'n', 'e', ' '], stopped: 'END' })
  })

  test('returns text that only looked like the start of a stop sequence', () => {
    const { pieces, stopped } = run('EN ENE', ['END'])
    expect(pieces).toEqual(['EN ', 'EN', 'E'])
    expect(stopped).toBeNull()
  })

  test('ends at the first of several stop sequences', () => {
    expect(run('abcdef', ['ef', 'cd']).pieces.join('')).toBe('ab')
    expect(run('aab', ['ab']).pieces.join('')).toBe('a')
  })

  test('ignores an empty stop sequence', () => {
    expect(run('abc', ['']).pieces.join('')).toBe('abc')
  })

  test('stop sequences are searched outside calls only, whose syntax clients do not see', () => {
    const calling = (text: string, stops: readonly string[], syntax = HERMES) => {
      const { pieces, stopped } = run(text, stops, cutAtStops(createDetokenizer(bytes), stops, syntax))
      return [pieces.join(''), stopped]
    }
    const call = '<tool_call>\n{"name": "f", "arguments": {"a": "END"}}\n</tool_call>'
    expect(calling(call, ['"name"', 'END', '<', '<tool_call>'])).toEqual([call, null])
    expect(calling(`Yes, ${call}`, [' <', 'END'])).toEqual([`Yes, ${call}`, null])
    expect(calling(`Yes, END ${call}`, ['END'])).toEqual(['Yes, ', 'END'])
    expect(calling('a <tool b', ['<t'])).toEqual(['a ', '<t'])
    for (const stop of ['a <', ' <', ' <t', 'a <tool ', 'ool b']) {
      const text = 'a <tool b'
      expect(calling(text, [stop])).toEqual([text.slice(0, text.indexOf(stop)), stop])
    }
    expect(calling('a <tool', ['<t'])).toEqual(['a ', '<t'])
    expect(calling('a <tool', ['<tool_call>'])).toEqual(['a <tool', null])
    const whole = '{"name": "f", "parameters": {}}'
    expect(calling(whole, ['"', '{'], LLAMA)).toEqual([whole, null])
    expect(calling(`Yes, ${whole}`, ['{'], LLAMA)).toEqual(['Yes, ', '{'])
    expect(calling('{"na', ['{'], LLAMA)).toEqual(['', '{'])
  })
})
