import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveForTest, type TestInference } from '../../api/test-inference.fixture.ts'
import { openRemoteEngine } from './remote-engine.ts'

let status = 200
let body: readonly (string | Buffer)[] = []
let received = ''
const upstream = createServer((request, response) => {
  received = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  if (request.method === 'GET') return response.writeHead(404).end('{}')
  response.writeHead(status, { 'content-type': 'text/event-stream' })
  for (const piece of body) response.write(piece)
  response.end()
})

let server: TestInference
let client: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo
  server = await serveForTest(
    await openRemoteEngine({ name: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, key: null, model: 'm' }),
  )
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
})

afterAll(async () => {
  await server.close()
  upstream.closeAllConnections()
  upstream.close()
})

const DONE = 'data: [DONE]\n\n'
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const delta = (fields: object, finish: string | null = null, rest: object = {}): string =>
  event({ choices: [{ index: 0, delta: fields, finish_reason: finish }], ...rest })
const call = (index: number, fields: { id?: string; name?: string; arguments?: string }): string => {
  const { id, ...given } = fields
  return delta({ tool_calls: [{ index, ...(id !== undefined && { id }), type: 'function', function: given }] })
}

const question = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
const answerTo = (...pieces: (string | Buffer)[]) => {
  status = 200
  body = pieces
  return client.chat.completions.create(question)
}
const callsIn = async (...pieces: string[]) =>
  (await answerTo(...pieces)).choices[0]!.message.tool_calls!.map((one) => 'function' in one && one.function)
const faultOf = async (promise: Promise<unknown>) => {
  const error = (await promise.catch((thrown: unknown) => thrown)) as { status?: number; message: string }
  return { status: error.status, message: error.message }
}

test('a server may send one object instead of a stream, lists of parts, and arguments as an object', async () => {
  const message = {
    content: [{ type: 'text', text: 'It is ' }, { type: 'other' }, { type: 'refusal', refusal: 'sunny.' }],
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: { city: 'Rome' } } }],
  }
  const usage = { prompt_tokens: 3, completion_tokens: 4 }
  const whole = ` \n\n ${JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }, null, 1)}`
  expect(await answerTo(whole)).toMatchObject({
    choices: [
      {
        message: {
          content: 'It is sunny.',
          tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage,
  })
  expect(await faultOf(answerTo('{"error": {"message": "no credit"}}'))).toMatchObject({
    status: 502,
    message: expect.stringContaining('no credit'),
  })
})

test('reasoning and the number of its tokens are passed on, and so is the wish for none', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 7 } }
  const pieces = [
    delta({ reasoning_content: 'Rome ' }),
    // vLLM's newer name, which some servers send beside the other.
    delta({ reasoning: 'or Bonn?', reasoning_content: 'or Bonn?' }),
    delta({ content: 'Bonn.' }, 'stop', { usage }),
    DONE,
  ]
  expect(await answerTo(...pieces)).toMatchObject({
    choices: [{ message: { content: 'Bonn.', reasoning_content: 'Rome or Bonn?' } }],
    usage,
  })
  expect(received).not.toContain('reasoning')
  await client.chat.completions.create({ ...question, reasoning_effort: 'none' })
  expect(JSON.parse(received)).toMatchObject({ reasoning_effort: 'none' })
})

test('log probabilities are read in both formats, and a server that sends none is reported', async () => {
  const ask = (...pieces: string[]) => {
    body = pieces
    return client.completions.create({ model: 'm', prompt: 'hi', logprobs: 1 })
  }
  const part = (text: string, logprobs: object | null) => event({ choices: [{ index: 0, text, logprobs }] })
  const scores = {
    tokens: [' a', 'b'],
    token_logprobs: [-1, -0.5],
    top_logprobs: [{ ' c': -0.25, ' a': -1 }, { b: -0.5 }],
    text_offset: [0, 2],
  }
  const [first, second] = [0, 1].map((at) =>
    Object.fromEntries(Object.entries(scores).map(([name, values]) => [name, [values[at]]])),
  )
  const end = event({ choices: [{ index: 0, text: '', finish_reason: 'stop' }] })
  expect((await ask(part(' a', first!), part('b', second!), end, DONE)).choices).toEqual([
    { index: 0, text: ' ab', logprobs: scores, finish_reason: 'stop' },
  ])
  expect(JSON.parse(received)).toMatchObject({ prompt: 'hi', logprobs: 1, max_tokens: 16 })
  expect(received).not.toMatch(/messages|suffix|echo/)
  const content = scores.tokens.map((token, at) => ({
    token,
    logprob: scores.token_logprobs[at],
    top_logprobs: Object.entries(scores.top_logprobs[at]!).map(([other, logprob]) => ({ token: other, logprob })),
  }))
  expect((await ask(part(' ab', { content }), end, DONE)).choices[0]!.logprobs).toEqual(scores)
  body = [delta({ reasoning_content: 'Hm.' }, 'length'), DONE]
  const cut = await client.chat.completions.create({ ...question, logprobs: true })
  expect(cut.choices[0]).toMatchObject({ finish_reason: 'length', logprobs: { content: [] } })
  body = [event({ choices: [{ delta: { content: 'hi' }, logprobs: { content }, finish_reason: 'stop' }] }), DONE]
  expect((await client.chat.completions.create(question)).choices[0]).not.toHaveProperty('logprobs')
  expect(await faultOf(ask(part(' ab', null), end, DONE))).toMatchObject({
    status: 502,
    message: expect.stringContaining('was asked for log probabilities, but sent none.'),
  })
})

test('options go to a server under the names that it may know, and its reasoning goes back to it', async () => {
  body = [delta({ reasoning_content: 'It is 12.', content: 'Noon.' }, 'stop'), DONE]
  const ask = async (fields: object) => {
    const { usage } = await client.chat.completions.create({ ...question, ...fields })
    return { usage, ...JSON.parse(received) }
  }
  const off = { chat_template_kwargs: { enable_thinking: false } }
  expect(await ask(off)).toMatchObject(off)
  expect(await ask(off)).not.toHaveProperty('reasoning_effort')
  for (const reasoning_effort of ['low', 'max'])
    expect(await ask({ reasoning_effort })).toMatchObject({ reasoning_effort })
  // Not every server of OpenAI's API takes it: agents of other APIs send theirs always.
  await anthropic.messages.create({ ...question, max_tokens: 9, thinking: { type: 'disabled' } })
  expect(received).not.toMatch(/reasoning|thinking/)
  expect(await ask({ repeat_penalty: 1.2 })).toMatchObject({ repeat_penalty: 1.2, repetition_penalty: 1.2 })
  const call = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } }
  const messages = [
    ...question.messages,
    { role: 'assistant', content: '', reasoning_content: 'I look.', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '12:00' },
  ]
  const answer = await ask({ messages })
  expect(answer.messages).toEqual(messages)
  // Estimated, because this server does not count: 14 bytes.
  expect(answer.usage.completion_tokens).toBe(4)
})

test('programs turn reasoning off by an option of the chat template', async () => {
  const { port } = upstream.address() as AddressInfo
  const engine = await openRemoteEngine({ name: 'vllm', baseUrl: `http://127.0.0.1:${port}/v1`, key: null, model: 'm' })
  body = [delta({ content: 'Noon.' }, 'stop'), DONE]
  const vllm = await serveForTest(engine)
  const asking = new OpenAI({ baseURL: `${vllm.url}/v1`, apiKey: 'none', maxRetries: 0 })
  await asking.chat.completions.create({ ...question, reasoning_effort: 'none' }).finally(vllm.close)
  expect(JSON.parse(received)).toMatchObject({ chat_template_kwargs: { enable_thinking: false } })
  expect(received).not.toContain('reasoning_effort')
})

test('refusals and filtered replies are reported as such', async () => {
  const filtered = [delta({ refusal: 'I cannot help.' }), delta({}, 'content_filter'), DONE]
  expect((await answerTo(...filtered)).choices[0]).toMatchObject({
    message: { content: 'I cannot help.' },
    finish_reason: 'content_filter',
  })
  const question = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 9 }
  expect(await anthropic.messages.create(question)).toMatchObject({ stop_reason: 'refusal' })
  expect(await client.responses.create({ model: 'm', input: 'hi' })).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    output_text: 'I cannot help.',
  })
})

test('only the last item of a response that was cut off is incomplete, whole and streamed', async () => {
  const calls = [
    call(0, { id: 'c1', name: 'a', arguments: '{}' }),
    call(1, { id: 'c2', name: 'b', arguments: '{"x":' }),
  ]
  body = [delta({ content: 'Two calls.' }), ...calls, delta({}, 'length'), DONE]
  const whole = await client.responses.create({ model: 'm', input: 'hi' })
  const streamed = await client.responses.stream({ model: 'm', input: 'hi' }).finalResponse()
  for (const { status, output } of [whole, streamed])
    expect([status, ...output.map((item) => 'status' in item && item.status)]).toEqual([
      'incomplete',
      'completed',
      'completed',
      'incomplete',
    ])
})

test('a message at the end of a stream repeats nothing, and lines before it are ignored', async () => {
  const last = { choices: [{ index: 0, delta: null, message: { content: 'he' }, finish_reason: 'stop' }] }
  const whole = await answerTo('{"junk": 1}\n\n', delta({ content: 'he' }), event(last))
  expect(whole.choices[0]!.message.content).toBe('he')
})

test('a filtered reply drops a call without its end; an empty object before pieces of arguments adds nothing', async () => {
  const begun = delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'weather', arguments: {} } }] })
  expect(await callsIn(begun, call(0, { arguments: '{"city":"Rome"}' }), delta({}, 'tool_calls'), DONE)).toEqual([
    { name: 'weather', arguments: '{"city":"Rome"}' },
  ])
  body = [begun, call(0, { arguments: '{"ci' }), delta({}, 'content_filter'), DONE]
  const message = await anthropic.messages.create({ ...question, max_tokens: 9 })
  expect(message).toMatchObject({ content: [], stop_reason: 'refusal' })
  expect((await answerTo(begun, delta({}, 'content_filter'), DONE)).choices[0]).toMatchObject({
    message: { tool_calls: [{ function: { arguments: '' } }] },
    finish_reason: 'content_filter',
  })
})

test('counts that cannot be are estimated instead, in whole replies and in streams', async () => {
  const usage = { prompt_tokens: -5, completion_tokens: 1 }
  const whole = await answerTo(delta({ content: 'Hello.' }), delta({}, 'stop', { usage }), DONE)
  expect(whole.usage).toMatchObject({ prompt_tokens: 1, completion_tokens: 2 })
  const half = { prompt_tokens: 7, completion_tokens: -1, prompt_tokens_details: { cached_tokens: 9 } }
  body = [delta({ content: 'Hello.' }), delta({}, 'stop', { usage: half }), DONE]
  const last = []
  for await (const chunk of await client.chat.completions.create({
    ...question,
    stream: true,
    stream_options: { include_usage: true },
  }))
    last.push(chunk.usage)
  expect(last.at(-1)).toEqual({
    prompt_tokens: 7,
    completion_tokens: 2,
    total_tokens: 9,
    prompt_tokens_details: { cached_tokens: 7 },
  })
})

test('calls whose arguments arrive in turn stay apart, and calls with the same index do too', async () => {
  const expected = [
    { name: 'f', arguments: '{"x":1}' },
    { name: 'g', arguments: '{"y":2}' },
  ]
  const finish = delta({}, 'tool_calls') + DONE
  expect(
    await callsIn(
      call(0, { id: 'a', name: 'f', arguments: '' }),
      call(1, { id: 'b', name: 'g', arguments: '' }),
      call(0, { arguments: '{"x":' }),
      call(1, { arguments: '{"y":2}' }),
      call(0, { arguments: '1}' }),
      finish,
    ),
  ).toEqual(expected)
  expect(
    await callsIn(
      call(0, { id: 'a', name: 'f', arguments: '{"x":1}' }),
      call(0, { id: 'b', name: 'g', arguments: '{"y":2}' }),
      finish,
    ),
  ).toEqual(expected)
})

test('a call whose name is repeated, or whose id comes late, is one call', async () => {
  const finish = delta({}, 'tool_calls') + DONE
  for (const [first, second] of [
    [undefined, 'a'],
    ['a', 'a'],
    ['a', undefined],
    [undefined, undefined],
  ]) {
    const chunk = (id: string | undefined, given: string) =>
      call(0, { ...(id !== undefined && { id }), name: 'f', arguments: given })
    const other = call(0, { id: 'b', name: 'g', arguments: '{}' })
    const expected = [{ name: 'f', arguments: '{"x":1}' }]
    const chunks = [chunk(first, '{"x":'), chunk(second, '1}')]
    expect(await callsIn(...chunks, finish)).toEqual(expected)
    if (first ?? second)
      expect(await callsIn(...chunks, other, finish)).toEqual([...expected, { name: 'g', arguments: '{}' }])
  }
})

test('a call without arguments gets an empty object, unless the reply was cut off', async () => {
  const start = [call(0, { id: 'a', name: 'f' }), call(1, { id: 'b', name: 'g' })]
  expect(await callsIn(...start, delta({}, 'tool_calls'), DONE)).toEqual([
    { name: 'f', arguments: '{}' },
    { name: 'g', arguments: '{}' },
  ])
  expect(await callsIn(start[0]!, delta({}, 'length'), DONE)).toEqual([{ name: 'f', arguments: '' }])
})

test("arguments that are not an object are refused in Anthropic's API", async () => {
  status = 200
  body = [call(0, { id: 'a', name: 'f', arguments: '5' }), delta({}, 'tool_calls'), DONE]
  expect(await faultOf(anthropic.messages.create({ ...question, max_tokens: 5 }))).toEqual({
    status: 502,
    message: expect.stringContaining('sent arguments that are not a JSON object.'),
  })
})

test('with functions, stop sequences cut the text of a reply and never its calls', async () => {
  status = 200
  const chat = { ...question, stop_sequences: ['END', ' or'], max_tokens: 9 }
  const tools = [{ name: 'f', input_schema: { type: 'object' as const } }]
  const given = [call(0, { id: 'a', name: 'f', arguments: '{"x":"EN' }), call(0, { arguments: 'D or"}' })]
  body = [delta({ content: 'Now E' }), ...given, delta({}, 'tool_calls'), DONE]
  expect(await anthropic.messages.create({ ...chat, tools })).toMatchObject({
    content: [
      { type: 'text', text: 'Now E' },
      { type: 'tool_use', name: 'f', input: { x: 'END or' } },
    ],
    stop_reason: 'tool_use',
  })
  expect(received).not.toContain('"stop"')
  body = [delta({ content: 'Now E' }), delta({ content: 'ND.' }), ...given, delta({}, 'tool_calls'), DONE]
  expect(await anthropic.messages.create({ ...chat, tools, tool_choice: { type: 'any' } })).toMatchObject({
    content: [{ type: 'text', text: 'Now ' }],
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
  })
  body = [delta({ content: 'Now EN' }), delta({}, 'stop'), DONE]
  expect((await anthropic.messages.create({ ...chat, tools })).content).toMatchObject([{ text: 'Now EN' }])
  expect((await anthropic.messages.create(chat)).stop_reason).toBe('end_turn')
  expect(JSON.parse(received)).toMatchObject({ stop: ['END', ' or'] })
})

test('a reply is whole once it has a finish reason, however the stream ends', async () => {
  const text = delta({ content: 'Hel' }).replaceAll('\n', '\r\n') + delta({ content: 'lo.' })
  const finish = delta({}, 'stop', { error: null })
  const cut = finish.slice(0, -9)
  for (const end of [finish, `${finish}data: [DONE]`, finish.trimEnd().concat('\n'), finish.trimEnd(), finish + cut])
    expect((await answerTo(text, end)).choices[0]!.message.content).toBe('Hello.')
  expect((await answerTo(`${text}data: [DONE]`)).choices[0]!.message.content).toBe('Hello.')
  expect((await faultOf(answerTo(text, cut))).message).toContain('the stream ended early')
})

test('an endless line and a long error message are not collected', async () => {
  expect(await faultOf(answerTo('data: ', Buffer.alloc(17 * 2 ** 20, 'x'), `\n\n${DONE}`))).toMatchObject({
    status: 502,
    message: expect.stringContaining('it sent a line that is too long'),
  })
  for (status of [500, 204]) {
    body = status === 500 ? [Buffer.alloc(2 ** 20, 'x')] : []
    expect(await faultOf(client.chat.completions.create(question))).toMatchObject({ status: 502 })
  }
})

test('numbers of a vector that float32 cannot hold are refused', async () => {
  status = 200
  body = ['{"data":[{"index":0,"embedding":[1e39]}]}']
  expect(await faultOf(client.embeddings.create({ model: 'm', input: 'a' }))).toMatchObject({
    status: 502,
    message: expect.stringContaining('it sent 0 of 1 vectors'),
  })
})
