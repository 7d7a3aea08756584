import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

const KEY = 'a-key-of-mine'
let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine, { apiKey: KEY })
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

test('with a key, every route under /v1 and the metrics require it in either header, and health stays public', async () => {
  const status = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    (await fetch(server.url + path, { headers, method })).status
  const routes = [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/v1/messages/count_tokens',
    '/v1/embeddings',
  ]
  for (const path of [...routes, '/%761/responses', '/v1/audio/transcriptions'])
    expect(await status(path, {}, 'POST')).toBe(401)
  expect([
    await status('/v1/models'),
    await status('/v1/models/starter', { authorization: 'Bearer other' }),
    await status('/v1/models', { authorization: `Basic ${KEY}` }),
    await status('/v1/models', { authorization: `Bearer ${KEY}` }),
    await status('/v1/models', { 'x-api-key': KEY }),
    await status('/metrics'),
    await status('/metrics', { authorization: `Bearer ${KEY}` }),
    await status('/health'),
  ]).toEqual([401, 401, 401, 200, 200, 401, 200, 200])
})

test('the official clients report a wrong key as an authentication error', async () => {
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'other', maxRetries: 0 })
  const fault = await openai.models.list().catch((error: unknown) => error)
  expect(fault).toBeInstanceOf(OpenAI.AuthenticationError)
  expect(fault).toMatchObject({ code: 'invalid_api_key' })
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const asking = (apiKey: string) =>
    new Anthropic({ baseURL: server.url, apiKey, maxRetries: 0 }).messages.create({
      model: 'starter',
      max_tokens: 2,
      messages,
    })
  await expect(asking('other')).rejects.toBeInstanceOf(Anthropic.AuthenticationError)
  expect((await asking(KEY)).type).toBe('message')
})
