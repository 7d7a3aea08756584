import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference
let client: OpenAI

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
  client = server.client
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const FRANCE = {
  model: 'starter',
  messages: [{ role: 'user', content: 'What is the capital of France?' }],
  temperature: 0,
} as const
const PARIS = 'The capital of France is Paris.'

test('a chat is answered as the interface says', async () => {
  const before = Math.floor(Date.now() / 1000)
  const { data: answer, response } = await client.chat.completions
    .create({ ...FRANCE, messages: [...FRANCE.messages] })
    .withResponse()
  expect(answer).toEqual({
    id: expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/),
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'starter',
    choices: [{ index: 0, message: { role: 'assistant', content: PARIS }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: answer.usage!.prompt_tokens + answer.usage!.completion_tokens,
      prompt_tokens_details: { cached_tokens: expect.any(Number) },
    },
  })
  expect(answer.created).toBeGreaterThanOrEqual(before)
  expect(response.headers.get('x-request-id')).toMatch(/^[\w-]+$/)
})

test('a stream gives the role, then text, then the reason, then the usage', async () => {
  const stream = await client.chat.completions.create({
    ...FRANCE,
    messages: [...FRANCE.messages],
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  const [first] = chunks
  const { id, created } = first!
  const base = { id, object: 'chat.completion.chunk', created, model: 'starter' }
  const choice = (delta: object, finish_reason: string | null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason }],
    usage: null,
  })
  expect(first).toEqual(choice({ role: 'assistant', content: '' }, null))
  const texts = chunks.slice(1, -2)
  expect(texts).toEqual(texts.map(({ choices }) => choice({ content: choices[0]!.delta.content }, null)))
  expect(texts.map(({ choices }) => choices[0]!.delta.content).join('')).toBe(PARIS)
  expect(chunks.at(-2)).toEqual(choice({}, 'stop'))
  expect(chunks.at(-1)).toEqual({
    ...base,
    choices: [],
    usage: {
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
      prompt_tokens_details: { cached_tokens: expect.any(Number) },
    },
  })
})
