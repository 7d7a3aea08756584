import { deflateRawSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { inflateMember, inflateStart } from './inflate.ts'
import { bytesSource } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

/** Incompressible bytes. */
const noise = (length: number): Uint8Array => {
  let state = 1
  return Uint8Array.from({ length }, () => (state = Math.imul(state, 48271) >>> 0) >>> 16)
}

/** A deflate stream of uncompressed blocks of these lengths, each with a 5-byte header (RFC 1951, section 3.2.4). */
const storedBlocks = (content: Uint8Array, ...lengths: readonly number[]): Uint8Array => {
  let at = 0
  const blocks = lengths.map((length, index) => {
    const block = new Uint8Array(5 + length)
    const isLast = index === lengths.length - 1
    block.set([isLast ? 1 : 0, length & 0xff, length >> 8, ~length & 0xff, (~length >> 8) & 0xff])
    block.set(content.subarray(at, at + length), 5)
    at += length
    return block
  })
  return Uint8Array.from(blocks.flatMap((block) => [...block]))
}

/** A deflate stream with 7 unrelated bytes before it and 50,000 after it. */
const embedded = (packed: Uint8Array) => {
  const bytes = new Uint8Array(7 + packed.length + 50_000).fill(0xff)
  bytes.set(packed, 7)
  const reads: (readonly [number, number])[] = []
  const source: ByteSource = {
    size: bytes.length,
    read: (offset, length) => {
      reads.push([offset - 7, length])
      return bytes.subarray(offset, offset + length)
    },
  }
  const member = (size: number) => ({ offset: 7, compressedSize: packed.length, size })
  return { source, member, reads }
}

const wrongSize = (size: number) =>
  expect.objectContaining({ message: `Array "a" does not inflate to the ${size} bytes that its archive declares.` })

it('reads a long stream in steps, from its first byte to its last and no further', () => {
  const content = noise(40_000)
  const packed = deflateRawSync(content)
  const { source, member, reads } = embedded(packed)
  expect(inflateMember(source, member(40_000), 'a')).toEqual(content)
  expect(reads).toEqual([
    [0, 16_384],
    [16_384, 16_384],
    [32_768, packed.length - 32_768],
  ])
})

it('refuses a stream that continues past its declared size, wherever a step ends', () => {
  // The first step yields 16,379 bytes.
  const stored = storedBlocks(noise(30_000), 16_379, 13_621)
  for (const size of [16_378, 16_379, 16_380, 29_999]) {
    const { source, member } = embedded(stored)
    expect(() => inflateMember(source, member(size), 'a')).toThrow(wrongSize(size))
  }
})

it('reads a stream whose last step is full', () => {
  const content = noise(16_379)
  const stored = storedBlocks(content, 16_379)
  expect(stored).toHaveLength(16_384)
  const { source, member, reads } = embedded(stored)
  expect(inflateMember(source, member(16_379), 'a')).toEqual(content)
  expect(reads).toHaveLength(1)
})

it('returns the beginning of a stream without reading more than necessary', () => {
  const content = noise(3000)
  const { source, member, reads } = embedded(storedBlocks(content, 507, 507, 1986))
  expect(inflateStart(source, member(3000), 507, 'a')).toEqual(content.subarray(0, 507))
  expect(reads).toEqual([[0, 512]])
  expect(inflateStart(source, member(3000), 508, 'a')).toEqual(content.subarray(0, 508))
  expect(reads).toHaveLength(3)
})

it('blames the file for damage but not for disk failures', () => {
  const { source, member } = embedded(noise(100))
  expect(() => inflateMember(source, member(100), 'a')).toThrow(
    '"a" cannot be inflated: its compressed bytes are damaged',
  )
  for (const failure of [Object.assign(new Error('EIO'), { code: 'EIO' }), new Error('gone'), 'a text']) {
    const failing: ByteSource = {
      size: 100,
      read: () => {
        throw failure
      },
    }
    let thrown: unknown
    try {
      inflateMember(failing, member(100), 'a')
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBe(failure)
  }
})

it('reads an empty member', () => {
  const packed = deflateRawSync(new Uint8Array(0))
  expect(inflateMember(bytesSource(packed), { offset: 0, compressedSize: packed.length, size: 0 }, 'a')).toHaveLength(0)
})
