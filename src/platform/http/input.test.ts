import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildTestServer, type TestServer } from './test-server.fixture.ts'

let server: TestServer

beforeAll(async () => {
  server = await buildTestServer((app) => {
    app.post('/echo', { config: { access: 'public' } }, async (request) => ({ got: request.body }))
  })
})
afterAll(() => server.app.close())

const post = async (payload: string | Buffer): Promise<{ got?: unknown; message?: string }> => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return (await server.app.inject({ method: 'POST', url: '/echo', headers, payload })).json()
}

test('JSON is received unchanged, with or without a byte order mark', async () => {
  expect(await post('{"a":[1,"2",null]}')).toEqual({ got: { a: [1, '2', null] } })
  expect(await post('\uFEFF{"a":1}')).toEqual({ got: { a: 1 } })
})

test.each([
  ['U+0000 in a value', '{"0":1,"a":{"b":["x","x\\u0000y"]}}', 'a.b[1]'],
  ['U+0000 in a key', '{"b":[{"a\\u0000":"\\u0000"}]}', 'b[0].a\ufffd'],
  ['U+0000 in a list', '["\\u0000"]', '[0]'],
  ['U+0000 in a body that is a string', '"\\u0000"', 'The JSON body'],
  ['U+0000 in a value that the same key replaces', '{"a":"\\u0000","a":1}', 'The JSON body'],
  ['U+0000 after a long key', `{"${'k'.repeat(300)}":"\\u0000"}`, 'k'.repeat(200)],
  ['half a surrogate pair', '{"a":"\\ud83d"}', 'a'],
  ['the other half', '{"a":"\\ude00 x"}', 'a'],
  ['half a pair before a pair', '{"a":"\\ud83d\\ud83d\\ude00"}', 'a'],
  ['half a pair before an unescaped pair', '{"a":"\\ud83d😀"}', 'a'],
  ['half a pair after an escaped backslash', '{"a":"\\\\\\ud83d"}', 'a'],
])('%s is refused, and the error names its path', async (_what, payload, path) => {
  expect((await post(payload)).message).toBe(
    `${path} contains U+0000 or an unpaired surrogate, which cannot be stored. Remove it.`,
  )
})

test.each(['latin1', 'utf16le'] as const)('a body in %s is refused instead of losing characters', async (encoding) => {
  const body = await post(Buffer.from('{"name":"Müller"}', encoding))
  expect(body).toEqual({
    error: 'bad_request',
    message: expect.stringMatching(/not valid (UTF-8|JSON)/),
    status_code: 400,
  })
  expect((await post(Buffer.from('{"name":"Müller"}'))).got).toEqual({ name: 'Müller' })
})

test('characters outside the basic plane are accepted, escaped or not', async () => {
  expect(await post('{"a":"\\ud83d\\ude00 😀"}')).toEqual({ got: { a: '😀 😀' } })
})

test('a body with a Content-Encoding is refused, naming it', async () => {
  const sent = (encoding: string) =>
    server.app.inject({ method: 'POST', url: '/echo', headers: { 'content-encoding': encoding }, payload: { a: 1 } })
  expect((await sent('gzip')).json()).toEqual({
    error: 'bad_request',
    message: 'Content-Encoding gzip is not supported: send the body uncompressed, without that header.',
    status_code: 400,
  })
  expect((await sent('identity')).json()).toEqual({ got: { a: 1 } })
})

test.each(['/echo/a%00b', '/echo?org_id=%00'])('U+0000 in the URL %s is refused', async (url) => {
  expect((await server.app.inject(url)).json()).toEqual({
    error: 'bad_request',
    message: 'The URL contains the character U+0000. Remove its %00.',
    status_code: 400,
  })
})

test('text that only looks like U+0000, an escaped backslash before u0000, is accepted', async () => {
  expect(await post('{"a":"\\\\u0000"}')).toEqual({ got: { a: '\\u0000' } })
})

test('nesting is accepted up to 100 levels', async () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  expect((await post(nested(100))).got).toEqual(JSON.parse(nested(100)))
  const refused = { error: 'bad_request', message: 'The JSON body is nested deeper than 100 levels.', status_code: 400 }
  expect(await post(nested(101))).toEqual(refused)
  expect(await post(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)).toEqual(refused)
})

test('brackets in strings are no nesting', async () => {
  const text = `\\"${'['.repeat(300)}\\\\`
  expect((await post(`{"a":"${text}"}`)).got).toEqual({ a: `"${'['.repeat(300)}\\` })
})

test('only a key can be __proto__, not a value', async () => {
  const body = { a: '__proto__', b: ['__proto__'], 'c"__proto__': 1, __PROTO__: 2 }
  expect((await post(JSON.stringify(body))).got).toEqual(body)
})

test.each(['{"__proto__":{"admin":true}}', '{"a":[{"\\u005F_pr\\u006fto__" :1}]}'])(
  'a body with the key __proto__ is refused: %s',
  async (payload) => {
    expect((await post(payload)).message).toBe('The JSON body must not contain the key __proto__.')
  },
)
