import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
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

const QUESTION = 'What is the capital of France?'
const ANSWER = 'The capital of France is Paris.'
const base = { model: 'starter', temperature: 0 }
const tool = {
  type: 'function' as const,
  name: 'get_weather',
  description: null,
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { enum: ['Paris', 'Rome'] } },
    required: ['city'],
    additionalProperties: false,
  },
}
const forced = {
  ...base,
  input: QUESTION,
  tools: [tool],
  tool_choice: { type: 'function' as const, name: 'get_weather' },
}

const eventsOf = async (stream: AsyncIterable<ResponseStreamEvent>) => {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
  return events
}
/** Returns the event types without consecutive repetitions. */
const typesOf = (events: readonly ResponseStreamEvent[]) =>
  events.map(({ type }) => type.replace('response.', '')).filter((type, index, all) => type !== all[index - 1])

test('a response is returned whole, with the fields that clients read', async () => {
  const input = [
    { role: 'developer' as const, content: 'Be brief.' },
    { role: 'user' as const, content: [{ type: 'input_text' as const, text: QUESTION }] },
  ]
  const whole = await server.client.responses.create({ ...base, instructions: 'Answer.', input, store: false })
  expect({ text: whole.output_text, status: whole.status, object: whole.object, error: whole.error }).toEqual({
    text: ANSWER,
    status: 'completed',
    object: 'response',
    error: null,
  })
  expect(whole.usage!.total_tokens).toBe(whole.usage!.input_tokens + whole.usage!.output_tokens)
  expect(whole.usage!.input_tokens_details).toEqual({ cached_tokens: expect.any(Number), cache_write_tokens: 0 })
  expect(whole.metadata).toEqual({})
  const metadata = { trace: '7' }
  const cut = await server.client.responses.create({ ...base, input: QUESTION, max_output_tokens: 2, metadata })
  expect(cut.metadata).toEqual(metadata)
  expect([cut.status, cut.incomplete_details]).toEqual(['incomplete', { reason: 'max_output_tokens' }])
})

test('a text is streamed with its events in order', async () => {
  const events = await eventsOf(await server.client.responses.create({ ...base, input: QUESTION, stream: true }))
  expect(typesOf(events)).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  expect(events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')).toBe(ANSWER)
  expect((await server.client.responses.stream({ ...base, input: QUESTION }).finalResponse()).output_text).toBe(ANSWER)
})

test('a call is a separate item, whole and streamed, and its result is accepted', async () => {
  const { output } = await server.client.responses.create(forced)
  expect(output).toEqual([
    {
      id: expect.stringMatching(/^fc_/),
      type: 'function_call',
      status: 'completed',
      call_id: expect.stringMatching(/^call_/),
      name: 'get_weather',
      arguments: expect.stringMatching(/Paris|Rome/),
    },
  ])
  const events = await eventsOf(await server.client.responses.create({ ...forced, stream: true }))
  expect(typesOf(events)).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ])
  const [call] = output
  const next = await server.client.responses.create({
    ...base,
    tools: [tool],
    tool_choice: 'none',
    input: [
      { role: 'user', content: QUESTION },
      call!,
      { type: 'function_call_output', call_id: (call as { call_id: string }).call_id, output: 'sunny' },
    ],
    max_output_tokens: 5,
  } as never)
  expect((next as { object: string }).object).toBe('response')
})

test('functions in a namespace are called with separate name and namespace fields', async () => {
  const namespace = { type: 'namespace', name: 'agents', description: '', tools: [{ ...tool, description: 'x' }] }
  const { output } = (await server.client.responses.create({
    ...base,
    input: QUESTION,
    tools: [namespace],
    tool_choice: 'required',
    parallel_tool_calls: false,
  } as never)) as { output: readonly { readonly call_id: string }[] }
  expect(output).toMatchObject([{ type: 'function_call', name: 'get_weather', namespace: 'agents' }])
  const next = await server.client.responses.create({
    ...base,
    tools: [namespace],
    max_output_tokens: 3,
    input: [...output, { type: 'function_call_output', call_id: output[0]!.call_id, output: 'sunny' }],
  } as never)
  expect(next).toMatchObject({ object: 'response' })
})

test('unsupported fields are refused by name', async () => {
  const fault = (fields: object) =>
    server.client.responses.create({ ...base, input: 'x', ...fields } as never).catch((error: unknown) => error)
  const faults = [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', name: 'a', params: {} }] }, 'tools[0].params'],
    [{ text: { formt: {} } }, 'text.formt'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input[0].type'],
    [{ input: [{ role: 'constructor', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ type: 'function_call_output', call_id: 'x', output: '' }] }, 'input[0].call_id'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input[0].content[0]'],
  ] as const
  for (const [fields, param] of faults) expect(await fault(fields)).toMatchObject({ status: 400, param })
  for (const fields of [{ previous_response_id: 'resp_1' }, { input: [{ type: 'item_reference', id: 'x' }] }])
    expect(await fault(fields)).toMatchObject({ message: expect.stringContaining('Nothing is stored here: send the ') })
  expect(await fault({ model: 'big' })).toMatchObject({ status: 404, code: 'model_not_found' })
  const json = await server.client.responses.create({
    ...base,
    input: 'Give me JSON.',
    text: { format: { type: 'json_object' } },
    max_output_tokens: 30,
  })
  expect(() => JSON.parse(json.output_text)).not.toThrow()
})
