import type { Detokenizer } from './text-stream.ts'

/** Bits of a character's value in its first byte, by how many bytes follow. */
const FIRST_BITS = [0x7f, 0x3f, 0x1f, 0x0f] as const
const LARGEST = 0x10ffff

/**
 * Reads tokens as a grammar of llama.cpp does: control words by their letters, and characters also in more bytes than they
 * need, which decode_utf8 in llama-grammar.cpp lets pass. Read in any other way, an answer is not what was held to the grammar:
 * four broken characters where the grammar saw one.
 */
export const createGrammarReader = (bytesOf: (token: number) => Uint8Array): Detokenizer => {
  let value = 0
  let missing = 0
  const read = (byte: number): string => {
    if (missing > 0 && byte >> 6 === 0b10) {
      value = (value << 6) | (byte & 0x3f)
      missing--
    } else {
      missing = byte < 0xc0 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
      value = byte & FIRST_BITS[missing as 0 | 1 | 2 | 3]
    }
    if (missing > 0) return ''
    return value > LARGEST ? '\ufffd' : String.fromCodePoint(value)
  }
  return {
    push: (token) => Array.from(bytesOf(token), read).join(''),
    end: () => '',
  }
}
