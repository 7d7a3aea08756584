import { expect, test } from 'vitest'
import { textsOf, tokenizePrompt } from './completion-prompt.ts'

// Tokens are letters, and with `special`, <s> is the token 1.
const model = {
  vocabulary: 128,
  firstToken: 1,
  gapTokens: [2, 3, 4] as const,
  tokenize: (text: string, special: boolean) =>
    Uint32Array.from(text.split(special ? /(<s>|.)/u : /(.)/u).filter(Boolean), (piece) =>
      piece === '<s>' ? 1 : piece.charCodeAt(0),
    ),
  detokenize: (tokens: readonly number[]) =>
    tokens.map((token) => (token === 1 ? '<s>' : String.fromCharCode(token))).join(''),
}
const A = 'a'.charCodeAt(0)
const plain = { suffix: null, echo: false }

test("the model's first token comes before a text that does not begin with it, and never before tokens", () => {
  expect(tokenizePrompt(model, { ...plain, prompt: 'a' })).toEqual([1, A])
  expect(tokenizePrompt(model, { ...plain, prompt: '<s>a' })).toEqual([1, A])
  expect(tokenizePrompt(model, { ...plain, prompt: '' })).toEqual([1])
  expect(tokenizePrompt(model, { ...plain, prompt: [A] })).toEqual([A])
  expect(tokenizePrompt({ ...model, firstToken: null }, { ...plain, prompt: 'a' })).toEqual([A])
})

test('a gap is between the tokens for it, in texts whose special words are letters', () => {
  const before = [...'<s>a'].map((letter) => letter.charCodeAt(0))
  const filled = { prompt: '<s>a', suffix: 'a', echo: false }
  expect(tokenizePrompt(model, filled)).toEqual([1, 2, ...before, 3, A, 4])
  expect(tokenizePrompt(model, { ...filled, prompt: [A] })).toEqual([2, A, 3, A, 4])
})

test('a first token that was added has no text, and one that the client wrote has', () => {
  expect(textsOf(model, 'a', [1, A])).toEqual(['', 'a'])
  expect(textsOf(model, '<s>a', [1, A])).toEqual(['<s>', 'a'])
  expect(textsOf(model, [1, A], [1, A])).toEqual(['<s>', 'a'])
})
