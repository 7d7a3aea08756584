import { MPEGDecoder } from 'mpg123-decoder'
import { type Block, invalidAudio, mixDown } from './sound.ts'

/** Bytes that are decoded at a time: what they become is much larger. */
const PIECE_BYTES = 1 << 18

const isSilent = (channels: readonly Float32Array[]): boolean =>
  channels.every((samples) => samples.every((sample) => sample === 0))

/**
 * Decodes what can be decoded: a recording that was cut off is read up to there.
 * @throws InferenceError invalid_request when that is nothing
 */
export async function* readMp3(bytes: Uint8Array): AsyncGenerator<Block> {
  const decoder = new MPEGDecoder({ enableGapless: true })
  await decoder.ready
  let found = false
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const { channelData, samplesDecoded, sampleRate, errors } = decoder.decode(bytes.subarray(at, at + PIECE_BYTES))
      // What it makes of data that is no MP3.
      if (samplesDecoded === 0 || (errors.length > 0 && isSilent(channelData))) continue
      found = true
      yield { samples: mixDown(channelData).subarray(0, samplesDecoded), sampleRate }
    }
  } finally {
    decoder.free()
  }
  if (!found) throw invalidAudio('The MP3 file is damaged: it holds no sound that can be decoded.')
}
