import { afterEach, expect, test } from 'vitest'
import { callerOf, optionalCallerOf } from './access.ts'
import type { RouteConfig } from './route-config.ts'
import { bearer, buildTestServer, KEYS, type TestServer } from './test-server.fixture.ts'

let server: TestServer

const start = async (): Promise<TestServer> => {
  server = await buildTestServer((app) => {
    const config = (access: RouteConfig['access']): RouteConfig => ({ access })
    app.get('/public', { config: config('public') }, async (request) => ({
      caller: (await optionalCallerOf(request))?.keyId ?? null,
    }))
    app.get('/any', { config: config('any-key') }, async (request) => callerOf(request))
    app.get('/read', { config: config('devices:read') }, async () => ({}))
    app.put('/beat', { config: config(['devices:write', 'self']) }, async () => ({}))
    app.put('/two', { config: config(['training:write', 'admin']) }, async () => ({}))
    app.put('/self', { config: config(['self']) }, async () => ({}))
  })
  return server
}

afterEach(() => server.app.close())

const MALFORMED = "The Authorization header is malformed. It must read 'Bearer <API key>'."
const MISSING = "This endpoint needs an API key: send the header 'Authorization: Bearer <API key>'."
const INVALID = 'This API key is not valid: it is unknown, expired, or revoked. Check it, or create a new key.'

test.each([
  ['no header', undefined, MISSING],
  ['an empty header', '', MALFORMED],
  ['another scheme', 'Basic dXNlcjpwYXNz', MALFORMED],
  ['a scheme alone', 'Bearer', MALFORMED],
  ['two tokens', 'Bearer one two', MALFORMED],
  ['a key without a scheme', KEYS.reader, MALFORMED],
  ['an unknown key', 'Bearer sk_live_unknown', INVALID],
  ['an expired key', `Bearer ${KEYS.expired}`, 'This API key expired on 2026-01-01.'],
])('a request with %s is answered with 401, saying what to send', async (_name, authorization, message) => {
  const { app } = await start()
  const headers = authorization === undefined ? {} : { authorization }
  const response = await app.inject({ url: '/any', headers })
  expect(response.statusCode).toBe(401)
  expect(response.json()).toEqual({ error: 'unauthorized', message, status_code: 401 })
  expect(response.headers['www-authenticate']).toBe('Bearer realm="api"')
})

test('a request of a page without a session is told to sign in', async () => {
  const { app } = await start()
  const response = await app.inject({ url: '/any', headers: { 'sec-fetch-site': 'same-origin' } })
  expect([response.statusCode, response.json().message]).toEqual([
    401,
    'You are not signed in, or your session has ended. Sign in again.',
  ])
})

test('a valid key reaches the route, whatever the case of the scheme, and the route knows its caller', async () => {
  const { app } = await start()
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const response = await app.inject({ url: '/any', headers: { authorization: `${scheme} ${KEYS.device}` } })
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({
      keyId: 'device',
      orgId: null,
      deviceId: 'device-1',
      grants: ['models:read', 'self'],
    })
  }
})

test.each([
  ['reader', 'GET', '/read', 200, null],
  ['writer', 'PUT', '/beat', 200, null],
  ['device', 'PUT', '/beat', 200, null],
  ['device', 'PUT', '/self', 200, null],
  ['reader', 'PUT', '/beat', 403, "This key lacks the scope 'devices:write'. Use a key that has it, or create one."],
  ['device', 'GET', '/read', 403, "This key lacks the scope 'devices:read'. Use a key that has it, or create one."],
  [
    'writer',
    'PUT',
    '/two',
    403,
    "This key lacks the scope 'training:write' or 'admin'. Use a key that has it, or create one.",
  ],
  [
    'writer',
    'PUT',
    '/self',
    403,
    "Only a device's own key may do this. Use the key that the device got when it registered.",
  ],
] as const)('the key of the %s gets for %s %s the status %i', async (who, method, url, status, message) => {
  const { app } = await start()
  const response = await app.inject({ method, url, headers: bearer(who) })
  expect(response.statusCode).toBe(status)
  expect(response.json()).toEqual(message === null ? {} : { error: 'forbidden', message, status_code: 403 })
})

test('a public route needs no key, knows the caller of a valid one, and rejects an invalid one if it checks the caller', async () => {
  const { app } = await start()
  expect((await app.inject('/public')).json()).toEqual({ caller: null })
  expect((await app.inject({ url: '/public', headers: bearer('reader') })).json()).toEqual({ caller: 'reader' })
  const bad = await app.inject({ url: '/public', headers: { authorization: 'Bearer sk_live_nobody' } })
  expect(bad.json()).toEqual({ error: 'unauthorized', message: INVALID, status_code: 401 })
})

test('HEAD is guarded like GET', async () => {
  const { app } = await start()
  expect((await app.inject({ method: 'HEAD', url: '/read' })).statusCode).toBe(401)
  expect((await app.inject({ method: 'HEAD', url: '/read', headers: bearer('reader') })).statusCode).toBe(200)
})

test.each([
  ['no config', undefined],
  ['an unknown scope', { access: 'devices:delete' }],
  ['an empty list', { access: [] }],
  ['public in a list', { access: ['public', 'devices:read'] }],
])('registering a route with %s is refused', async (_name, config) => {
  const { app } = await start()
  expect(() => app.get('/careless', { config: config as object }, async () => ({}))).toThrow(
    'GET /careless must declare who may call it',
  )
})
