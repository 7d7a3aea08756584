import { SAMPLE_RATE } from '../../audio/sound.ts'
import { askOnce } from '../child/ask.ts'
import type { Supervisor } from '../child/supervisor.ts'
import type { Transcription } from '../engine.ts'

/** A segment that ends before this many seconds does not decide where the next window begins: it would never end. */
const LEAST_STEP = 0.1

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100

/** Has a recording understood window by window, so that it can be given up between them and others come in. */
export const transcribe = async (
  supervisor: Pick<Supervisor<unknown>, 'ask'>,
  samples: Float32Array,
  windowSamples: number,
  requested: string | null,
  signal: AbortSignal,
): Promise<Transcription> => {
  const segments: Transcription['segments'][number][] = []
  let text = ''
  let language = requested
  for (let at = 0; at < samples.length; ) {
    const window = samples.slice(at, at + windowSamples)
    const { received: heard } = await askOnce(supervisor, { type: 'listen', window, language }, 'heard', signal)
    const offset = at / SAMPLE_RATE
    for (const segment of heard.segments) {
      text += segment.text
      const start = rounded(offset + segment.start)
      segments.push({ start, end: rounded(offset + segment.end), text: segment.text.trim() })
    }
    // The first window in which somebody speaks decides for all.
    if (heard.segments.length > 0) language ??= heard.language
    const isLast = at + windowSamples >= samples.length && heard.nextStart >= window.length / SAMPLE_RATE
    if (isLast) break
    const step = heard.nextStart < LEAST_STEP ? window.length : Math.round(heard.nextStart * SAMPLE_RATE)
    at += step
  }
  return { text: text.trim(), language: language ?? 'en', segments }
}
