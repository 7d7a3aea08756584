import { parentPort, workerData } from 'node:worker_threads'
import { MPEGDecoder } from 'mpg123-decoder'
import { InferenceError } from '../errors.ts'
import type { OwnFormat } from './container.ts'
import { createResampler, type Resampler } from './resample.ts'
import { type Block, invalidAudio, joined, MAX_SECONDS, mixDown, SAMPLE_RATE, tooLong } from './sound.ts'
import { readWav } from './wav.ts'

/** Bytes decoded at a time. The decoded samples are much larger. */
const PIECE_BYTES = 1 << 18

const isSilent = (channels: readonly Float32Array[]): boolean =>
  channels.every((samples) => samples.every((sample) => sample === 0))

/**
 * Decodes as much as possible: a truncated recording is read up to the cut.
 * @throws InferenceError invalid_request if nothing can be decoded
 */
async function* readMp3(bytes: Uint8Array): AsyncGenerator<Block> {
  const decoder = new MPEGDecoder({ enableGapless: true })
  await decoder.ready
  let found = false
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const { channelData, samplesDecoded, sampleRate, errors } = decoder.decode(bytes.subarray(at, at + PIECE_BYTES))
      // The decoder turns data that is not MP3 into this.
      if (samplesDecoded === 0 || (errors.length > 0 && isSilent(channelData))) continue
      found = true
      yield { samples: mixDown(channelData).subarray(0, samplesDecoded), sampleRate }
    }
  } finally {
    decoder.free()
  }
  if (!found) throw invalidAudio('The MP3 file is damaged: it contains no sound that can be decoded.')
}

// Runs in a worker thread because decoding can take seconds of CPU time.

export interface DecodeRequest {
  readonly format: OwnFormat
  readonly bytes: Uint8Array
}

export type DecodeResult = { readonly samples: Float32Array } | { readonly fault: string }

const READERS: Readonly<Record<OwnFormat, (bytes: Uint8Array) => Iterable<Block> | AsyncIterable<Block>>> = {
  WAV: readWav,
  MP3: readMp3,
}

const decode = async ({ format, bytes }: DecodeRequest): Promise<Float32Array> => {
  const parts: Float32Array[] = []
  let length = 0
  const take = (samples: Float32Array): void => {
    length += samples.length
    if (length > MAX_SECONDS * SAMPLE_RATE) throw tooLong()
    parts.push(samples)
  }
  let rate = 0
  let resampler: Resampler | null = null
  for await (const { samples, sampleRate } of READERS[format](bytes)) {
    if (resampler === null || rate !== sampleRate) {
      if (resampler !== null) take(resampler.end())
      rate = sampleRate
      resampler = createResampler(rate, SAMPLE_RATE)
    }
    take(resampler.push(samples))
  }
  if (resampler !== null) take(resampler.end())
  if (length === 0) throw invalidAudio(`The ${format} file contains no sound.`)
  return joined(parts)
}

decode(workerData as DecodeRequest).then(
  (samples) => parentPort!.postMessage({ samples } satisfies DecodeResult, [samples.buffer as ArrayBuffer]),
  (error: unknown) => {
    if (!(error instanceof InferenceError)) throw error
    parentPort!.postMessage({ fault: error.message } satisfies DecodeResult)
  },
)
