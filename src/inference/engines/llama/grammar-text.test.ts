import { expect, test } from 'vitest'
import { tokenBytesOf } from './binding/load-model.ts'
import { createGrammarReader } from './response-grammars.ts'

const NORMAL = 4
const CONTROL = 8
const BYTE = 32

const read = (...tokens: readonly (readonly number[])[]) => {
  const reader = createGrammarReader((token) => Uint8Array.from(tokens[token]!))
  return [...tokens.keys()].map((token) => reader.push(token))
}

test('characters appear once they are complete, however tokens split them', () => {
  expect(read([0x61, 0xe6], [0x97], [0xa5, 0x62], [0xf0, 0x9f], [0x8e, 0x89])).toEqual(['a', '', '日b', '', '🎉'])
})

test('an overlong encoding is decoded to its character', () => {
  expect(read([0xf0], [0x86], [0x97], [0xa5])).toEqual(['', '', '', '日'])
  expect(read([0xe0, 0x81, 0xa1])).toEqual(['a'])
})

test('bytes that are not a character are not kept', () => {
  expect(read([0xf7, 0xbf, 0xbf, 0xbf], [0xe6, 0x61])).toEqual(['\ufffd', 'a'])
})

test('in byte-level vocabularies, tokens are bytes, and control words are their letters', () => {
  const bytes = tokenBytesOf('gpt2')!
  expect(Buffer.from(bytes('ĠhellÃ¶Ċ', NORMAL)).toString()).toBe(' hellö\n')
  expect([...bytes('æ', NORMAL)]).toEqual([0xe6])
  expect([...bytes('ŃĠĀ', NORMAL)]).toEqual([0xad, 0x20, 0])
  expect(Buffer.from(bytes('<|Ġ|>', CONTROL)).toString()).toBe('<|Ġ|>')
})

test('in SentencePiece vocabularies, tokens are their letters, with single-byte tokens for the rest', () => {
  const bytes = tokenBytesOf('llama')!
  expect(Buffer.from(bytes('▁hellö', NORMAL)).toString()).toBe(' hellö')
  expect([...bytes('<0xE6>', BYTE)]).toEqual([0xe6])
  expect(Buffer.from(bytes('<0xE6>', NORMAL)).toString()).toBe('<0xE6>')
  expect(Buffer.from(bytes('▁', CONTROL)).toString()).toBe('▁')
})

test('other vocabularies are not supported', () => {
  expect(tokenBytesOf('rwkv')).toBeNull()
})
