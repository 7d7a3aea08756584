import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readWav } from './wav.ts'

interface Fields {
  readonly format: number
  readonly channels: number
  readonly rate: number
  readonly bits: number
  readonly align: number
}

const FIELDS: Fields = { format: 1, channels: 1, rate: 16_000, bits: 16, align: 2 }

const chunk = (name: string, content: Buffer, claimed = content.length): Buffer => {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(claimed, 4)
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)])
}

const fmt = (fields: Partial<Fields> = {}): Buffer => {
  const { format, channels, rate, bits, align } = { ...FIELDS, ...fields }
  const content = Buffer.alloc(16)
  content.writeUInt16LE(format, 0)
  content.writeUInt16LE(channels, 2)
  content.writeUInt32LE(rate, 4)
  content.writeUInt32LE(rate * align, 8)
  content.writeUInt16LE(align, 12)
  content.writeUInt16LE(bits, 14)
  return chunk('fmt ', content)
}

const wav = (...chunks: readonly Buffer[]): Buffer => chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]))

const samplesOf = (bytes: Buffer): number[] => [...readWav(bytes)].flatMap(({ samples }) => [...samples])

const floats = (...values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer)
const doubles = (...values: number[]): Buffer => Buffer.from(Float64Array.from(values).buffer)

test.each([
  [8, 1, Buffer.from([0, 64, 128, 192])],
  [16, 1, Buffer.from(Int16Array.of(-32_768, -16_384, 0, 16_384).buffer)],
  [24, 1, Buffer.from([0, 0, 0x80, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0x40])],
  [32, 1, Buffer.from(Int32Array.of(-(2 ** 31), -(2 ** 30), 0, 2 ** 30).buffer)],
  [32, 3, floats(-1, -0.5, 0, 0.5)],
  [64, 3, doubles(-1, -0.5, 0, 0.5)],
])('samples of %i bits in format %i are read exactly', (bits, format, data) => {
  expect(samplesOf(wav(fmt({ bits, format, align: bits / 8 }), chunk('data', data)))).toEqual([-1, -0.5, 0, 0.5])
})

test('channels are mixed to one, and samples above full scale are clipped', () => {
  const stereo = wav(fmt({ format: 3, channels: 2, bits: 32, align: 8 }), chunk('data', floats(1, 0, -0.5, 0.5, 3, 2)))
  expect([...readWav(stereo)]).toEqual([{ samples: Float32Array.of(0.5, 0, 1), sampleRate: 16_000 }])
})

test('the extensible format is read as ffmpeg writes it', async () => {
  const file = await readFile('test/fixtures/audio/extensible-24.wav')
  const blocks = [...readWav(file)]
  expect(blocks.map(({ samples, sampleRate }) => [samples.length, sampleRate])).toEqual([[1440, 48_000]])
})

test('irrelevant chunks are skipped, including those of odd length', () => {
  const list = chunk('LIST', Buffer.from('abc'))
  expect(samplesOf(wav(list, fmt(), list, chunk('data', Buffer.from([0, 0x40]))))).toEqual([0.5])
})

test.each([
  ['all there could be', 0xffffffff],
  ['none', 0],
  ['more than there is', 100],
])('data with a claimed length of %s is read to the end of the file', (_, claimed) => {
  expect(samplesOf(wav(fmt(), chunk('data', Buffer.from([0, 0x40, 0, 0xc0]), claimed)))).toEqual([0.5, -0.5])
})

const DATA = chunk('data', Buffer.alloc(4))

test.each([
  ['compressed samples', wav(fmt({ format: 2, bits: 4 }), DATA), 'The WAV file contains 4-bit samples of format 2; '],
  ['no channels', wav(fmt({ channels: 0, align: 0 }), DATA), 'The WAV file claims 0 channels; 1 to 32 are supported.'],
  [
    'too many channels',
    wav(fmt({ channels: 5000 }), DATA),
    'The WAV file claims 5000 channels; 1 to 32 are supported.',
  ],
  [
    'a rate of zero',
    wav(fmt({ rate: 0 }), DATA),
    'The WAV file claims 0 samples per second; 1000 to 768000 are supported.',
  ],
  [
    'a rate beyond all',
    wav(fmt({ rate: 2 ** 30 }), DATA),
    'The WAV file claims 1073741824 samples per second; 1000 to 768000 are supported.',
  ],
  ['frames that do not fit', wav(fmt({ align: 3 }), DATA), 'The WAV file is damaged: 1 channels of 16 bits do not '],
  ['no data', wav(fmt()), 'The WAV file has no data chunk.'],
  ['no format', wav(DATA), 'The WAV file has no fmt chunk before its data.'],
  ['a short format', wav(chunk('fmt ', Buffer.alloc(8)), DATA), 'The WAV file is damaged: its fmt chunk is too short.'],
  ['a cut format', wav(fmt().subarray(0, 20)), 'The WAV file ends in its fmt chunk.'],
  [
    'no number',
    wav(fmt({ format: 3, bits: 32, align: 4 }), chunk('data', floats(0, Number.NaN))),
    'The WAV file contains a',
  ],
])('%s is refused', (_, bytes, message) => {
  expect(() => samplesOf(bytes)).toThrow(message)
})
