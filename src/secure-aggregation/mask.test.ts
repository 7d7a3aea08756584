import { createCipheriv } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { addMasks, addWords, expandMask } from './mask.ts'
import { platformExpandMask } from './platform-crypto.ts'

const key = Uint8Array.from({ length: 32 }, (_, i) => i * 7 + 3)

/** OpenSSL's ChaCha20: its 16-byte IV is a 4-byte counter followed by the nonce. */
const platformStream = (words: number): Uint32Array =>
  new Uint32Array(
    new Uint8Array(createCipheriv('chacha20', key, new Uint8Array(16)).update(new Uint8Array(4 * words))).buffer,
  )

const hex = (words: Uint32Array) => Buffer.from(words.buffer, words.byteOffset, words.byteLength).toString('hex')

describe.each([
  ['expandMask', expandMask],
  ['platformExpandMask', platformExpandMask],
])('%s', (_name, expand) => {
  test('is the keystream of RFC 8439, appendix A.1, test vectors 1 and 2', () => {
    const words = new Uint32Array(32)
    expand(new Uint8Array(32), 0, words)
    expect(hex(words)).toBe(
      '76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7' +
        'da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586' +
        '9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed' +
        '29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f',
    )
  })

  test('expands any part of a stream without the part before it', () => {
    const whole = platformStream(3000)
    for (const [offset, length] of [
      [0, 3000],
      [16, 16],
      [1, 1],
      [15, 2],
      [17, 1000],
      [2999, 1],
      [160, 0],
    ] as const) {
      const words = new Uint32Array(length)
      expand(key, offset, words)
      expect(words).toEqual(whole.slice(offset, offset + length))
    }
  })

  test('writes only the given words', () => {
    const around = new Uint32Array(40).fill(7)
    expand(key, 5, around.subarray(3, 30))
    expect([...around.subarray(0, 3), ...around.subarray(30)]).toEqual(new Array(13).fill(7))
    expect(around.subarray(3, 30)).toEqual(platformStream(32).slice(5))
  })
})

describe('addMasks', () => {
  test('adds and subtracts modulo 2^32, across chunks and from any offset', () => {
    const length = 40_001
    const start = Uint32Array.from({ length }, (_, i) => (i * 2654435761) >>> 0)
    const words = start.slice()
    addMasks(words, [{ key, sign: 1 }])
    const stream = platformStream(length)
    expect(hex(words)).toBe(hex(start.map((word, i) => (word + stream[i]!) % 2 ** 32)))
    const tail = words.subarray(12_345)
    addMasks(tail, [{ key, sign: -1 }], 12_345)
    expect(hex(tail)).toBe(hex(start.slice(12_345)))
    addMasks(tail, [{ key, sign: 1 }], 12_345, platformExpandMask)
    expect(hex(words)).toBe(hex(start.map((word, i) => (word + stream[i]!) % 2 ** 32)))
  })

  test('accepts a custom expansion function', () => {
    const words = new Uint32Array(4)
    addMasks(words, [{ key, sign: -1 }], 10, (_key, offset, mask) => mask.fill(offset))
    expect([...words]).toEqual(new Array(4).fill(2 ** 32 - 10))
  })

  test('addWords wraps in both directions', () => {
    const sum = Uint32Array.of(2 ** 32 - 1, 0)
    addWords(sum, Uint32Array.of(2, 5))
    expect([...sum]).toEqual([1, 5])
    addWords(sum, Uint32Array.of(2, 6), -1)
    expect([...sum]).toEqual([2 ** 32 - 1, 2 ** 32 - 1])
  })
})
