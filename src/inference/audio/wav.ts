import { type Block, invalidAudio } from './sound.ts'

// RIFF/WAVE, according to Microsoft's "Multiple Channel Audio Data and WAVE Files".
const PCM = 1
const FLOAT = 3
const EXTENSIBLE = 0xfffe
/** The end of every WAVE_FORMAT_EXTENSIBLE GUID for PCM or float; only the first two bytes, the format tag, differ. */
const GUID_TAIL = '000000001000800000aa00389b71'
const MAX_CHANNELS = 32
const LOWEST_RATE = 1000
const HIGHEST_RATE = 768_000

interface Format {
  readonly kind: typeof PCM | typeof FLOAT
  readonly channels: number
  readonly sampleRate: number
  readonly bits: number
  /** Bytes of one sample of all channels. */
  readonly frameBytes: number
}

const readFormat = (chunk: DataView): Format => {
  if (chunk.byteLength < 16) throw invalidAudio('The WAV file is damaged: its fmt chunk is too short.')
  let kind = chunk.getUint16(0, true)
  const channels = chunk.getUint16(2, true)
  const sampleRate = chunk.getUint32(4, true)
  const frameBytes = chunk.getUint16(12, true)
  const bits = chunk.getUint16(14, true)
  if (kind === EXTENSIBLE) {
    if (chunk.byteLength < 40) throw invalidAudio('The WAV file is damaged: its extensible fmt chunk is too short.')
    const tail = Buffer.from(chunk.buffer, chunk.byteOffset + 26, 14).toString('hex')
    kind = tail === GUID_TAIL ? chunk.getUint16(24, true) : 0
  }
  const isKnown = (kind === PCM && [8, 16, 24, 32].includes(bits)) || (kind === FLOAT && [32, 64].includes(bits))
  if (!isKnown) {
    throw invalidAudio(
      `The WAV file contains ${bits}-bit samples of format ${kind}; 8, 16, 24, and 32-bit PCM and 32 and 64-bit float are supported.`,
    )
  }
  if (channels < 1 || channels > MAX_CHANNELS)
    throw invalidAudio(`The WAV file claims ${channels} channels; 1 to ${MAX_CHANNELS} are supported.`)
  if (sampleRate < LOWEST_RATE || sampleRate > HIGHEST_RATE) {
    throw invalidAudio(
      `The WAV file claims ${sampleRate} samples per second; ${LOWEST_RATE} to ${HIGHEST_RATE} are supported.`,
    )
  }
  if (frameBytes !== (channels * bits) / 8) {
    throw invalidAudio(`The WAV file is damaged: ${channels} channels of ${bits} bits do not take ${frameBytes} bytes.`)
  }
  return { kind: kind as Format['kind'], channels, sampleRate, bits, frameBytes }
}

/** Readers by kind and bits, which return a sample in -1..1. */
const SAMPLE_READERS: Readonly<Record<string, (data: DataView, at: number) => number>> = {
  // Only 8-bit samples are unsigned.
  '1/8': (data, at) => (data.getUint8(at) - 128) / 2 ** 7,
  '1/16': (data, at) => data.getInt16(at, true) / 2 ** 15,
  '1/24': (data, at) => ((data.getInt8(at + 2) << 16) | data.getUint16(at, true)) / 2 ** 23,
  '1/32': (data, at) => data.getInt32(at, true) / 2 ** 31,
  '3/32': (data, at) => data.getFloat32(at, true),
  '3/64': (data, at) => data.getFloat64(at, true),
}

/** Frames read at a time. */
const BLOCK_FRAMES = 1 << 16

function* readFrames(format: Format, data: DataView): Generator<Block> {
  const { kind, bits, channels, frameBytes, sampleRate } = format
  const read = SAMPLE_READERS[`${kind}/${bits}`]!
  const frames = Math.floor(data.byteLength / frameBytes)
  for (let first = 0; first < frames; first += BLOCK_FRAMES) {
    const samples = new Float32Array(Math.min(BLOCK_FRAMES, frames - first))
    for (let at = 0; at < samples.length; at += 1) {
      const frame = (first + at) * frameBytes
      let sum = 0
      for (let channel = 0; channel < channels; channel += 1) sum += read(data, frame + (channel * bits) / 8)
      const mean = sum / channels
      if (!Number.isFinite(mean))
        throw invalidAudio(`The WAV file contains a sample that is not a number: ${first + at}.`)
      samples[at] = Math.max(-1, Math.min(1, mean))
    }
    yield { samples, sampleRate }
  }
}

/**
 * Reads PCM of 8 to 32 bits and float, and mixes any number of channels to one.
 * @throws InferenceError invalid_request for other formats, and for headers that contradict the file
 */
export function* readWav(bytes: Uint8Array): Generator<Block> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let format: Format | null = null
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const name = Buffer.from(bytes.buffer, bytes.byteOffset + at, 4).toString('latin1')
    const claimed = view.getUint32(at + 4, true)
    const left = view.byteLength - at - 8
    if (name === 'fmt ') {
      if (claimed > left) throw invalidAudio('The WAV file ends in its fmt chunk.')
      format = readFormat(new DataView(view.buffer, view.byteOffset + at + 8, claimed))
    }
    if (name === 'data') {
      if (format === null) throw invalidAudio('The WAV file has no fmt chunk before its data.')
      // Programs that write to a pipe cannot know the length, and claim zero or the maximum.
      const size = claimed === 0 || claimed > left ? left : claimed
      yield* readFrames(format, new DataView(view.buffer, view.byteOffset + at + 8, size))
      return
    }
    // Chunks start at even offsets.
    at += 8 + claimed + (claimed % 2)
  }
  throw invalidAudio('The WAV file has no data chunk.')
}
