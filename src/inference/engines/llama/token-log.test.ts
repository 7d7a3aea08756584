import { expect, test } from 'vitest'
import { createReasoningReader, plainReply } from '../text/reasoning.ts'
import { createDetokenizer, cutAtStops } from '../text/text-stream.ts'
import { choiceWith } from './choice.fixture.ts'
import { anyText, eventsOf } from './choice.ts'
import { createTokenLog } from './token-log.ts'

// The tokens are bytes, or the words below, by their number from 256 on.
const WORDS = ['<think>', '</think>', 'well', '\n\n', 'yes', ' we', ' say', ' no']
const bytesOf = (token: number): Uint8Array => (token < 256 ? Uint8Array.of(token) : Buffer.from(WORDS[token - 256]!))
const detokenize = (tokens: readonly number[]): string => Buffer.concat(tokens.map(bytesOf)).toString('utf8')
const numbersOf = (...texts: string[]): number[] =>
  texts.flatMap((text) => (WORDS.includes(text) ? [256 + WORDS.indexOf(text)] : [...Buffer.from(text)]))

/** Returns, for each event of a reply, its text and the tokens with it. */
const logOf = (
  tokens: readonly number[],
  { stop = [] as string[], reasons = false, closing = anyText, step = 1 } = {},
) => {
  const log = createTokenLog({ bytesOf, detokenize, vocabulary: 264 }, 0, null)
  const choice = choiceWith({
    limit: tokens.length + 1,
    text: cutAtStops(createDetokenizer(detokenize), stop),
    reply: reasons ? createReasoningReader(false, null) : plainReply,
    closing,
    log,
  })
  const shown: [string, string[]][] = []
  for (let at = 0; at < tokens.length && !choice.over; at += step) {
    const some = tokens.slice(at, at + step)
    for (const token of some) {
      log.scored(choice.tokens.length, token, { logprob: -token, top: [] })
      choice.tokens.push(token)
    }
    for (const event of eventsOf({ choice, tokens: some, ended: false }))
      if (event.type === 'text') shown.push([event.text, (event.logprobs ?? []).map(({ token }) => token)])
  }
  return shown
}

test('tokens come with their text, also several at a time, and those within a character with the character', () => {
  expect(logOf(numbersOf('yes', 'é', ' no'))).toEqual([
    ['yes', ['yes']],
    ['é', ['\ufffd', '\ufffd']],
    [' no', [' no']],
  ])
  expect(logOf(numbersOf('yes', 'é', ' no'), { step: 4 })).toEqual([['yesé no', ['yes', '\ufffd', '\ufffd', ' no']]])
})

test('the tokens of an incomplete character at the limit are generated, and shown without a text', () => {
  expect(logOf([...numbersOf('yes'), 0xe2, 0x82])).toEqual([
    ['yes', ['yes']],
    ['', ['\ufffd', '\ufffd']],
  ])
})

test('tokens that a stop sequence cuts off are not shown, but one of which a part remains is', () => {
  expect(logOf(numbersOf('yes', ' we', ' say', ' no'), { stop: [' say'] })).toEqual([
    ['yes', ['yes']],
    [' we', [' we']],
  ])
  expect(logOf(numbersOf('yes', ' we', ' say', ' no'), { stop: ['ay no'] })).toEqual([
    ['yes', ['yes']],
    [' we', [' we']],
    [' s', [' say']],
  ])
  expect(logOf(numbersOf('yes', ' no'), { stop: ['no!'], step: 2 })).toEqual([['yes no', ['yes', ' no']]])
})

test('reasoning has no log probabilities, nor have the marks and spaces around it', () => {
  const reply = numbersOf('<think>', 'well', '\n\n', 'well', '</think>', '\n\n', 'yes', ' we')
  expect(logOf(reply, { reasons: true })).toEqual([
    ['yes', ['yes']],
    [' we', [' we']],
  ])
  expect(logOf(reply, { reasons: true, step: 8 })).toEqual([['yes we', ['yes', ' we']]])
  expect(logOf(numbersOf('<think>', 'well', '\n\n'), { reasons: true })).toEqual([])
  expect(logOf(numbersOf('<', 'yes'), { reasons: true })).toEqual([['<yes', ['<', 'yes']]])
})

test('a token that a schema does not take is not shown, nor has the ending that is added any', () => {
  const closing = { take: (text: string) => !text.includes('no'), ending: () => '!!!' }
  expect(logOf(numbersOf('yes', ' no'), { closing })).toEqual([
    ['yes', ['yes']],
    ['!!!', []],
  ])
  expect(logOf(numbersOf('yes', ' we'), { closing })).toEqual([
    ['yes', ['yes']],
    [' we!!!', [' we']],
  ])
})
