import { expect, test } from 'vitest'
import { TRANSCRIPT_FORMATS, type TranscriptFormat } from './transcript-formats.ts'

const TRANSCRIPT = {
  text: 'one two',
  language: 'en',
  segments: [
    { start: 0, end: 1.2345, text: ' one' },
    { start: 3661.5, end: 3662, text: 'two\n\n--> three ' },
  ],
}

const shown = (format: TranscriptFormat): unknown => {
  const { type, body } = TRANSCRIPT_FORMATS[format](TRANSCRIPT, 3700)
  return type.startsWith('application/json') ? JSON.parse(body) : body
}

test('a transcript has the formats of OpenAI', () => {
  expect(shown('json')).toEqual({ text: 'one two' })
  expect(shown('text')).toBe('one two\n')
  expect(shown('verbose_json')).toEqual({
    task: 'transcribe',
    language: 'en',
    duration: 3700,
    text: 'one two',
    segments: [
      { id: 0, start: 0, end: 1.2345, text: ' one' },
      { id: 1, start: 3661.5, end: 3662, text: 'two\n\n--> three ' },
    ],
  })
  expect(shown('srt')).toBe('1\n00:00:00,000 --> 00:00:01,235\none\n\n2\n01:01:01,500 --> 01:01:02,000\ntwo -> three\n')
  expect(shown('vtt')).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.235\none\n\n01:01:01.500 --> 01:01:02.000\ntwo -> three\n',
  )
})
