import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStarter, serveForTest, type TestInference } from '../../../inference/api/test-inference.fixture.ts'
import type { Engine } from '../../../inference/engines/engine.ts'
import { type Gateway, openGateway } from './gateway.ts'
import { messagesDialect } from './messages-dialect.ts'
import { responsesDialect } from './responses-dialect.ts'

const QUESTION = 'What is the capital of France?'
const ANSWER = 'The capital of France is Paris.'

let engine: Engine
let server: TestInference
let messages: Gateway
let responses: Gateway

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
  messages = await openGateway(messagesDialect, server.url)
  responses = await openGateway(responsesDialect, server.url)
})

afterAll(async () => {
  await messages.close()
  await responses.close()
  await server.close()
  await engine.close()
})

const post = (body: unknown, text = JSON.stringify(body)) =>
  fetch(`${messages.url}/v1/messages?beta=true`, { method: 'POST', body: text })

const requested = {
  model: 'starter',
  max_tokens: 50,
  temperature: 0,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  tools: [{ name: 'bash', input_schema: {} }],
  messages: [{ role: 'user', content: [{ type: 'text', text: QUESTION }] }],
}

it('a message in the style of Anthropic is answered whole', async () => {
  const { id, usage, ...rest } = await (await post(requested)).json()
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
  expect((await (await post({ ...requested, max_tokens: 2 })).json()).stop_reason).toBe('max_tokens')
})

it('and as a stream of its events', async () => {
  const text = await (await post({ ...requested, stream: true })).text()
  const events = text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => {
      const [name, data] = event.split('\n')
      return { name: name!.replace('event: ', ''), data: JSON.parse(data!.replace('data: ', '')) }
    })
  expect(events.every(({ name, data }) => name === data.type)).toBe(true)
  const names = events.map(({ name }) => name)
  expect(names.filter((name, index) => name !== names[index - 1])).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  expect(events.map(({ data }) => data.delta?.text ?? '').join('')).toBe(ANSWER)
  expect(events.at(-2)!.data.delta).toEqual({ stop_reason: 'end_turn', stop_sequence: null })
})

it('what is refused is told in its shape', async () => {
  const reported = async (response: Response) => ({ status: response.status, body: await response.json() })
  expect([await reported(await post(null, '{')), await reported(await post({ ...requested, model: 'big' }))]).toEqual([
    {
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message: 'The request is not a JSON object.' } },
    },
    {
      status: 404,
      body: {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining("no model 'big'") },
      },
    },
  ])
  expect((await fetch(messages.url, { method: 'HEAD' })).status).toBe(200)
  expect((await fetch(`${messages.url}/v1/models`)).status).toBe(404)
})

it('the official client of the Responses API gets answers, whole and streamed', async () => {
  const client = new OpenAI({ baseURL: `${responses.url}/v1`, apiKey: 'none', maxRetries: 0 })
  const input = [
    { role: 'developer' as const, content: 'Be brief.' },
    { role: 'user' as const, content: [{ type: 'input_text' as const, text: QUESTION }] },
  ]
  const whole = await client.responses.create({ model: 'starter', temperature: 0, instructions: 'Answer.', input })
  expect({ text: whole.output_text, status: whole.status }).toEqual({ text: ANSWER, status: 'completed' })
  const cut = await client.responses.create({ model: 'starter', temperature: 0, input: QUESTION, max_output_tokens: 2 })
  expect([cut.status, cut.incomplete_details]).toEqual(['incomplete', { reason: 'max_output_tokens' }])

  const stream = client.responses.stream({ model: 'starter', temperature: 0, input: QUESTION })
  const types: string[] = []
  for await (const event of stream) types.push(event.type)
  const final = await stream.finalResponse()
  expect({ text: final.output_text, status: final.status, last: types.at(-1) }).toEqual({
    text: ANSWER,
    status: 'completed',
    last: 'response.completed',
  })
  await expect(client.responses.create({ model: 'big', input: 'x' })).rejects.toThrow("no model 'big'")
})
