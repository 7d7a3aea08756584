import { createServer, type IncomingMessage, request as requestOverHttp, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStarter, serveForTest, type TestInference } from '../../api/test-inference.fixture.ts'
import { chooseModelAndEngine } from '../../choose-model-and-engine.ts'
import { createInferenceServer } from '../../compose.ts'
import type { Engine } from '../engine.ts'
import { openRemoteEngine } from './remote-engine.ts'
import { addressOf } from './servers.ts'

let starter: Engine
let upstream: TestInference

beforeAll(async () => {
  starter = await openStarter()
  upstream = await serveForTest(starter)
})
afterAll(async () => {
  await upstream.close()
  await starter.close()
})

/** Starts a second inference server that uses the first one as its engine. */
const serve = async (engine: string, options: { readonly model?: string; readonly key?: string } = {}) => {
  const server = await createInferenceServer({
    home: '/nowhere/svc',
    cwd: '/',
    env: { ...(options.key !== undefined && { SERVICE_ENGINE_API_KEY: options.key }) },
    host: '127.0.0.1',
    port: 0,
    models: [options.model ?? 'starter'],
    engine,
    version: '1.1.0',
    log: { level: 'silent' },
  })
  onTestFinished(() => server.close())
  const url = `http://127.0.0.1:${server.address.port}`
  return { server, url, client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }) }
}

/** Starts a proxy in front of the first server, which forwards what `before` does not answer. */
const standBefore = async (before: (request: IncomingMessage, response: ServerResponse) => boolean) => {
  const front = createServer((request, response) => {
    if (before(request, response)) return
    const { method, url, headers } = request
    const passed = requestOverHttp(`${upstream.url}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => front.once('listening', resolve))
  onTestFinished(() => {
    front.closeAllConnections()
    front.close()
  })
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`
}

const refuse = (response: ServerResponse, status: number, message: string, headers = {}): true => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message, type: 'error', param: null, code: null } }))
  return true
}

const question = {
  model: 'starter',
  messages: [{ role: 'user' as const, content: 'What is the capital of France?' }],
  temperature: 0,
}

const faultOf = async (promise: Promise<unknown>) => {
  const error = (await promise.catch((thrown: unknown) => thrown)) as { status?: number; code: string; message: string }
  return { status: error.status, code: error.code, message: error.message.replace(/^\d+ /, '') }
}

test("a server's address can be an engine: chats, streams, and usage are the server's", async () => {
  const { client, url } = await serve(`${upstream.url}/v1`)
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['starter'])
  const whole = await client.chat.completions.create(question)
  const same = await upstream.client.chat.completions.create(question)
  expect(whole.choices).toEqual(same.choices)
  expect({ ...whole.usage, prompt_tokens_details: null }).toEqual({ ...same.usage, prompt_tokens_details: null })
  const stream = await client.chat.completions.create({
    ...question,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let total: number | undefined
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    total = chunk.usage?.total_tokens ?? total
  }
  expect({ text, total }).toEqual({ text: 'The capital of France is Paris.', total: same.usage!.total_tokens })
  expect((await (await fetch(`${url}/health`)).json()) as object).toMatchObject({
    loaded: [{ model: 'starter', engine: 'openai' }],
  })
})

test('completions and log probabilities are those of the server', async () => {
  const { client } = await serve(upstream.url)
  const completion = { model: 'starter', prompt: ['The capital of France is', 'Hello'], temperature: 0, max_tokens: 4 }
  for (const fields of [{}, { echo: true, logprobs: 3 }, { echo: true, max_tokens: 0 }]) {
    const [mine, same] = await Promise.all(
      [client, upstream.client].map((each) => each.completions.create({ ...completion, ...fields })),
    )
    expect(mine!.choices.map(({ text, finish_reason: reason }) => [text, reason])).toEqual(
      same!.choices.map(({ text, finish_reason: reason }) => [text, reason]),
    )
    expect(mine!.choices.map(({ logprobs }) => logprobs?.text_offset)).toEqual(
      same!.choices.map(({ logprobs }) => logprobs?.text_offset),
    )
    expect(mine!.usage).toMatchObject({ total_tokens: same!.usage!.total_tokens })
  }
  const [mine, same] = await Promise.all(
    [client, upstream.client].map(async ({ chat }) => {
      const { choices } = await chat.completions.create({ ...question, logprobs: true, top_logprobs: 2 })
      return choices[0]!.logprobs!.content!
    }),
  )
  // The prompt of one of them may be in the cache, and batches of other sizes round differently.
  const rounded = same!.map((each) => ({
    ...each,
    logprob: expect.closeTo(each.logprob, 0),
    top_logprobs: [expect.objectContaining({ token: each.token, bytes: each.bytes }), expect.anything()],
  }))
  expect(mine).toEqual(rounded)
  expect(await faultOf(client.completions.create({ ...completion, suffix: 'x' }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('suffix is not supported'),
  })
})

test('the names of participants are passed to the server', async () => {
  let sent = ''
  const front = await standBefore((request) => {
    request.on('data', (bytes: Buffer) => {
      sent += bytes.toString()
    })
    return false
  })
  const { client } = await serve(front)
  const messages = [{ role: 'user' as const, name: 'Ann', content: 'What is the capital of France?' }]
  await client.chat.completions.create({ ...question, messages })
  expect(JSON.parse(sent).messages).toEqual(messages)
})

test('a schema is passed to the server unchanged, and its refusal is returned', async () => {
  const { client } = await serve(upstream.url)
  const ask = (schema: Record<string, unknown>) =>
    client.chat.completions.create({
      ...question,
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
    })
  const { choices } = await ask({
    type: 'object',
    properties: { city: { enum: ['Paris'] } },
    required: ['city'],
    additionalProperties: false,
  })
  expect(JSON.parse(choices[0]!.message.content!)).toEqual({ city: 'Paris' })
  expect(await faultOf(ask({ type: 'array', uniqueItems: true }))).toMatchObject({
    status: 400,
    message: expect.stringContaining("refused: The JSON schema cannot be used: at '#/uniqueItems' the keyword"),
  })
})

test('a server that is unreachable, refuses the key, or lacks the model is reported before anything is served', async () => {
  const requested: (string | undefined)[] = []
  const guarded = await standBefore((request, response) => {
    requested.push(request.headers.authorization)
    return request.headers.authorization !== 'Bearer sesame' && refuse(response, 401, 'invalid api key')
  })
  expect(await faultOf(serve(guarded))).toMatchObject({
    code: 'upstream_failed',
    message: `${guarded}/v1 refused: invalid api key. Set its key in SERVICE_ENGINE_API_KEY.`,
  })
  const { client } = await serve(guarded, { key: 'sesame' })
  expect((await client.chat.completions.create(question)).choices[0]!.message.content).toBe(
    'The capital of France is Paris.',
  )
  expect(requested).toEqual([undefined, 'Bearer sesame', 'Bearer sesame'])
  expect(await faultOf(serve(upstream.url, { model: 'gpt-9' }))).toMatchObject({
    code: 'model_not_found',
    message: `${upstream.url}/v1 has no model 'gpt-9'. It has: starter.`,
  })
  expect(await faultOf(serve('http://127.0.0.1:9/v1'))).toMatchObject({
    code: 'upstream_failed',
    message: expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:9\/v1 does not respond, or broke off its response: .*running\?$/,
    ),
  })
})

test('later failures are reported with their status, and the next request is served', async () => {
  let failing: ((response: ServerResponse) => boolean) | null = null
  const flaky = await standBefore((request, response) => request.method === 'POST' && (failing?.(response) ?? false))
  const { client } = await serve(flaky)
  const ask = (how: (response: ServerResponse) => boolean) => {
    failing = how
    return faultOf(client.chat.completions.create(question))
  }
  expect(await ask((response) => refuse(response, 500, 'out of pages'))).toEqual({
    status: 502,
    code: 'upstream_failed',
    message: `${flaky}/v1 refused: out of pages`,
  })
  expect(await ask((response) => refuse(response, 404, 'no such model'))).toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
  expect(await ask((response) => refuse(response, 429, 'too many', { 'retry-after': '7' }))).toMatchObject({
    status: 503,
    code: 'queue_full',
  })
  expect(await ask((response) => refuse(response, 503, 'busy', { 'retry-after': '7' }))).toMatchObject({
    status: 503,
    code: 'queue_full',
  })
  failing = (response) => refuse(response, 503, 'busy', { 'retry-after': '1.5' })
  const busy = await client.chat.completions.create(question).catch((error: unknown) => error)
  expect((busy as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('2')
  for (const error of [
    { message: 'too long', code: 'context_length_exceeded' },
    { message: 'too long', code: 400, type: 'exceed_context_size_error' },
    { message: "This model's maximum context length is 4096 tokens.", code: 400, type: 'BadRequestError' },
  ])
    expect(
      await ask((response) => {
        response.writeHead(400).end(JSON.stringify({ error }))
        return true
      }),
    ).toEqual({ status: 400, code: 'context_length_exceeded', message: `${flaky}/v1 refused: ${error.message}` })
  expect(
    await ask((response) => {
      response.destroy()
      return true
    }),
  ).toMatchObject({ status: 502, code: 'upstream_failed' })
  expect(
    await ask((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"choices":[{"delta":{"con')
      return true
    }),
  ).toMatchObject({ status: 502, message: expect.stringContaining('the stream ended early') })
  failing = null
  expect((await client.chat.completions.create(question)).choices[0]!.finish_reason).toBe('stop')
})

test('a server that stops sending times out, and requests of disconnected clients are aborted', async () => {
  let left = 0
  const slow = await standBefore((request, response) => {
    if (request.method !== 'POST') return false
    response.once('close', () => left++)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return response.write('data: {"choices":[{"index":0,"delta":{"content":"So "}}]}\n\n')
  })
  const engine = await openRemoteEngine({
    name: 'openai',
    baseUrl: `${slow}/v1`,
    key: null,
    model: 'starter',
    stallMs: 200,
  })
  const own = await serveForTest(engine)
  onTestFinished(own.close)
  const client = new OpenAI({ baseURL: `${own.url}/v1`, apiKey: 'none', maxRetries: 0 })
  expect(await faultOf(client.chat.completions.create(question))).toEqual({
    status: 504,
    code: 'upstream_timeout',
    message: `${slow}/v1 is too slow: nothing arrived for 0.2 s.`,
  })
  await expect.poll(() => left).toBe(1)
})

test('embeddings come from the server, in the order of the inputs', async () => {
  const vectors = await standBefore((request, response) => {
    if (request.url !== '/v1/embeddings') return false
    const data = [
      { index: 1, embedding: [0, 1] },
      { index: 0, embedding: [0.5, 0.5] },
    ]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 4, total_tokens: 4 } }))
    return true
  })
  const { client } = await serve(vectors)
  const answer = await client.embeddings.create({ model: 'starter', input: ['a', 'b'], encoding_format: 'float' })
  expect({ data: answer.data.map(({ embedding }) => embedding), usage: answer.usage }).toEqual({
    data: [
      [0.5, 0.5],
      [0, 1],
    ],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  })
  expect(await faultOf(client.embeddings.create({ model: 'starter', input: ['a', 'b', 'c'] }))).toMatchObject({
    status: 502,
    message: `${vectors}/v1 refused: it sent 2 of 3 vectors`,
  })
  const { client: chats } = await serve(upstream.url)
  expect(await faultOf(chats.embeddings.create({ model: 'starter', input: 'a' }))).toMatchObject({
    status: 400,
    message: `${upstream.url}/v1 refused: The model 'starter' does not compute embeddings.`,
  })
})

test("with the name of a server program, a model that is not here is requested at the program's default address", async () => {
  const chosen = await chooseModelAndEngine({ home: '/nowhere', cwd: '/', env: {} }, 'org/tiny', 'vllm')
  expect({ path: chosen.file.path, format: chosen.file.format, ...chosen.engine }).toEqual({
    path: 'http://127.0.0.1:8000/v1',
    format: 'remote',
    name: 'vllm',
    reason: 'it runs at http://127.0.0.1:8000/v1',
  })
  const nowhere = openRemoteEngine({ name: 'vllm', baseUrl: 'http://127.0.0.1:9/v1', key: null, model: 'org/tiny' })
  expect((await faultOf(nowhere)).message).toMatch(/Is it running\? Start it: vllm serve org\/tiny$/)
})

test('an address may lack /v1, and only the address of a web server is one', () => {
  expect(['http://a:8000', 'https://a/v1/', 'http://a/other', 'auto', 'vllm'].map(addressOf)).toEqual([
    'http://a:8000/v1',
    'https://a/v1',
    'http://a/other',
    null,
    null,
  ])
  for (const engine of ['ftp://a', 'http://user:secret@a/v1', 'http://', 'http://a/v1?key=1'])
    expect(() => addressOf(engine)).toThrow(/is not the address of an engine\. Expected http:\/\/host:port\/v1/)
  for (const login of ['user:secret', 'user:sec/secret', ':secret'])
    expect(() => addressOf(`http://${login}@a/v1`)).toThrow(/^'http:\/\/a\/v1' is not the address of an engine\./)
})
