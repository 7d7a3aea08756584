import { InferenceError } from '../errors.ts'

/** The sample rate that all speech models take. */
export const SAMPLE_RATE = 16_000

/** Longer recordings are refused: their samples alone would take half a gigabyte. */
export const MAX_SECONDS = 2 * 60 * 60

/** A block of decoded audio: one channel in -1..1. */
export interface Block {
  readonly samples: Float32Array
  readonly sampleRate: number
}

export const invalidAudio = (message: string): InferenceError =>
  new InferenceError('invalid_request', message, { param: 'file' })

export const tooLong = (): InferenceError =>
  invalidAudio(`The recording is longer than the limit of ${MAX_SECONDS / 60} minutes. Split it.`)

/** Averages all channels. */
export const mixDown = (channels: readonly Float32Array[]): Float32Array => {
  const [first] = channels
  if (first === undefined || channels.length === 1) return first ?? new Float32Array(0)
  const mixed = new Float32Array(first.length)
  for (const channel of channels) {
    for (let at = 0; at < mixed.length; at += 1) mixed[at]! += channel[at]! / channels.length
  }
  return mixed
}

export const joined = (parts: readonly Float32Array[]): Float32Array => {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
