import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { afterAll, afterEach, expect, test } from 'vitest'
import type { BlobStore } from '../blobs/blob-store.ts'
import { openFolderStore } from '../blobs/folder-store.ts'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'
import { buildTestServer, type TestServer } from './test-server.fixture.ts'
import { acceptUploads, readUpload } from './upload.ts'
import { optionalBody } from './validation.ts'

const config: RouteConfig = { access: 'public' }
const Free = Type.Record(Type.String(), Type.Unknown())
const Privacy = Type.Object({ clip_norm: Type.Number(), noise_multiplier: Type.Optional(Type.Number()) })
const Body = Type.Object({
  rounds: Type.Optional(Type.Integer()),
  timeout_seconds: Type.Optional(Type.Integer()),
  group_a: Type.Optional(Type.String()),
  group_b: Type.Optional(Type.String()),
  privacy: Type.Optional(Type.Union([Privacy, Type.Null()])),
  target: Type.Optional(
    Type.Union([Type.Object({ device: Type.String() }), Type.Object({ group_name: Type.String() }), Type.String()]),
  ),
  samples: Type.Optional(Type.Array(Type.Object({ weight: Type.Number() }))),
  by_device: Type.Optional(Type.Record(Type.String(), Type.Object({ weight: Type.Number() }))),
  capabilities: Type.Optional(Free),
})
const Query = Type.Object({
  limit: Type.Optional(Type.Integer()),
  platform: Type.Optional(Type.String()),
  rounds: Type.Optional(Type.Boolean()),
})
const Form = Type.Object({ num_samples: Type.Integer(), local_loss: Type.Optional(Type.Number()) })

const root = await mkdtemp(join(tmpdir(), 'unknown-fields-'))
afterAll(() => rm(root, { recursive: true, force: true }))
let server: TestServer
let blobs: BlobStore
afterEach(async () => {
  await server.app.close()
  await blobs.close()
})

const start = async (): Promise<App> => {
  blobs = await openFolderStore(root)
  server = await buildTestServer(async (app) => {
    app.post('/jobs', { config, schema: { body: Body, querystring: Query } }, async () => ({}))
    app.get('/jobs', { config, schema: { querystring: Query } }, async () => [])
    app.put('/beat', { config, schema: { body: optionalBody(Body) } }, async () => ({}))
    app.get('/things', { config }, async () => [])
    app.post('/things/start', { config }, async () => ({}))
    await app.register(async (scope) => {
      await acceptUploads(scope)
      scope.post('/upload', { config: { ...config, form: Form } }, async (request) => {
        const { file } = await readUpload(request, { blobs, maxBytes: 100 })
        await file.discard()
        return {}
      })
    })
  })
  return server.app
}

const post = async (body: unknown, query = '') => {
  const app = await start()
  const response = await app.inject({ method: 'POST', url: `/jobs${query}`, payload: body as object })
  const { message } = response.json<{ message?: string }>()
  return message ?? response.headers['x-service-warning'] ?? 'accepted'
}

const meant = (unknown: string, known: string): string => `unknown field \`${unknown}\`; did you mean \`${known}\`?`

test.each([
  [{ round: 3 }, meant('round', 'rounds')],
  [{ timout_seconds: 60 }, meant('timout_seconds', 'timeout_seconds')],
  [{ timeoutSeconds: 60 }, meant('timeoutSeconds', 'timeout_seconds')],
  [{ num_rounds: 3 }, meant('num_rounds', 'rounds')],
  [{ privacy: { clip_nrom: 1 } }, meant('privacy.clip_nrom', 'privacy.clip_norm')],
  [{ target: { groupname: 'x' } }, meant('target.groupname', 'target.group_name')],
  [{ samples: [{ weight: 1 }, { wieght: 1 }] }, meant('samples[1].wieght', 'samples[1].weight')],
  [{ by_device: { phone: { weigth: 1 } } }, meant('by_device.phone.weigth', 'by_device.phone.weight')],
  [{ rouns: 'a wrong value is told later' }, meant('rouns', 'rounds')],
])('%j is refused, naming the field that was probably meant', async (body, message) => {
  expect(await post(body)).toBe(message)
})

test.each([
  [{ color: 'red' }, 'unknown field `color` was ignored'],
  [{ color: 'red', privacy: { clip_norm: 1, shade: 2 } }, 'unknown fields `color`, `privacy.shade` were ignored'],
  [{ samples: [{ weight: 1, color: 'red' }] }, 'unknown field `samples[0].color` was ignored'],
  [{ target: { device: 'a', color: 'red' } }, 'unknown field `target.color` was ignored'],
])('%j is accepted, with a warning about ignored fields', async (body, warning) => {
  expect(await post(body)).toBe(warning)
})

test('a name similar to a field that the request already has is not treated as a misspelling', async () => {
  expect(await post({ rounds: 3, round: 3 })).toBe('unknown field `round` was ignored')
  expect(await post({ group_a: 'a', group_b: 'b', group_c: 'c' })).toBe('unknown field `group_c` was ignored')
})

test.each([
  {},
  { rounds: 3, privacy: null, target: 'x' },
  { target: { device: 'a' }, privacy: { clip_norm: 1 } },
  { capabilities: { round: 1, timout_seconds: 2, nested: { any: 'thing' } } },
])('%j has no unknown fields', async (body) => {
  expect(await post(body)).toBe('accepted')
})

test('queries are checked too, even for routes that take none', async () => {
  expect(await post({}, '?limits=5')).toBe('unknown query parameter `limits`; did you mean `limit`?')
  expect(await post({}, '?num_rounds=5')).toBe('unknown query parameter `num_rounds`; did you mean `rounds`?')
  expect(await post({}, '?limit=5&page=2')).toBe('unknown query parameter `page` was ignored')
  const response = await server.app.inject('/things?page=2')
  expect([response.statusCode, response.headers['x-service-warning']]).toEqual([
    200,
    'unknown query parameter `page` was ignored',
  ])
})

test('another name for a parameter of a read is ignored with a warning', async () => {
  const response = await (await start()).inject('/jobs?num_rounds=5')
  expect([response.statusCode, response.headers['x-service-warning']]).toEqual([
    200,
    'unknown query parameter `num_rounds` was ignored',
  ])
})

test('a body may be absent, and unused fields are reported', async () => {
  const app = await start()
  const absent = await app.inject({ method: 'PUT', url: '/beat' })
  expect([absent.statusCode, absent.headers['x-service-warning']]).toEqual([200, undefined])
  const misspelled = await app.inject({ method: 'PUT', url: '/beat', payload: { capabilites: {} } })
  expect(misspelled.json()).toMatchObject({ message: meant('capabilites', 'capabilities') })
  const unread = await app.inject({ method: 'POST', url: '/things/start', payload: { at: 'noon' } })
  expect([unread.statusCode, unread.headers['x-service-warning']]).toEqual([200, 'unknown field `at` was ignored'])
})

const form = (...fields: string[]) => ({
  method: 'POST' as const,
  url: '/upload',
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  payload: `${fields
    .map((name) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n1\r\n`)
    .join('')}--b\r\nContent-Disposition: form-data; name="file"; filename="w"\r\n\r\nbytes\r\n--b--\r\n`,
})

test("a form's text fields are checked too, and a refused upload leaves nothing behind", async () => {
  const app = await start()
  const refused = await app.inject(form('num_sample'))
  expect([refused.statusCode, refused.json()]).toEqual([
    400,
    {
      error: 'bad_request',
      message: 'unknown form field `num_sample`; did you mean `num_samples`?',
      status_code: 400,
    },
  ])
  expect(await readdir(join(root, 'staging'))).toEqual([])
  const accepted = await app.inject(form('num_samples', 'color'))
  expect([accepted.statusCode, accepted.headers['x-service-warning']]).toEqual([
    200,
    'unknown form field `color` was ignored',
  ])
})

test('a body with very many unknown names gets a short warning', async () => {
  const body = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`q${index}`, 0]))
  const warning = await post(body)
  expect(warning).toBe(
    `unknown fields ${Array.from({ length: 10 }, (_, index) => `\`q${index}\``).join(', ')} and others were ignored`,
  )
})
