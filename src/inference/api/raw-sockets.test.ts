import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, openRaw, type RawClient } from '../../platform/http/test-server.fixture.ts'
import type { Engine } from '../engines/engine.ts'
import { endless, openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter({ slots: 2 })
  server = await serveForTest(engine, {
    stallLimits: { bodyStallMs: 800, minBytes: 100, readStallMs: 1000, lingerMs: 300 },
  })
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const post = (body: string | Buffer, headers = ''): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const france = JSON.stringify({
  model: 'starter',
  messages: [{ role: 'user', content: 'What is the capital of France?' }],
  temperature: 0,
})
const PARIS = 'The capital of France is Paris.'

const send = async (text: string | Buffer): Promise<RawClient> => {
  const client = await openRaw(server.port)
  client.socket.write(text)
  return client
}

/** Returns the status and the parsed error of the first response. */
const errorOf = async (client: RawClient): Promise<unknown> => {
  const text = await client.until('}}')
  client.socket.destroy()
  const status = Number(text.slice(9, 12))
  const { error } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { error: unknown }
  return { status, error }
}

const fault = (status: number, code: string, message: unknown, param: string | null = null) => ({
  status,
  error: { message, type: 'invalid_request_error', param, code },
})

test('invalid HTTP, JSON, UTF-8, paths, and methods are answered in the format of OpenAI', async () => {
  expect(await errorOf(await send('garbage\r\n\r\n'))).toEqual(
    fault(400, 'invalid_request', 'The request is not valid HTTP/1.1.'),
  )
  expect(await errorOf(await send(post('{"model":')))).toEqual(
    fault(400, 'invalid_request', expect.stringContaining('The body is not valid JSON')),
  )
  const encoding = 'Content-Encoding gzip is not supported: send the body uncompressed, without that header.'
  expect(await errorOf(await send(post(france, 'Content-Encoding: gzip\r\n')))).toEqual(
    fault(400, 'invalid_request', encoding),
  )
  const binary = Buffer.concat([Buffer.from(post('xxxx').slice(0, -4)), Buffer.from([0x22, 0xc3, 0x28, 0x22])])
  expect(await errorOf(await send(binary))).toEqual(fault(400, 'invalid_request', 'The body is not valid UTF-8.'))
  const plain = post('hi').replace('application/json', 'text/plain')
  expect(await errorOf(await send(plain))).toEqual(
    fault(400, 'invalid_request', "This endpoint does not accept Content-Type 'text/plain'. Send application/json."),
  )
  expect(await errorOf(await send('GET /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n'))).toEqual(
    fault(405, 'method_not_allowed', '/v1/chat/completions does not accept GET; it accepts POST.'),
  )
  expect(await errorOf(await send('GET /v2/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n'))).toEqual(
    fault(
      404,
      'not_found',
      expect.stringMatching(/^There is no GET \/v2\/nothing here. Available paths: \/health, .*\/v1\/models\/\{id\}/),
    ),
  )
  expect(await errorOf(await send('GET /v1/models/%ff HTTP/1.1\r\nHost: localhost\r\n\r\n'))).toEqual(
    fault(400, 'invalid_request', 'The path is not valid percent-encoded UTF-8.'),
  )
})

test('a body of 100 MB is refused when announced, or, if not announced, once it exceeds the limit', async () => {
  const tooLarge = fault(413, 'request_too_large', 'The body is larger than the limit of 2097152 bytes.')
  const announced = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  expect(await errorOf(await send(`${announced}Content-Length: 104857600\r\n\r\n{`))).toEqual(tooLarge)

  const client = await send(`${announced}Transfer-Encoding: chunked\r\n\r\n`)
  const piece = `100000\r\n${' '.repeat(0x100000)}\r\n`
  for (let sent = 0; sent < 9; sent++) client.socket.write(piece)
  expect(await errorOf(client)).toEqual(tooLarge)
})

test('a request that never ends and a body that trickles in are disconnected', async () => {
  const half = await send(post(france).slice(0, -10))
  const trickle = await send(post(france).slice(0, -40))
  const timer = setInterval(() => trickle.socket.write(' '), 100)
  expect(await half.closed).toBe('')
  expect(await trickle.closed).toBe('')
  clearInterval(timer)
})

test('pipelined requests are answered in order', async () => {
  const client = await send(`${post(france)}GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n${post(france)}`)
  const text = await client.until(`"object":"list"`)
  expect(text.indexOf(PARIS)).toBeGreaterThan(0)
  expect(text.indexOf(PARIS)).toBeLessThan(text.indexOf('"object":"list"'))
  await eventually(() => client.received().split(PARIS).length === 3)
  client.socket.destroy()
})

test('a client that disconnects mid-answer while pipelined requests wait leaves nothing running', async () => {
  const stream = post(JSON.stringify({ ...endless, stream: true }))
  const client = await send(stream + stream)
  await client.until('"content":"')
  client.socket.destroy()
  await server.until('inference_places_busy', 0)
  await server.until('inference_queue_length', 0)
  await eventually(() => engine.figures().slots_busy === 0)
})

test('pages of this machine may call the server, but pages from the web may not', async () => {
  const allowed = async (origin: string) => {
    const { headers } = await fetch(`${server.url}/v1/models`, { headers: { origin } })
    return headers.get('access-control-allow-origin')
  }
  for (const origin of ['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:8099', 'vscode-webview://abc']) {
    expect(await allowed(origin)).toBe(origin)
  }
  for (const origin of [
    'https://example.org',
    'http://localhost.example.org',
    'http://evil.com?http://localhost',
    'null',
  ]) {
    expect(await allowed(origin)).toBeNull()
  }
})

test('health lists the served and the loaded models', async () => {
  expect(await (await fetch(`${server.url}/health`)).json()).toEqual({
    status: 'ok',
    version: '1.0.0',
    models: ['starter'],
    loaded: [{ model: 'starter', engine: 'llama.cpp' }],
  })
})
