import { chacha20 } from '@noble/ciphers/chacha.js'

/** A key's stream of pseudorandom words that is added to a vector (sign 1) or subtracted from it (sign -1). */
export interface MaskStream {
  /** 32 bytes, used only for this stream. */
  readonly key: Uint8Array
  readonly sign: 1 | -1
}

/**
 * Fills `words` with the words `offsetWords`, `offsetWords + 1`, ... of a key's stream: the ChaCha20 keystream of RFC 8439 with
 * nonce zero and a counter starting at 0, read as little-endian 32-bit numbers. Any part can be computed without the part
 * before it.
 */
export type ExpandMask = (key: Uint8Array, offsetWords: number, words: Uint32Array) => void

const WORDS_PER_BLOCK = 16
/** 64 KB: stays in the cache while all streams are added to it. */
const CHUNK_WORDS = 16 * 1024
const NONCE = new Uint8Array(12)

export const expandMask: ExpandMask = (key, offsetWords, words) => {
  const skipped = offsetWords % WORDS_PER_BLOCK
  const block = (offsetWords - skipped) / WORDS_PER_BLOCK
  if (skipped > 0) {
    const whole = new Uint32Array(skipped + words.length)
    expandMask(key, offsetWords - skipped, whole)
    words.set(whole.subarray(skipped))
    return
  }
  // Typed arrays are little-endian on every machine that runs JavaScript today.
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength).fill(0)
  chacha20(key, NONCE, bytes, bytes, block)
}

/**
 * Adds streams, from word `offsetWords` of each, to `words` in place, modulo 2^32. `expand` may be a faster equivalent of
 * `expandMask`, such as platformExpandMask.
 */
export const addMasks = (
  words: Uint32Array,
  streams: readonly MaskStream[],
  offsetWords = 0,
  expand: ExpandMask = expandMask,
): void => {
  const scratch = new Uint32Array(Math.min(CHUNK_WORDS, words.length))
  for (let start = 0; start < words.length; start += CHUNK_WORDS) {
    const chunk = words.subarray(start, start + CHUNK_WORDS)
    const mask = scratch.subarray(0, chunk.length)
    for (const { key, sign } of streams) {
      expand(key, offsetWords + start, mask)
      addWords(chunk, mask, sign)
    }
  }
}

/** `sum[i] += sign * words[i]` modulo 2^32. */
export const addWords = (sum: Uint32Array, words: Uint32Array, sign: 1 | -1 = 1): void => {
  if (sign === 1) for (let i = 0; i < sum.length; i++) sum[i] = (sum[i]! + words[i]!) | 0
  else for (let i = 0; i < sum.length; i++) sum[i] = (sum[i]! - words[i]!) | 0
}
