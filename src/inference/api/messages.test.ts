import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference
let client: Anthropic

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
  client = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const QUESTION = 'What is the capital of France?'
const ANSWER = 'The capital of France is Paris.'
const base = { model: 'starter', temperature: 0, max_tokens: 100 }
const asked = { ...base, messages: [{ role: 'user' as const, content: QUESTION }] }
const tool = {
  name: 'get_weather',
  description: 'Tells the weather.',
  input_schema: {
    type: 'object' as const,
    properties: { city: { enum: ['Paris', 'Rome'] } },
    required: ['city'],
    additionalProperties: false,
  },
}
const forced = { ...asked, tools: [tool], tool_choice: { type: 'tool' as const, name: 'get_weather' } }

test('a message is answered whole, with its stop reason', async () => {
  const system = [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }]
  const { id, usage, ...rest } = await client.messages.create({ ...asked, system, metadata: { user_id: 'u' } })
  expect(id).toMatch(/^msg_\w{32}$/)
  expect(usage.output_tokens).toBeGreaterThan(1)
  expect(rest).toEqual({
    type: 'message',
    role: 'assistant',
    model: 'starter',
    content: [{ type: 'text', text: ANSWER }],
    stop_reason: 'end_turn',
    stop_sequence: null,
  })
  expect((await client.messages.create({ ...asked, max_tokens: 2 })).stop_reason).toBe('max_tokens')
  expect(await client.messages.create({ ...asked, stop_sequences: ['France'] })).toMatchObject({
    content: [{ type: 'text', text: 'The capital of ' }],
    stop_reason: 'stop_sequence',
    stop_sequence: 'France',
  })
})

test("the client's tool runner goes on without a thread, which is refused", async () => {
  const run = { ...tool, type: 'custom' as const, run: () => 'sunny', parse: (input: unknown) => input }
  const answer = await client.beta.messages.toolRunner({ ...asked, tools: [run] })
  expect(answer).toMatchObject({ type: 'message', model: 'starter' })
  const refused = client.beta.messages.create({ ...asked, thread: { type: 'create' } } as never)
  await expect(refused).rejects.toMatchObject({
    status: 400,
    error: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'thread is not supported. Send the whole conversation without it.',
        details: { error_code: 'thread_unsupported_request' },
      },
    },
  })
})

test('a stream sends the events of the API in order', async () => {
  const typesOf = async (body: Anthropic.MessageCreateParamsNonStreaming) => {
    const types: string[] = []
    for await (const { type } of await client.messages.create({ ...body, stream: true })) types.push(type)
    return types.filter((type, index) => type !== types[index - 1])
  }
  const request = [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]
  expect([await typesOf(asked), await typesOf(forced)]).toEqual([request, request])
  const final = await client.messages.stream(asked).finalMessage()
  expect(final).toMatchObject({ content: [{ type: 'text', text: ANSWER }], stop_reason: 'end_turn' })
})

test('a function is called, whole and streamed, and its result is accepted', async () => {
  const called = await client.messages.create(forced)
  const expected = {
    content: [
      {
        type: 'tool_use',
        id: expect.stringMatching(/^toolu_/),
        name: 'get_weather',
        input: { city: expect.stringMatching(/Paris|Rome/) },
      },
    ],
    stop_reason: 'tool_use',
  }
  expect(called).toMatchObject(expected)
  expect(
    await client.messages
      .stream({ ...forced, tool_choice: { type: 'any', disable_parallel_tool_use: true } })
      .finalMessage(),
  ).toMatchObject(expected)
  const { id } = called.content[0] as Anthropic.ToolUseBlock
  const result = { type: 'tool_result' as const, tool_use_id: id, content: [{ type: 'text' as const, text: 'sunny' }] }
  const next = await client.messages.create({
    ...forced,
    tool_choice: { type: 'none' },
    messages: [
      ...asked.messages,
      { role: 'assistant', content: called.content },
      { role: 'user', content: [result, { type: 'text', text: 'And now?' }] },
    ],
    max_tokens: 4,
  })
  expect(next.role).toBe('assistant')
})

test('count_tokens counts the prompt and its functions', async () => {
  const { model, messages } = asked
  const plain = await client.messages.countTokens({ model, messages })
  const { usage } = await client.messages.create(asked)
  expect(plain.input_tokens).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0))
  const { input_tokens } = await client.messages.countTokens({ model, messages, tools: [tool] })
  expect(input_tokens).toBeGreaterThan(plain.input_tokens)
})

test('a message of very many parts is read, and a prompt that is far too long is refused without being tokenized', async () => {
  const { model } = asked
  const text = { type: 'text' as const, text: '' }
  const count = (messages: Anthropic.MessageParam[]) => client.messages.countTokens({ model, messages })
  const parts = await count([{ role: 'user', content: new Array(33_000).fill(text) }])
  expect(parts).toEqual(await count([{ role: 'user', content: '' }]))
  const many = Array.from({ length: 3000 }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: '',
  }))
  const { contextTokens } = engine.model
  const fits = `than a context of ${contextTokens} tokens holds. Shorten them.`
  for (const [messages, message] of [
    [many, `There are 3000 messages, more ${fits}`],
    [[{ role: 'user', content: 'w '.repeat(500_000) }], `The messages have 1000000 characters, far more ${fits}`],
  ] as const) {
    const error = { type: 'error', error: { type: 'invalid_request_error', message } }
    await expect(count([...messages])).rejects.toMatchObject({ status: 400, error })
    await expect(client.messages.create({ ...base, messages: [...messages] })).rejects.toMatchObject({ error })
  }
})

test("refused requests get errors in Anthropic's format", async () => {
  const fault = (fields: object) =>
    client.messages.create({ ...asked, ...fields } as never).catch((error: unknown) => error)
  expect(await fault({ max_tokens: null })).toMatchObject({
    status: 400,
    error: { type: 'error', error: { type: 'invalid_request_error', message: expect.stringContaining('max_tokens') } },
  })
  expect(await fault({ model: 'big' })).toBeInstanceOf(Anthropic.NotFoundError)
  const result = { type: 'tool_result', tool_use_id: 'x', content: '' }
  for (const fields of [
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] },
    { messages: [{ role: 'user', content: [result] }] },
    { tools: [tool, tool] },
    { top_k: -5 },
    { tools: [{ name: 'a', input_schem: { type: 'object' } }] },
    { tools: [{ name: 'a' }] },
    { tools: [{ name: 'a', input_schema: { type: 'object' } }], tool_choice: { type: 'auto', disable_parallel: true } },
    { messages: [{ role: 'user', content: 'x', id: 'msg_1' }] },
    { output_config: { formt: {} } },
    { output_config: { format: 5 } },
  ])
    expect(await fault(fields)).toBeInstanceOf(Anthropic.BadRequestError)
  expect(await fault({ system: [{ type: 'text', text: 'a' }, { type: 'image' }] })).toMatchObject({
    message: expect.stringContaining("system[1]: parts of type 'image' are not supported"),
  })
  const response = await fetch(`${server.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  })
  expect([response.status, (await response.json()).type]).toEqual([400, 'error'])
  expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200)
})
