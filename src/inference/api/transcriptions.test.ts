import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter({ slots: 1 })
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const post = async (fields: Readonly<Record<string, string>>, file: BlobPart | null = 'RIFF') => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  if (file !== null) form.append('file', new Blob([file]), 'a.wav')
  const response = await fetch(`${server.url}/v1/audio/transcriptions`, { method: 'POST', body: form })
  return { status: response.status, ...((await response.json()) as { error: unknown }) }
}

const fault = (code: string, param: string | null, message: unknown, status = 400) => ({
  status,
  error: { message, type: 'invalid_request_error', param, code },
})

test('an invalid form is refused, and the error names the field', async () => {
  const model = 'starter'
  expect(await post({})).toEqual(fault('invalid_request', 'model', 'model is required: a non-empty string.'))
  expect(await post({ model }, null)).toEqual(
    fault('invalid_request', 'file', "The form has no file. Send the recording in the part named 'file'."),
  )
  expect(await post({ model, file: 'foo.wav' }, null)).toEqual(
    fault(
      'invalid_request',
      'file',
      'file must be a file part with a filename, got text. With curl, use -F file=@foo.wav.',
    ),
  )
  expect(await post({ model, response_format: 'xml' })).toEqual(
    fault(
      'invalid_request',
      'response_format',
      "response_format must be one of json, text, verbose_json, srt, vtt, got 'xml'.",
    ),
  )
  expect(await post({ model, language: 'English' })).toMatchObject({ status: 400, error: { param: 'language' } })
  expect(await post({ model, temperature: '0.5' })).toMatchObject({
    error: { code: 'unsupported', param: 'temperature' },
  })
  expect(await post({ model, prompt: 'names' })).toMatchObject({ error: { code: 'unsupported', param: 'prompt' } })
  expect(await post({ model, color: 'red' })).toMatchObject({ error: { code: 'invalid_request', param: 'color' } })
})

test('a broken form and another content type are refused', async () => {
  const send = async (type: string, body: string) => {
    const headers = { 'content-type': type }
    const response = await fetch(`${server.url}/v1/audio/transcriptions`, { method: 'POST', headers, body })
    return { status: response.status, ...((await response.json()) as object) }
  }
  expect(await send('application/json', '{}')).toEqual(
    fault('invalid_request', 'file', expect.stringContaining('must be multipart/form-data')),
  )
  expect(await send('multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="mo')).toEqual(
    fault('invalid_request', null, expect.stringContaining('not valid multipart/form-data')),
  )
  expect(await send('multipart/form-data', '')).toMatchObject({ status: 400, error: { code: 'invalid_request' } })
})

test('a model without speech recognition refuses, and an unknown model is not found', async () => {
  const file = await OpenAI.toFile(Buffer.from('RIFF'), 'a.wav')
  const ask = (model: string) =>
    server.client.audio.transcriptions.create({ model, file }).catch((thrown: unknown) => thrown)
  expect(await ask('starter')).toMatchObject({ status: 400, code: 'unsupported', param: 'model' })
  expect(await ask('whisper')).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
  expect(await server.metric('inference_places_busy')).toBe(0)
})
