import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startWorld, type World, type WorldOptions } from '../../../test/world.ts'
import { endless, openStarter, serveForTest, type TestInference } from '../../inference/api/test-inference.fixture.ts'
import type { Engine } from '../../inference/engines/engine.ts'

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

const QUESTION = [{ role: 'user', content: 'What is the capital of France?' }]
const ANSWER = 'The capital of France is Paris.'
const chat = { model: 'starter', messages: QUESTION, temperature: 0 }
const CHAT = '/api/v1/inference/chat/completions'

const start = async (inferenceUrl: string | null, config: WorldOptions['config'] = {}) => {
  const world = await startWorld({ config: { inferenceUrl, ...config } })
  const key = world.service.firstAdminKey ?? (await world.register('a')).key
  return { world, key, ask: (body: object = chat) => world.request('POST', CHAT, { key, body }) }
}

/** Starts a server that is not an inference server of ours. */
const startOther = async (response: RequestListener): Promise<{ url: string; other: Server }> => {
  const other = createServer(response)
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    other.closeAllConnections()
    other.close()
  })
  return { url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, other }
}

const openStream = (world: World, key: string, body: object, signal?: AbortSignal) =>
  fetch(`${world.baseUrl}${CHAT}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    ...(signal && { signal }),
  })

describe('requests to the inference server', () => {
  it('carry the configured key, and return 502 if the server rejects it', async () => {
    const seen: (string | undefined)[] = []
    const { url } = await startOther((request, response) => {
      seen.push(request.headers.authorization)
      const isRight = request.headers.authorization === 'Bearer right'
      response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' }).end('{"data":[]}')
    })
    for (const [inferenceKey, status] of [
      ['right', 200],
      ['wrong', 502],
    ] as const) {
      const { world, key } = await start(url, { inferenceKey })
      expect((await world.request('GET', '/api/v1/inference/models', { key })).status).toBe(status)
    }
    expect(seen).toEqual(['Bearer right', 'Bearer wrong'])
  })

  it('return its models, and a chat both whole and as a stream', async () => {
    const { world, key, ask } = await start(server.url)
    const models = await world.request('GET', '/api/v1/inference/models', { key })
    expect(models.body).toEqual({
      object: 'list',
      data: [{ id: 'starter', object: 'model', created: expect.any(Number), owned_by: 'local' }],
    })
    const whole = await ask()
    expect(whole).toMatchObject({ status: 200, body: { choices: [{ message: { content: ANSWER } }] } })
    const stream = await openStream(world, key, chat)
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const text = await stream.text()
    const pieces = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece)
    expect([pieces.join(''), text.includes('"prompt_tokens"'), text.includes('data: [DONE]\n\n')]).toEqual([
      ANSWER,
      true,
      true,
    ])
  })

  it('stop when the client disconnects', async () => {
    const { world, key } = await start(server.url)
    const gone = new AbortController()
    const stream = await openStream(world, key, endless, gone.signal)
    await stream.body?.getReader().read()
    await server.until('inference_places_busy{model="starter"}', 1)
    gone.abort()
    await server.until('inference_places_busy{model="starter"}', 0)
  })

  it('are limited to four at a time for each key', async () => {
    const { world, key, ask } = await start(server.url)
    const gone = new AbortController()
    await Promise.all([1, 2, 3, 4].map(() => openStream(world, key, endless, gone.signal)))
    const refused = await ask()
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
    expect(refused.headers.get('retry-after')).toBe('5')
    gone.abort()
    await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(200)
  })

  it('relay the headers of the server, and its trailers as an event after the stream', async () => {
    const { url } = await startOther((_request, response) => {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'x-service-routed-model': 'small',
        'set-cookie': 'a=b',
        trailer: 'X-Service-Early-Exit-Tokens',
      })
      response.write('data: [DONE]\n\n')
      response.addTrailers({ 'X-Service-Early-Exit-Tokens': '12' })
      response.end()
    })
    const { world, key } = await start(url)
    const stream = await openStream(world, key, chat)
    expect([stream.headers.get('x-service-routed-model'), stream.headers.get('set-cookie')]).toEqual(['small', null])
    expect(await stream.text()).toBe('data: [DONE]\n\nevent: trailers\ndata: {"x-service-early-exit-tokens":"12"}\n\n')
  })

  it('contain only the fields that the API documents', async () => {
    let seen: unknown = null
    const { url } = await startOther((request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        seen = { body: JSON.parse(body), authorization: request.headers.authorization, cookie: request.headers.cookie }
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
    })
    const { ask } = await start(url)
    const answer = await ask({ ...chat, tools: [] })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-service-warning')).toContain('tools')
    expect(seen).toEqual({ body: chat, authorization: undefined, cookie: undefined })
  })
})

describe('an inference server that cannot be used', () => {
  it('causes a 409 with advice if none is configured', async () => {
    const { ask } = await start(null)
    const { status, body } = await ask()
    expect([status, (body as { message: string }).message]).toEqual([409, expect.stringContaining('svc serve')])
  })

  it('causes a 502 if nothing listens, or something that does not serve models', async () => {
    const { url, other } = await startOther((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>'),
    )
    const { world, key, ask } = await start(url)
    expect(await ask()).toMatchObject({
      status: 502,
      body: { error: 'upstream_failed', message: expect.stringContaining('not an OpenAI-compatible') },
    })
    await new Promise((done) => other.close(done))
    const { status, body } = await world.request('GET', '/api/v1/inference/models', { key })
    expect({ status, body }).toMatchObject({
      status: 502,
      body: {
        message: `The inference server at ${url} cannot be used: nothing listens there. Start it with: svc serve <model>`,
      },
    })
  })

  it.each([
    [302, {}, '', 502, 'redirect'],
    [401, {}, '{"error":{"message":"no key"}}', 502, 'Set SERVICE_SERVER_KEY'],
    [404, {}, '{"error":{"message":"no such model"}}', 404, 'no such model'],
    [400, {}, '{"error":{"message":"bad stop"}}', 400, 'bad stop'],
    [500, {}, 'oh', 502, 'status 500'],
    [503, { 'retry-after': '7' }, '{"error":{"message":"queue full"}}', 503, 'queue full'],
  ])('has its status %i translated to an error of this API', async (status, headers, body, told, message) => {
    const { url } = await startOther((_request, response) => {
      response.writeHead(status, { location: 'http://127.0.0.1:1/', ...headers }).end(body)
    })
    const { ask } = await start(url)
    const answer = await ask()
    expect(answer).toMatchObject({ status: told, body: { message: expect.stringContaining(message) } })
    expect(answer.headers.get('retry-after')).toBe(told === 503 ? '7' : null)
  })

  it('causes a stream that breaks off to end with an error', async () => {
    const { url } = await startOther((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {}\n\n', () => response.destroy())
    })
    const { world, key } = await start(url)
    const text = await (await openStream(world, key, chat)).text()
    expect(text).toContain('"code":"upstream_failed"')
  })
})

it("under token enrollment, inference requires models:read and rejects devices' own keys", async () => {
  const { world, key } = await start(server.url, { enrollment: 'token' })
  const made = await world.request('POST', '/api/v1/keys', { key, body: { name: 'x', scopes: ['training:read'] } })
  const { api_key } = made.body as { api_key: string }
  const device = await world.request('POST', '/api/v1/devices/register', { key, body: { device_id: 'd' } })
  const own = (device.body as { api_key: string }).api_key
  expect((await world.request('POST', CHAT, { key: api_key, body: chat })).status).toBe(403)
  expect((await world.request('POST', CHAT, { key: own, body: chat })).status).toBe(403)
  expect((await world.request('POST', CHAT, { key, body: chat })).status).toBe(200)
})
