import { Type } from '@fastify/type-provider-typebox'
import { afterEach, expect, test } from 'vitest'
import { conflict, notFound, ServiceError } from '../../domain/errors.ts'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'
import { bearer, buildTestServer, KEYS, listen, openRaw, type TestServer } from './test-server.fixture.ts'
import { optionalBody } from './validation.ts'

let server: TestServer

const PUBLIC: RouteConfig = { access: 'public' }
const Thing = Type.Object({ min_devices: Type.Integer({ minimum: 1 }) })

const routes = (app: App): void => {
  app.post('/things', { config: PUBLIC, schema: { body: Thing } }, async (request) => request.body)
  app.post('/jobs', { config: { access: 'any-key' }, schema: { body: Thing } }, async (request) => request.body)
  app.get('/things', { config: PUBLIC }, async () => [])
  app.get('/things/:id', { config: PUBLIC }, async (request) => request.params)
  app.delete('/things/:id', { config: PUBLIC }, async () => ({}))
  app.put('/things/:id/beat', { config: PUBLIC, schema: { body: optionalBody(Thing) } }, async (request) => ({
    body: request.body ?? null,
  }))
  app.get('/conflict', { config: PUBLIC }, async () => {
    throw conflict('It already exists.')
  })
  app.get('/wait', { config: PUBLIC }, async () => {
    throw new ServiceError('rate_limited', 'Slow down.', { retryAfterSeconds: 7 })
  })
  app.get('/crash', { config: PUBLIC }, async () => {
    throw new Error('relation "devices" does not exist: password=hunter2')
  })
  app.get('/database', { config: PUBLIC }, async () => {
    throw Object.assign(new Error('terminating connection'), { code: '57P01', statusCode: 404 })
  })
  app.get('/database-reset', { config: PUBLIC }, async () => {
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
  })
  app.get('/database-locked', { config: PUBLIC }, async () => {
    throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
  })
  app.get('/nothing', { config: PUBLIC }, async () => {
    throw undefined
  })
  const config: RouteConfig = {
    access: 'public',
    beforeInvalid: async (request) => {
      const { id } = request.params as { id: string }
      if (id !== 'known') throw notFound('Thing', id)
    },
  }
  app.put('/checked/:id', { config, schema: { body: Thing } }, async () => ({}))
}

const start = async (): Promise<TestServer> => {
  server = await buildTestServer(routes)
  return server
}

afterEach(() => server.app.close())

const bad = (message: string) => ({ error: 'bad_request', message, status_code: 400 })
const missing = (message: string) => ({ error: 'not_found', message, status_code: 404 })
const JSON_TYPE = { 'content-type': 'application/json' }

test.each([
  ['an unknown path', 'GET', '/nowhere', missing('There is no endpoint GET /nowhere. See /docs for the API.')],
  ['a query on it', 'GET', '/nowhere?api_key=x', missing('There is no endpoint GET /nowhere. See /docs for the API.')],
  ['a method not offered', 'PATCH', '/things', missing('/things does not support PATCH; use GET, HEAD, POST.')],
  ['a path with an id', 'POST', '/things/7', missing('/things/7 does not support POST; use DELETE, GET, HEAD.')],
  ['an unknown method', 'PROPFIND', '/things', missing('/things does not support PROPFIND; use GET, HEAD, POST.')],
  ['a bad escape', 'GET', '/things/%zz', bad('The path is not valid percent-encoded UTF-8.')],
] as const)('%s is answered with the error body', async (_name, method, url, body) => {
  const { app } = await start()
  const { port } = await listen(app)
  const response = await fetch(`http://127.0.0.1:${port}${url}`, { method })
  expect(response.status).toBe(body.status_code)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(response.headers.get('x-request-id')).not.toBeNull()
  expect(await response.json()).toEqual(body)
})

test('an unsupported method is answered with an Allow header', async () => {
  const { app } = await start()
  const response = await app.inject({ method: 'PATCH', url: '/things/7' })
  expect(response.headers.allow).toBe('DELETE, GET, HEAD')
})

const REQUIRED = 'A JSON body is required, with the header Content-Type: application/json.'

test.each([
  ['malformed JSON', JSON_TYPE, '{"min_devices":', 'The body is not valid JSON: Unexpected end of JSON input.'],
  ['no body', {}, undefined, REQUIRED],
  ['an empty JSON body', JSON_TYPE, '', REQUIRED],
  ['a null body', JSON_TYPE, 'null', REQUIRED],
  ['an array', JSON_TYPE, '[]', 'The JSON body must be an object, got an array of 0 items.'],
  [
    'a form',
    { 'content-type': 'text/plain' },
    'min_devices=1',
    "This endpoint does not accept Content-Type 'text/plain'. Send application/json.",
  ],
  [
    'a multipart form',
    { 'content-type': 'multipart/form-data; boundary=x' },
    '--x--',
    "This endpoint does not accept Content-Type 'multipart/form-data; boundary=x'. Send application/json.",
  ],
  [
    'a broken type',
    { 'content-type': 'json' },
    '{}',
    "This endpoint does not accept Content-Type 'json'. Send application/json.",
  ],
  ['a value too small', JSON_TYPE, '{"min_devices":0}', 'min_devices must be an integer of at least 1, got 0.'],
  ['a text for a number', JSON_TYPE, '{"min_devices":"5"}', "min_devices must be an integer of at least 1, got '5'."],
] as const)('a POST with %s is 400 with the reason', async (_name, headers, payload, message) => {
  const { app } = await start()
  const response = await app.inject({
    method: 'POST',
    url: '/things',
    headers,
    ...(payload !== undefined && { payload }),
  })
  expect([response.statusCode, response.json()]).toEqual([400, bad(message)])
})

test('a body without a Content-Type is 400', async () => {
  const { app } = await start()
  const { port } = await listen(app)
  const client = await openRaw(port)
  client.socket.write('POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}')
  expect(await client.until('}')).toContain(
    JSON.stringify(bad('The request has a body but no Content-Type. Send it as application/json.')),
  )
  client.socket.destroy()
})

test('a body over the limit is 400, and the client can read the response', async () => {
  const { app } = await start()
  const { url } = await listen(app)
  const send = async (path: string, headers: Record<string, string>) => {
    const body = JSON.stringify({ min_devices: 1, padding: 'x'.repeat(4 << 20) })
    const response = await fetch(url + path, { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body })
    return [response.status, await response.json()]
  }
  expect(await send('/jobs', bearer('reader'))).toEqual([
    400,
    bad('The body is larger than the limit of 1048576 bytes.'),
  ])
  // Public endpoints accept less.
  expect(await send('/things', {})).toEqual([400, bad('The body is larger than the limit of 65536 bytes.')])
})

test('an optional body may be absent, or empty despite a JSON content type, but not invalid', async () => {
  const { app } = await start()
  const beat = (payload?: string, headers: Record<string, string> = {}) =>
    app.inject({ method: 'PUT', url: '/things/1/beat', headers, ...(payload !== undefined && { payload }) })
  expect((await beat()).json()).toEqual({ body: null })
  expect((await beat('', JSON_TYPE)).json()).toEqual({ body: null })
  expect((await beat('{"min_devices":2}', JSON_TYPE)).json()).toEqual({ body: { min_devices: 2 } })
  expect((await beat('{}', JSON_TYPE)).json()).toEqual(bad('min_devices is required: an integer of at least 1.'))
})

test('a missing resource is 404 before its body is validated', async () => {
  const { app } = await start()
  const put = async (id: string, payload: string, type = 'application/json') => {
    const response = await app.inject({
      method: 'PUT',
      url: `/checked/${id}`,
      payload,
      headers: { 'content-type': type },
    })
    return response.json()
  }
  const gone = missing("Thing 'lost' does not exist, or this key has no access to it.")
  expect(await put('lost', '{}')).toEqual(gone)
  expect(await put('lost', '{')).toEqual(gone)
  expect(await put('lost', 'x', 'text/plain')).toEqual(gone)
  expect(await put('known', '{}')).toEqual(bad('min_devices is required: an integer of at least 1.'))
  expect(await put('known', '{"min_devices":1}')).toEqual({})
})

test('a service error is sent with its own code, and Retry-After if it has one', async () => {
  const { app } = await start()
  const taken = await app.inject('/conflict')
  expect([taken.statusCode, taken.json()]).toEqual([
    409,
    { error: 'conflict', message: 'It already exists.', status_code: 409 },
  ])
  const wait = await app.inject('/wait')
  expect([wait.statusCode, wait.headers['retry-after'], wait.json()]).toEqual([
    429,
    '7',
    { error: 'rate_limited', message: 'Slow down.', status_code: 429 },
  ])
})

const AWAY = 'The database of the service does not respond. Try again in a moment.'
const LOCKED =
  'Another request, or a suspended process of the service, holds a lock that this request needs. Try again in a moment.'

test.each([
  ['/database', AWAY],
  ['/database-reset', AWAY],
  ['/database-locked', LOCKED],
])('%s, which does not respond, is 503 with a time to wait, and is logged', async (url, message) => {
  const { app, lines } = await start()
  const response = await app.inject({ url })
  expect([response.statusCode, response.headers['retry-after'], response.json()]).toEqual([
    503,
    '2',
    {
      error: 'unavailable',
      message,
      status_code: 503,
    },
  ])
  expect(lines().join('\n')).toContain('the database or the file storage does not respond')
})

test.each(['/crash', '/nothing'])('an unexpected error (%s) is 500, reveals nothing, and is logged', async (url) => {
  const { app, lines } = await start()
  const response = await app.inject({ url, headers: { 'x-request-id': 'case-17' } })
  expect([response.statusCode, response.json()]).toEqual([
    500,
    {
      error: 'internal_error',
      message: 'Unexpected error in the service. See its log for request id case-17.',
      status_code: 500,
    },
  ])
  const logged = lines().map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(logged.filter(({ level }) => level === 'error')).toMatchObject([{ reqId: 'case-17', msg: 'unexpected error' }])
})

test.each([
  ['no HTTP at all', 'hello there\r\n\r\n', 'The request is not valid HTTP/1.1.'],
  [
    'endless headers',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(20_000)}\r\n\r\n`,
    'The request line and headers are larger than 16 KiB.',
  ],
])('a client that sends %s gets a response and is disconnected', async (_name, text, message) => {
  const { app } = await start()
  const { port } = await listen(app)
  const client = await openRaw(port)
  client.socket.write(text)
  const response = await client.closed
  expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  expect(response.endsWith(`\r\n\r\n${JSON.stringify(bad(message))}`)).toBe(true)
})

test('garbage instead of a chunked body gets a response and is disconnected', async () => {
  const { app } = await start()
  const { port } = await listen(app)
  const client = await openRaw(port)
  client.socket.write(
    `POST /things HTTP/1.1\r\nHost: x\r\n${'Content-Type: application/json\r\nTransfer-Encoding: chunked'}\r\n\r\nzz\r\n`,
  )
  expect(await client.closed).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
})

test('a request without a Host header is served', async () => {
  const { app } = await start()
  const { port } = await listen(app)
  const client = await openRaw(port)
  client.socket.write('GET /things HTTP/1.1\r\n\r\n')
  expect(await client.until('[]')).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  client.socket.destroy()
})

test('a protected path that does not exist is 404, with or without a key', async () => {
  const { app } = await start()
  expect((await app.inject('/nowhere')).statusCode).toBe(404)
  expect((await app.inject({ url: '/nowhere', headers: bearer('reader') })).statusCode).toBe(404)
  expect(KEYS.reader).toHaveLength(40)
})
