import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { openOnnxEngine } from '../engines/onnx/open-engine.ts'
import { testEngines } from '../engines/optional/test-engines.fixture.ts'
import { serveForTest, type TestInference } from './test-inference.fixture.ts'

const fixture = (path: string): string => fileURLToPath(new URL(`../../../test/fixtures/${path}`, import.meta.url))

const serving = (name: string) => {
  const served = {} as { engine: Engine; server: TestInference }
  beforeAll(async () => {
    const path = fixture(`models/${name}`)
    served.engine = await openOnnxEngine({ name, path, threads: 1, engines: testEngines!, log: () => undefined })
    served.server = await serveForTest(served.engine)
  })
  afterAll(async () => {
    await served.server?.close()
    await served.engine?.close()
  })
  return served
}

// Reported as skipped if the optional engine is not installed: svc engines install onnxruntime
describe.skipIf(testEngines === null)('an embedding model', () => {
  const served = serving('tiny-bert')

  test('gives the official client the same vectors as base64, its default, and as numbers', async () => {
    const { client } = served.server
    const input = ['the cat sat', 'a dog ran']
    const packed = await client.embeddings.create({ model: 'tiny-bert', input })
    expect(packed).toEqual({
      object: 'list',
      data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: expect.any(Array) })),
      model: 'tiny-bert',
      usage: { prompt_tokens: expect.any(Number), total_tokens: packed.usage.prompt_tokens },
    })
    const plain = await client.embeddings.create({ model: 'tiny-bert', input, encoding_format: 'float' })
    expect(plain.data.map(({ embedding }) => embedding)).toEqual(packed.data.map(({ embedding }) => embedding))
    for (const { embedding } of plain.data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    const one = await client.embeddings.create({ model: 'tiny-bert', input: 'the cat sat' })
    expect(one.data[0]!.embedding.length).toBe(plain.data[0]!.embedding.length)
  })

  test('refuses to chat', async () => {
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    await expect(served.server.client.chat.completions.create({ model: 'tiny-bert', messages })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported',
      param: 'model',
    })
  })
})

describe.skipIf(testEngines === null)('a speech model', () => {
  const served = serving('tiny-whisper')

  const transcribe = async (format: 'json' | 'verbose_json' | 'srt') => {
    const file = await OpenAI.toFile(await readFile(fixture('audio/one-two-three.mp3')), 'a.mp3')
    const { client } = served.server
    return client.audio.transcriptions.create({ model: 'tiny-whisper', file, language: 'en', response_format: format })
  }

  test('gives the official client its transcript in every format', async () => {
    expect(await transcribe('json')).toEqual({ text: 'one two three' })
    expect(await transcribe('verbose_json')).toMatchObject({
      task: 'transcribe',
      language: 'en',
      duration: expect.closeTo(0.8, 0),
      text: 'one two three',
      segments: [{ id: 0, text: expect.stringContaining('one two three') }],
    })
    expect(await transcribe('srt')).toMatch(/^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\none two three\n$/)
  })

  test('refuses a file that is not a recording', async () => {
    const file = await OpenAI.toFile(Buffer.from('hello'), 'a.wav')
    const { client } = served.server
    await expect(client.audio.transcriptions.create({ model: 'tiny-whisper', file })).rejects.toMatchObject({
      status: 400,
      param: 'file',
    })
    expect(await served.server.metric('inference_places_busy')).toBe(0)
  })
})
