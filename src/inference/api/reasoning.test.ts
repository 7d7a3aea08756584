import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { withTemplate } from '../models/gguf/with-template.fixture.ts'
import { openStarter, STARTER, serveForTest, type TestInference } from './test-inference.fixture.ts'

// The starter model with a template that begins its reasoning, as those of models that reason do. It never ends it: its answer
// is what it writes there.
const TEMPLATE = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
{% if enable_thinking is not defined or enable_thinking %}{{ '<think>\\n' }}{% endif %}{# </think> #}`

const QUESTION = { model: 'starter', temperature: 0, messages: [{ role: 'user' as const, content: 'Write numbers.' }] }
const ask = { ...QUESTION, max_tokens: 12 }
const ANSWER = 'One, two, three'

type Message = OpenAI.ChatCompletionMessage & { readonly reasoning_content?: string }

let folder: string
let engine: Engine
let server: TestInference

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reasoning-'))
  engine = await openStarter({ path: await withTemplate(STARTER, join(folder, 'model.gguf'), TEMPLATE) })
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
  await rm(folder, { recursive: true })
})

const complete = async (fields: object = {}) => {
  const body = { ...ask, ...fields } as OpenAI.ChatCompletionCreateParamsNonStreaming
  const { choices, usage } = await server.client.chat.completions.create(body)
  return { ...choices[0]!, message: choices[0]!.message as Message, usage }
}

test('reasoning has a field of its own, and its tokens are counted', async () => {
  const { message, finish_reason: finish, usage } = await complete()
  expect(message.reasoning_content).toMatch(/^\w.*\w/)
  expect([message.content, finish]).toEqual(['', 'length'])
  expect(usage!.completion_tokens_details).toEqual({ reasoning_tokens: 12 })
  const streamed = await server.client.chat.completions.create({ ...ask, stream: true })
  let reasoning = ''
  for await (const { choices } of streamed) reasoning += (choices[0]!.delta as Message).reasoning_content ?? ''
  expect(reasoning).toBe(message.reasoning_content)
})

test.each([
  ['reasoning_effort', { reasoning_effort: 'none' }],
  ['chat_template_kwargs', { chat_template_kwargs: { enable_thinking: false } }],
])('%s turns it off', async (_, field) => {
  const { message, usage } = await complete(field)
  expect(message.content).not.toBe('')
  expect(message).not.toHaveProperty('reasoning_content')
  expect(usage).not.toHaveProperty('completion_tokens_details')
})

test.each([
  [{ reasoning_effort: 'high' }, 'reasoning_effort', "'none', or left out"],
  [{ chat_template_kwargs: { thinking: false } }, 'chat_template_kwargs.thinking', 'enable_thinking'],
])('%j is refused, because it would change nothing', async (field, param, message) => {
  await expect(complete(field)).rejects.toMatchObject({ status: 400, param, message: expect.stringContaining(message) })
})

test('a reply in a format has no reasoning, and so has room for the format', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  }
  const { message } = await complete({
    max_tokens: 40,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
  })
  expect(JSON.parse(message.content!)).toEqual({ n: expect.any(Number) })
})

test('earlier messages may be sent back with their reasoning, which the model does not get', async () => {
  const turns = (assistant: object) => ({
    messages: [...ask.messages, { role: 'assistant', content: ANSWER, ...assistant }, ...ask.messages],
  })
  const [bare, whole] = [await complete(turns({})), await complete(turns({ reasoning_content: 'They want numbers.' }))]
  expect(whole.usage!.prompt_tokens).toBe(bare.usage!.prompt_tokens)
  const long = 'They want numbers. '.repeat(20_000)
  expect((await complete(turns({ reasoning_content: long }))).usage!.prompt_tokens).toBe(bare.usage!.prompt_tokens)
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const unfinished = { role: 'assistant', reasoning_content: long, tool_calls: [call] }
  await expect(complete({ messages: [...ask.messages, unfinished] })).rejects.toMatchObject({
    code: 'context_length_exceeded',
  })
})

test('the other APIs leave it out, and can turn it off', async () => {
  const { messages } = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
  expect(await messages.create(ask)).toMatchObject({ content: [], stop_reason: 'max_tokens' })
  const thinking = { type: 'disabled' as const }
  expect((await messages.create({ ...ask, thinking })).content).toEqual([{ type: 'text', text: expect.any(String) }])
  const asked = { model: 'starter', temperature: 0, input: 'Write numbers.', max_output_tokens: 16 }
  const { output_text: text, usage } = await server.client.responses.create(asked)
  expect([text, usage!.output_tokens_details]).toEqual(['', { reasoning_tokens: 16 }])
  const direct = await server.client.responses.create({ ...asked, reasoning: { effort: 'none' } })
  expect(direct.output_text).not.toBe('')
  expect(direct.usage!.output_tokens_details).toEqual({ reasoning_tokens: 0 })
})
