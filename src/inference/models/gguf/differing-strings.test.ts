import { expect, test } from 'vitest'
import { watchStrings } from './metadata.ts'

const allDiffer = (texts: readonly string[], count = texts.length): boolean => {
  const watch = watchStrings(count)
  for (const text of texts) {
    const window = Buffer.from(`around ${text} it`, 'latin1')
    watch.see(window, 7, 7 + text.length)
  }
  return watch.allDiffer()
}

const TOKENS = Array.from({ length: 200_000 }, (_, id) => `tok${id.toString(36)}`)

test('recognizes that all strings differ', () => {
  expect(allDiffer(TOKENS)).toBe(true)
  expect(allDiffer(Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).slice(1))).toBe(true)
  expect(allDiffer(['only'])).toBe(true)
})

test.each([
  ['one twice, far apart', [...TOKENS, TOKENS[3]!]],
  ['the same to the first zero', ['a\0b', 'b', 'a\0c']],
  ['an empty one', ['a', '', 'b']],
])('%s: not certain to differ', (_name, texts) => {
  expect(allDiffer(texts)).toBe(false)
})

test('makes no claim about more strings than any vocabulary has, and allocates no memory for them', () => {
  expect(allDiffer(['a', 'b'], 2 ** 26)).toBe(false)
})

test('strings chosen to have colliding hashes cost no more than others', () => {
  const hash = (text: string): number =>
    [...Buffer.from(text)].reduce((sum, byte) => Math.imul(sum ^ byte, 0x01000193), 0x811c9dc5)
  const place = (text: string): number => (hash(text) ^ (hash(text) >>> 16)) & 127
  const alike = TOKENS.filter((text) => place(text) === 5).slice(0, 63)
  expect(alike).toHaveLength(63)
  expect(allDiffer(alike)).toBe(false)
  expect(allDiffer(TOKENS.slice(0, 63))).toBe(true)
})
