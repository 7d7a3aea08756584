import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Type } from '@fastify/type-provider-typebox'
import { afterEach, expect, test } from 'vitest'
import { loggableUrl } from './request-log.ts'
import type { RouteConfig } from './route-config.ts'
import { bearer, buildTestServer, eventually, KEYS, listen, openRaw, type TestServer } from './test-server.fixture.ts'

let server: TestServer
let neverAsked = false

const OPEN: RouteConfig = { access: 'public' }
const GUARDED: RouteConfig = { access: 'any-key' }

const start = async (options = {}): Promise<TestServer> => {
  server = await buildTestServer((app) => {
    app.get('/devices/:id', { config: GUARDED }, async () => ({}))
    app.get('/never', { config: OPEN }, () => {
      neverAsked = true
      return new Promise(() => undefined)
    })
    app.post(
      '/register',
      { config: OPEN, schema: { body: Type.Object({ token: Type.String() }) } },
      async (request) => {
        request.log.info({ body: request.body, headers: request.headers, api_key: KEYS.writer }, `made ${KEYS.writer}`)
        return { api_key: KEYS.writer }
      },
    )
    app.get('/crash', { config: OPEN }, async () => {
      throw new Error(`duplicate key value ${KEYS.reader}`)
    })
  }, options)
  return server
}

afterEach(() => server.app.close())

test('a valid X-Request-Id is kept, echoed and logged', async () => {
  const { app, requestLines } = await start()
  const response = await app.inject({
    url: '/devices/7',
    headers: { ...bearer('reader'), 'x-request-id': 'trace-1.b_2' },
  })
  expect(response.headers['x-request-id']).toBe('trace-1.b_2')
  expect(requestLines()).toMatchObject([{ reqId: 'trace-1.b_2' }])
})

test.each(['', 'a b', 'x'.repeat(129), 'a"b', 'ü'])(
  'the X-Request-Id %j is replaced by a generated one',
  async (given) => {
    const { app } = await start()
    const response = await app.inject({ url: '/nowhere', headers: { 'x-request-id': given } })
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  },
)

test('responses forbid content sniffing and caching by default, and pages cannot be framed and send no referrer', async () => {
  const { app } = await start()
  const names = ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'cache-control']
  const headers = async (url: string) => {
    const response = await app.inject(url)
    return names.map((name) => response.headers[name])
  }
  expect(await headers('/api/v1/nowhere')).toEqual(['nosniff', undefined, undefined, 'no-store'])
  expect(await headers('/docs')).toEqual(['nosniff', 'DENY', 'no-referrer', 'no-store'])
  expect(await headers('/nowhere')).toEqual(['nosniff', 'DENY', 'no-referrer', 'no-store'])
})

test("the header Date is the time of the service's clock", async () => {
  const { app } = await start()
  expect((await app.inject('/nowhere')).headers.date).toBe('Sat, 31 Jan 2026 12:00:00 GMT')
})

test('a request is logged in one line with its route, outcome, duration, and key', async () => {
  const { app, requestLines } = await start()
  await app.inject({ url: '/devices/7?limit=2', headers: { ...bearer('reader'), 'x-request-id': 'r1' } })
  await app.inject({ method: 'PATCH', url: '/nowhere', headers: { 'x-request-id': 'r2' } })
  const line = {
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    ms: expect.any(Number),
    ip: '127.0.0.1',
    msg: 'request',
  }
  expect(requestLines()).toEqual([
    {
      ...line,
      reqId: 'r1',
      method: 'GET',
      route: '/devices/:id',
      url: '/devices/7?limit=2',
      status: 200,
      key: 'reader',
    },
    { ...line, reqId: 'r2', method: 'PATCH', route: 'unmatched', url: '/nowhere', status: 404 },
  ])
})

test('secrets never appear in the log, wherever they were sent', async () => {
  const { app, lines } = await start()
  const secrets = [...Object.values(KEYS), 'hunter2', 'one-time']
  await app.inject({ url: '/devices/7', headers: bearer('reader') })
  await app.inject({ url: '/devices/7', headers: { authorization: 'Basic hunter2' } })
  await app.inject({ url: '/devices/7?code=one-time&state=x&key=hunter2', headers: bearer('expired') })
  await app.inject({ url: `/devices/${KEYS.device}` })
  await app.inject({ method: 'POST', url: '/register', payload: { token: 'hunter2' }, headers: bearer('writer') })
  await app.inject({ method: 'POST', url: '/register', payload: { token: 7, password: 'hunter2' } })
  await app.inject('/crash')
  const log = lines().join('\n')
  expect(lines().length).toBeGreaterThanOrEqual(8)
  expect(log).toContain('[redacted]')
  expect(secrets.filter((secret) => log.includes(secret))).toEqual([])
})

test('secret query parameters are redacted, others are not', () => {
  expect(loggableUrl('/login?state=s&code=c1&CODE=c2&key=k#f')).toBe(
    '/login?state=s&code=[redacted]&CODE=[redacted]&key=[redacted]#f',
  )
  expect(loggableUrl('/models?framework=pytorch&keyword=x')).toBe('/models?framework=pytorch&keyword=x')
})

test('a program without a log destination writes to standard output, and loses no lines at exit', async () => {
  const module = new URL('./request-log.ts', import.meta.url).href
  const program = `const { createLogger } = await import(${JSON.stringify(module)})
    const log = createLogger({ level: 'info' })
    for (let i = 0; i < 500; i++) log.info({ i }, 'a line')`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    program,
  ])
  const seen = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { i: number }).i)
  expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => i))
})

test('a client that disconnects before its response is logged and counted as 499', async () => {
  const { app, requestLines, metrics } = await start()
  const client = await openRaw((await listen(app)).port)
  client.socket.write('GET /never HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => neverAsked)
  client.socket.destroy()
  await eventually(() => requestLines().length === 1)
  expect(requestLines()).toMatchObject([{ route: '/never', status: 499, msg: 'request aborted' }])
  expect(await metrics.registry.getSingleMetricAsString('http_requests_total')).toContain(
    'http_requests_total{method="GET",route="/never",status="499"} 1',
  )
})

test('/metrics counts requests by route pattern, never by path, and includes metrics that others register', async () => {
  const { app, metrics } = await start()
  for (const id of ['1', '2', '3']) await app.inject({ url: `/devices/${id}`, headers: bearer('reader') })
  await app.inject('/nowhere/1')
  await app.inject('/nowhere/2')
  const { Gauge } = await import('prom-client')
  new Gauge({ name: 'active_devices', help: 'x', registers: [metrics.registry] }).set(17)

  const response = await app.inject('/metrics')
  expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = response.body.split('\n')
  expect(lines).toContain('http_requests_total{method="GET",route="/devices/:id",status="200"} 3')
  expect(lines).toContain('http_requests_total{method="GET",route="unmatched",status="404"} 2')
  expect(lines).toContain('http_request_duration_seconds_count{method="GET",route="/devices/:id",status="200"} 3')
  expect(lines).toContain('# TYPE http_request_duration_seconds histogram')
  expect(lines).toContain('active_devices 17')
  expect(response.body).toContain('process_resident_memory_bytes')
})

test('/metrics shows an outage of the database, in which keys cannot be checked', async () => {
  let failure: Error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const { app, metrics } = await start({ closed: true, authenticate: () => Promise.reject(failure) })
  metrics.outage = 'database_up 0\n'
  const get = async (headers = {}) => {
    const { statusCode, body } = await app.inject({ url: '/metrics', headers })
    return { statusCode, body }
  }
  expect(await get(bearer('reader'))).toEqual({ statusCode: 200, body: 'database_up 0\n' })
  expect(await get()).toMatchObject({ statusCode: 401 })
  failure = new Error('a bug')
  expect(await get(bearer('reader'))).toMatchObject({ statusCode: 500 })
})

test('/ready is 200 while every check passes, otherwise 503 naming the failed check without details', async () => {
  let broken = false
  let phase: 'starting' | 'ready' | 'stopping' = 'ready'
  const { app } = await start({
    phaseOf: () => phase,
    readiness: {
      database: async () => {
        if (broken) throw new Error('password authentication failed')
      },
      storage: async () => undefined,
    },
  })
  const ready = await app.inject('/ready')
  expect([ready.statusCode, ready.json()]).toEqual([
    200,
    { status: 'ready', checks: { database: 'ok', storage: 'ok' } },
  ])
  for (phase of ['starting', 'stopping'] as const) {
    const { statusCode, body } = await app.inject('/ready')
    expect([statusCode, JSON.parse(body).status]).toEqual([503, phase])
  }
  broken = true
  const failed = await app.inject('/ready')
  expect([failed.statusCode, failed.json()]).toEqual([
    503,
    { status: 'not_ready', checks: { database: 'failed', storage: 'ok' } },
  ])
})

test('web pages of other origins are allowed only if configured', async () => {
  const origin = 'https://dash.example'
  const { app: closed } = await start()
  expect(
    (await closed.inject({ url: '/ready', headers: { origin } })).headers['access-control-allow-origin'],
  ).toBeUndefined()
  await closed.close()

  const { app } = await start({ corsOrigins: [origin] })
  const allowed = await app.inject({ url: '/devices/7', headers: { origin } })
  expect([allowed.statusCode, allowed.headers['access-control-allow-origin']]).toEqual([401, origin])
  const other = await app.inject({ url: '/ready', headers: { origin: 'https://evil.example' } })
  expect(other.headers['access-control-allow-origin']).toBeUndefined()
  const preflight = await app.inject({
    method: 'OPTIONS',
    url: '/devices/7',
    headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization' },
  })
  expect(preflight.statusCode).toBe(204)
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': 'authorization',
  })
})
