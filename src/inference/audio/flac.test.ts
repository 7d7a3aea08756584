import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readFlac } from './flac.ts'
import { joined } from './sound.ts'
import { readWav } from './wav.ts'

const fixture = (name: string): Promise<Buffer> => readFile(`test/fixtures/audio/${name}`)

const samplesOf = (bytes: Buffer): Float32Array => joined([...readFlac(bytes)].map(({ samples }) => samples))

test('two channels that are coded as their middle and side are read to the last bit', async () => {
  const expected = joined([...readWav(await fixture('stereo.wav'))].map(({ samples }) => samples))
  expect(expected.length).toBe(1600)
  expect(samplesOf(await fixture('stereo.flac'))).toEqual(expected)
})

test('a file is read to its last frame, which is shorter than the others', async () => {
  const blocks = [...readFlac(await fixture('one-two-three.flac'))]
  const lengths = blocks.map(({ samples, sampleRate }) => [samples.length, sampleRate])
  expect(lengths).toEqual([...Array.from({ length: 7 }, () => [2304, 22_050]), [1512, 22_050]])
})

test('a frame that is damaged is left out', async () => {
  const bytes = await fixture('one-two-three.flac')
  // In the middle of the sound, which begins after 8 KiB of padding.
  bytes[bytes.length - 2500]! ^= 0x10
  expect(samplesOf(bytes).length).toBe(7 * 2304 + 1512 - 2304)
})

test('no damage at all makes it fail in another way than by saying so', async () => {
  const bytes = (await fixture('stereo.flac')).subarray(0)
  for (let at = 0; at < bytes.length; at += at < 100 || at > 8290 ? 1 : 511) {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= 0xff
    try {
      expect(samplesOf(damaged).length).toBeLessThanOrEqual(1600)
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_request' })
    }
  }
})
