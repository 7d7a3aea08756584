import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { compress } from '../runtime/compression/compress.ts'
import type { Compress } from './available-models.ts'
import type { InferenceServerOptions } from './build-server.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter()
})

afterAll(() => engine.close())

afterEach(() => server.close())

type Message = { role: 'user' | 'assistant'; content: string }

/** Sends a chat and returns the answer with its X-Service headers. */
const ask = async (options: Partial<InferenceServerOptions>, model: string, messages: readonly Message[]) => {
  server = await serveForTest(engine, options)
  const { data, response } = await server.client.chat.completions
    .create({ model, messages: [...messages], temperature: 0, max_tokens: 20 })
    .withResponse()
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('x-service')))
  return { headers, model: data.model, promptTokens: data.usage!.prompt_tokens }
}

const france: Message = { role: 'user', content: 'What is the capital of France?' }
const route = () => ({ model: 'starter', reason: 'there is no other' })
const compressOver =
  (thresholdTokens: number): Compress =>
  (messages, countTokens) =>
    compress(messages, countTokens, { thresholdTokens })

test('a model that routing chose is named in a header and in the answer; a model that the client named is not', async () => {
  expect(await ask({ route }, 'auto', [france])).toMatchObject({
    headers: { 'x-service-routed-model': 'starter' },
    model: 'starter',
  })
  expect(server.log()).toContain('"reason":"there is no other","msg":"routed"')
  expect((await server.client.models.list()).data.map(({ id }) => id)).toEqual(['starter', 'auto'])
  await server.close()
  expect(await ask({ route }, 'starter', [france])).toMatchObject({ headers: {} })
})

test('without routing there is no model named auto', async () => {
  await expect(ask({}, 'auto', [france])).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
})

test('a prompt over the threshold is compressed and marked by a header; one below it is left alone', async () => {
  const talk: Message[] = Array.from({ length: 8 }, (_, turn) => [
    { role: 'user' as const, content: `The cat sat on the mat. The cat sat on the mat. Turn ${turn}.` },
    { role: 'assistant' as const, content: 'The cat sat on the mat.' },
  ]).flat()
  const messages = [...talk, france]
  const whole = await engine.countTokens!(messages)
  const compressed = await ask({ compress: compressOver(60) }, 'starter', messages)
  expect(compressed.headers).toEqual({ 'x-service-compression': 'true' })
  expect(compressed.promptTokens).toBeLessThan(whole)
  await server.close()
  const left = await ask({ compress: compressOver(whole) }, 'starter', messages)
  expect(left).toEqual({ headers: {}, model: 'starter', promptTokens: whole })
})
