import OpenAI from 'openai'
import type { ChatCompletionChunk, ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engines/engine.ts'
import { endless, openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

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

const asking = (
  content: string,
  fields: Partial<ChatCompletionCreateParamsNonStreaming> = {},
): ChatCompletionCreateParamsNonStreaming => ({
  model: 'starter',
  messages: [{ role: 'user', content }],
  temperature: 0,
  ...fields,
})

const FRANCE = 'What is the capital of France?'
const PARIS = 'The capital of France is Paris.'

const textsOf = async (content: string, fields: Partial<ChatCompletionCreateParamsNonStreaming>) => {
  const { choices } = await client.chat.completions.create(asking(content, fields))
  return choices.map(({ message }) => message.content!)
}

const chunksOf = async (fields: ChatCompletionCreateParamsNonStreaming, includeUsage: boolean) => {
  const stream = await client.chat.completions.create({
    ...fields,
    stream: true,
    ...(includeUsage && { stream_options: { include_usage: true } }),
  })
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const USAGE = {
  prompt_tokens: expect.any(Number),
  completion_tokens: expect.any(Number),
  total_tokens: expect.any(Number),
  prompt_tokens_details: { cached_tokens: expect.any(Number) },
}

test("a chat completion has OpenAI's shape, and no headers for features that were not used", async () => {
  const before = Math.floor(Date.now() / 1000)
  const { data: answer, response } = await client.chat.completions.create(asking(FRANCE)).withResponse()
  const { prompt_tokens, completion_tokens } = answer.usage!
  expect(answer).toEqual({
    id: expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/),
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'starter',
    choices: [{ index: 0, message: { role: 'assistant', content: PARIS }, finish_reason: 'stop' }],
    usage: { ...USAGE, total_tokens: prompt_tokens + completion_tokens },
  })
  expect(prompt_tokens).toBe(await engine.countTokens!([{ role: 'user', content: FRANCE }]))
  expect(answer.created).toBeGreaterThanOrEqual(before)
  expect([...response.headers.keys()].filter((name) => name.startsWith('x-service'))).toEqual([])
})

test('a stream sends the role, the text, the finish reason, and the usage, in chunks with the same id', async () => {
  const chunks = await chunksOf(asking(FRANCE), true)
  const { id, created } = chunks[0]!
  const base = { id, object: 'chat.completion.chunk', created, model: 'starter' }
  const chunk = (delta: object, reason: string | null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: reason }],
    usage: null,
  })
  const texts = chunks.slice(1, -2).map(({ choices }) => choices[0]!.delta.content!)
  expect(texts.join('')).toBe(PARIS)
  expect(texts.length).toBeGreaterThan(3)
  expect(chunks).toEqual([
    chunk({ role: 'assistant', content: '' }, null),
    ...texts.map((content) => chunk({ content }, null)),
    chunk({}, 'stop'),
    { ...base, choices: [], usage: USAGE },
  ])
})

test('without include_usage, no chunk of a stream contains usage', async () => {
  const chunks = await chunksOf(asking(FRANCE, { max_tokens: 2 }), false)
  expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
  expect(chunks.at(-1)!.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'length' }])
})

test("a stream works with the official client's toReadableStream", async () => {
  const stream = await client.chat.completions.create({ ...asking(FRANCE), stream: true })
  const lines = (await new Response(stream.toReadableStream()).text()).trim().split('\n')
  const texts = lines.map((line) => (JSON.parse(line) as ChatCompletionChunk).choices[0]!.delta.content ?? '')
  expect(texts.join('')).toBe(PARIS)
})

test('every choice of a stream has its own role, texts, and finish reason, and the prompt counts once', async () => {
  const chunks = await chunksOf(asking('Tell me a story.', { n: 3, temperature: 1, seed: 5, max_tokens: 20 }), true)
  const { usage } = chunks.at(-1)!
  const byChoice = [0, 1, 2].map((index) =>
    chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index),
  )
  for (const choices of byChoice) {
    expect(choices[0]!.delta).toEqual({ role: 'assistant', content: '' })
    expect(choices.at(-1)).toMatchObject({ delta: {}, finish_reason: expect.stringMatching(/^(stop|length)$/) })
    expect(choices.slice(1, -1).every(({ delta }) => delta.content !== '')).toBe(true)
  }
  const texts = byChoice.map((choices) => choices.map(({ delta }) => delta.content ?? '').join(''))
  expect(new Set(texts).size).toBe(3)
  const whole = await client.chat.completions.create(
    asking('Tell me a story.', { n: 3, temperature: 1, seed: 5, max_tokens: 20 }),
  )
  expect(whole.choices.map(({ message }) => message.content)).toEqual(texts)
  expect(whole.usage!.completion_tokens).toBe(usage!.completion_tokens)
  expect(whole.usage!.prompt_tokens).toBe(await engine.countTokens!([{ role: 'user', content: 'Tell me a story.' }]))
})

test('the same seed gives the same text; another seed or none gives different texts', async () => {
  const story = (fields: object) => textsOf('Tell me a story.', { temperature: 1.5, max_tokens: 30, ...fields })
  const [same, again, other] = [await story({ seed: 1 }), await story({ seed: 1 }), await story({ seed: 2 })]
  expect(again).toEqual(same)
  expect(other).not.toEqual(same)
  // Two of them may be the same by chance.
  const unseeded = await Promise.all(Array.from({ length: 6 }, () => story({})))
  expect(new Set(unseeded.flat()).size).toBeGreaterThan(1)
})

test('an answer ends before a stop sequence, even in a stream and when the sequence spans tokens', async () => {
  const stop = ['never', 'ital of Fr']
  expect(await textsOf(FRANCE, { stop })).toEqual(['The cap'])
  const chunks = await chunksOf(asking(FRANCE, { stop }), false)
  expect(chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join('')).toBe('The cap')
  expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('stop')
})

test('json_object is valid JSON wherever max_tokens cuts it', async () => {
  for (const max_tokens of [1, 2, 3, 5, 8, 13]) {
    const { choices } = await client.chat.completions.create(
      asking('Tell me a story.', { max_tokens, temperature: 1.5, response_format: { type: 'json_object' } }),
    )
    expect(JSON.parse(choices[0]!.message.content!), String(max_tokens)).toBeTypeOf('object')
  }
})

test('json_schema gives a reply that matches the schema', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const [text] = await textsOf('Give me JSON for Mia who is 7 years old.', {
    response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } },
  })
  expect(JSON.parse(text!)).toEqual({ name: 'Mia', age: 7 })
})

test('a server in JSON mode answers in JSON unless the request asks for something else', async () => {
  const strict = await serveForTest(engine, { jsonMode: true })
  const ask = async (fields: object) => {
    const { choices } = await strict.client.chat.completions.create(asking(FRANCE, fields))
    return choices[0]!.message.content!
  }
  expect(JSON.parse(await ask({ max_tokens: 30 }))).toBeTypeOf('object')
  expect(await ask({ response_format: { type: 'text' } })).toBe(PARIS)
  const tools = [{ type: 'function', name: 'now' }]
  const body = {
    model: 'starter',
    max_tokens: 30,
    messages: [{ role: 'user', content: FRANCE }],
    output_config: { effort: 'low' },
  }
  const post = async (path: string, fields: object) =>
    (
      await fetch(`${strict.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(fields),
      })
    ).json()
  expect(JSON.parse((await post('/v1/messages', body)).content[0].text)).toBeTypeOf('object')
  // As in /v1/chat/completions, functions take the place of the default.
  expect(await post('/v1/messages', { ...body, tools: [{ name: 'now', input_schema: {} }] })).toMatchObject({
    type: 'message',
  })
  const input = { model: 'starter', max_output_tokens: 30, input: FRANCE, temperature: 0, text: { verbosity: 'low' } }
  const { output, text } = await post('/v1/responses', input)
  expect(JSON.parse(output[0].content[0].text)).toBeTypeOf('object')
  expect(text).toEqual({ format: { type: 'json_object' } })
  expect(await post('/v1/responses', { ...input, tools })).toMatchObject({ text: { format: { type: 'text' } } })
  const plain = await post('/v1/responses', { ...input, text: { format: { type: 'text' } } })
  expect(plain.output[0].content[0].text).toBe(PARIS)
  await strict.close()
})

test('models are listed and found, and an unknown model is a NotFoundError that names the known ones', async () => {
  const starter = { id: 'starter', object: 'model', created: 1_700_000_000, owned_by: 'local', max_model_len: 2048 }
  expect((await client.models.list()).data).toEqual([starter])
  expect(await client.models.retrieve('starter')).toEqual(starter)
  const missing = {
    status: 404,
    code: 'model_not_found',
    param: 'model',
    type: 'invalid_request_error',
    error: { message: "There is no model 'org/gpt-9' here. The only one is starter." },
  }
  for (const act of [
    () => client.models.retrieve('org/gpt-9'),
    () => client.chat.completions.create(asking(FRANCE, { model: 'org/gpt-9' })),
  ]) {
    const error = await act().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject(missing)
  }
})

test('invalid requests are BadRequestErrors that name the field', async () => {
  const fault = (fields: object) =>
    client.chat.completions.create({ ...asking(FRANCE), ...fields } as never).catch((thrown: unknown) => thrown)
  const faults = [
    [{ temperature: 3 }, 'temperature', 'invalid_request'],
    [{ tools: [{ type: 'custom', custom: { name: 'f' } }] }, 'tools[0].type', 'unsupported'],
    [{ messages: [{ role: 'user', content: 'word '.repeat(5000) }] }, 'messages', 'context_length_exceeded'],
    [{ messages: [{ role: 'user', content: 'word '.repeat(300_000) }] }, 'messages', 'context_length_exceeded'],
    [
      { messages: [{ role: 'user', content: 'word '.repeat(5000) }], stream: true },
      'messages',
      'context_length_exceeded',
    ],
  ] as const
  for (const [fields, param, code] of faults) {
    const error = await fault(fields)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, param, code, type: 'invalid_request_error' })
  }
  const error = await client.embeddings.create({ model: 'starter', input: 'x' }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 400, code: 'unsupported', param: 'model' })
})

test('a client that disconnects frees its slot, whether it streams or waits for the whole answer', async () => {
  const stream = await client.chat.completions.create({ ...endless, stream: true })
  for await (const chunk of stream) if (chunk.choices[0]!.delta.content) break
  await server.until('inference_places_busy', 0)

  const abort = new AbortController()
  const whole = client.chat.completions.create(endless, { signal: abort.signal }).catch((thrown: unknown) => thrown)
  await server.until('inference_places_busy', 1)
  abort.abort()
  expect(await whole).toBeInstanceOf(OpenAI.APIUserAbortError)
  await server.until('inference_places_busy', 0)
  await expect.poll(() => engine.figures().slots_busy).toBe(0)
  expect(await textsOf(FRANCE, {})).toEqual([PARIS])
})

test('neither the log nor the metrics contain prompts or replies', async () => {
  await textsOf(FRANCE, {})
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  expect(server.log() + metrics).not.toMatch(/France|Paris/)
  expect(await server.metric('inference_chats_total{model="starter",outcome="completed"}')).toBeGreaterThan(0)
  await expect(client.chat.completions.create({ ...endless, model: 'another' })).rejects.toMatchObject({ status: 404 })
  expect(await server.metric('inference_chats_total{model="",outcome="model_not_found"}')).toBeGreaterThan(0)
  expect(await server.metric('inference_engine_slots_free{engine="llama.cpp",model="starter"}')).toBe(4)
})

test('an engine that dies mid-stream ends the stream with an error and is restarted', async () => {
  const stream = await client.chat.completions.create({ ...endless, stream: true })
  const failure = await (async () => {
    let killed = false
    for await (const chunk of stream) {
      if (killed || !chunk.choices[0]!.delta.content) continue
      process.kill(engine.figures().process_id!, 'SIGKILL')
      killed = true
    }
  })().catch((thrown: unknown) => thrown)
  expect(failure).toBeInstanceOf(OpenAI.APIError)
  expect(failure).toMatchObject({ code: 'engine_failed', type: 'server_error' })
  expect(await textsOf(FRANCE, {})).toEqual([PARIS])
})
