import type { Transcription } from '../engines/engine.ts'

/** A transcript as a response: its content type and its body. */
export interface Presented {
  readonly type: string
  readonly body: string
}

/** 3661.5 -> `01:01:01,500`. */
const clock = (seconds: number, mark: ',' | '.'): string => {
  const ms = Math.max(0, Math.round(seconds * 1000))
  const part = (of: number, span: number, digits: number): string =>
    String(Math.floor(ms / of) % span).padStart(digits, '0')
  const hours = String(Math.floor(ms / 3_600_000)).padStart(2, '0')
  return `${hours}:${part(60_000, 60, 2)}:${part(1000, 60, 2)}${mark}${part(1, 1000, 3)}`
}

// A blank line would end a subtitle, and an arrow would start one.
const cue = (text: string): string =>
  text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('-->', '->')

const srt = ({ segments }: Transcription): string =>
  segments
    .map(({ start, end, text }, index) => `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${cue(text)}\n`)
    .join('\n')

const vtt = ({ segments }: Transcription): string =>
  [
    'WEBVTT\n',
    ...segments.map(({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${cue(text)}\n`),
  ].join('\n')

const json = (value: unknown): Presented => ({
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
})

/** The formats by OpenAI's names. `durationSeconds` is the length of the whole recording. */
export const TRANSCRIPT_FORMATS = {
  json: ({ text }: Transcription): Presented => json({ text }),
  text: ({ text }: Transcription): Presented => ({ type: 'text/plain; charset=utf-8', body: `${text}\n` }),
  verbose_json: ({ text, language, segments }: Transcription, durationSeconds: number): Presented =>
    json({
      task: 'transcribe',
      language,
      duration: durationSeconds,
      text,
      segments: segments.map((segment, id) => ({ id, ...segment })),
    }),
  srt: (transcript: Transcription): Presented => ({
    type: 'application/x-subrip; charset=utf-8',
    body: srt(transcript),
  }),
  vtt: (transcript: Transcription): Presented => ({ type: 'text/vtt; charset=utf-8', body: vtt(transcript) }),
} as const

export type TranscriptFormat = keyof typeof TRANSCRIPT_FORMATS
