import Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const messages = [{ role: 'user' as const, content: 'Count from 1 to 20.' }]

const say = async (fields: object): Promise<string> => {
  const body = { model: 'starter', messages, max_tokens: 60, seed: 3, ...fields }
  const { choices } = await server.client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming)
  return choices[0]!.message.content!
}

test.each([{ top_k: 1 }, { min_p: 1 }])('%j leaves only the most likely token, at any temperature', async (option) => {
  const wild = { temperature: 2, top_p: 1 }
  const likeliest = await say({ temperature: 0 })
  expect(await say({ ...wild, ...option })).toBe(likeliest)
  expect(await say(wild)).not.toBe(likeliest)
  expect(await say({ ...wild, top_k: -1, min_p: 0 })).toBe(await say(wild))
})

test.each([{ presence_penalty: 2 }, { frequency_penalty: 2 }, { repeat_penalty: 1.9 }, { repetition_penalty: 1.9 }])(
  '%j makes a reply repeat itself less',
  async (option) => {
    const commas = async (fields: object): Promise<number> =>
      (await say({ temperature: 0, ...fields })).split(',').length
    expect(await commas(option)).toBeLessThan(await commas({}))
  },
)

test('messages take top_k', async () => {
  const client = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
  const body = { model: 'starter', messages, max_tokens: 60, temperature: 1, top_k: 1 }
  const { content } = await client.messages.create(body)
  expect(content).toEqual([{ type: 'text', text: await say({ temperature: 0 }) }])
})

test.each([
  [{ top_k: -2 }, 'top_k'],
  [{ min_p: 1.1 }, 'min_p'],
  [{ presence_penalty: 2.5 }, 'presence_penalty'],
  [{ repeat_penalty: 0 }, 'repeat_penalty'],
  [{ repeat_penalty: 1.1, repetition_penalty: 1.2 }, 'repetition_penalty'],
])('%j is refused by name', async (fields, param) => {
  await expect(say(fields)).rejects.toMatchObject({ status: 400, param })
})
