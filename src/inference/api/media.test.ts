import { readFile } from 'node:fs/promises'
import { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { openOnnxEngine } from '../engines/onnx/open-engine.ts'
import { testEngines } from '../engines/optional/test-engines.fixture.ts'
import { serveForTest, type TestInference } from './test-inference.fixture.ts'

const recording = (ending: string): Promise<Buffer> => readFile(`test/fixtures/audio/one-two-three.${ending}`)

describe.skipIf(testEngines === null)('over HTTP with onnxruntime (svc engines install onnxruntime)', () => {
  const engines: Engine[] = []
  const servers: TestInference[] = []
  const serve = async (name: string): Promise<TestInference> => {
    const path = `test/fixtures/models/${name}`
    const engine = await openOnnxEngine({ name, path, threads: 1, engines: testEngines!, log: () => undefined })
    engines.push(engine)
    const server = await serveForTest(engine)
    servers.push(server)
    return server
  }
  let bert: TestInference
  let whisper: TestInference
  beforeAll(async () => {
    bert = await serve('tiny-bert')
    whisper = await serve('tiny-whisper')
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()))
    await Promise.all(engines.map((engine) => engine.close()))
  })

  test('texts become vectors, as numbers and as base64', async () => {
    const input = ['the sky', 'The grass is green.']
    const requested = { model: 'tiny-bert', input } as const
    const binary = await bert.client.embeddings.create(requested)
    const plain = await bert.client.embeddings.create({ ...requested, encoding_format: 'float' })
    expect(plain).toEqual({
      object: 'list',
      model: 'tiny-bert',
      data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: expect.any(Array) })),
      usage: { prompt_tokens: 11, total_tokens: 11 },
    })
    const numbers = plain.data.map(({ embedding }) => embedding)
    expect(binary.data.map(({ embedding }) => embedding)).toEqual(numbers)
    for (const vector of numbers) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  })

  test('a text that is too long is refused, and the error names the field', async () => {
    const requested = bert.client.embeddings.create({ model: 'tiny-bert', input: 'the '.repeat(200) })
    await expect(requested).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'input' })
  })

  test.each(['wav', 'mp3'])('a recording in %s format is transcribed', async (ending) => {
    const file = await toFile(await recording(ending), 'recording')
    const response = await whisper.client.audio.transcriptions.create({ model: 'tiny-whisper', file })
    expect(response).toEqual({ text: 'one two three' })
  })

  test('verbose_json contains the language, duration, and segments', async () => {
    const file = await toFile(await recording('wav'), 'recording.wav')
    const requested = { model: 'tiny-whisper', file, language: 'en', response_format: 'verbose_json' } as const
    expect(await whisper.client.audio.transcriptions.create(requested)).toEqual({
      task: 'transcribe',
      language: 'en',
      duration: 0.8,
      text: 'one two three',
      segments: [{ id: 0, start: 0, end: 0.8, text: 'one two three' }],
    })
  })

  test('a file that is not a recording and an unknown language are refused, and the errors name the fields', async () => {
    const text = await toFile(Buffer.from('RIFF....WAVE'), 'recording.wav')
    const wav = await toFile(await recording('wav'), 'recording.wav')
    const { transcriptions } = whisper.client.audio
    await expect(transcriptions.create({ model: 'tiny-whisper', file: text })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      param: 'file',
    })
    await expect(transcriptions.create({ model: 'tiny-whisper', file: wav, language: 'xx' })).rejects.toMatchObject({
      status: 400,
      param: 'language',
    })
  })

  test('a model refuses requests that it cannot serve', async () => {
    const chat = bert.client.chat.completions.create({
      model: 'tiny-bert',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    await expect(chat).rejects.toMatchObject({ status: 400, code: 'unsupported' })
  })
})
