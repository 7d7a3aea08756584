import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Type } from '@fastify/type-provider-typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchHeldMemory } from '../../../test/held-memory.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { openFolderStore } from '../blobs/folder-store.ts'
import { attachment, sendBlob } from './download.ts'
import type { RouteConfig } from './route-config.ts'
import { buildTestServer, eventually, listen, openRaw, type TestServer } from './test-server.fixture.ts'

const CONFIG: RouteConfig = { access: 'public' }

let root: string
let blobs: BlobStore
let server: TestServer
let port: number
let url: string
let opened = 0

const keep = async (bytes: string | Buffer): Promise<string> => {
  const staged = await blobs.stage(Readable.from([Buffer.from(bytes)]), { maxBytes: 1 << 30 })
  await staged.keep()
  return staged.sha256
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'downloads-'))
  blobs = await openFolderStore(root)
  await keep(CONTENT)
  server = await buildTestServer((app) => {
    app.get(
      '/files/:sha256/:size',
      { config: CONFIG, schema: { params: Type.Object({ sha256: Type.String(), size: Type.Integer() }) } },
      async (request, reply) => {
        const { sha256, size } = request.params
        return sendBlob(request, reply, {
          size,
          sha256,
          fileName: 'net v1.pt',
          open: (range, chunks) => {
            opened++
            return blobs.read(sha256, range, chunks)
          },
        })
      },
    )
  })
  ;({ port, url } = await listen(server.app))
})

afterAll(async () => {
  await server.app.close()
  await blobs.close()
  await rm(root, { recursive: true, force: true })
})

const CONTENT = '0123456789'
const HASH = createHash('sha256').update(CONTENT).digest('hex')

const get = async (headers: Record<string, string> = {}, method = 'GET') => {
  opened = 0
  const response = await fetch(`${url}/files/${HASH}/10`, { method, headers })
  const body = await response.text()
  const picked = ['content-length', 'content-range', 'etag', 'x-model-hash', 'content-type', 'content-disposition']
  return {
    status: response.status,
    body,
    opened,
    headers: Object.fromEntries(
      picked.flatMap((name) => (response.headers.has(name) ? [[name, response.headers.get(name)]] : [])),
    ),
  }
}

const FILE_HEADERS = {
  etag: `"${HASH}"`,
  'x-model-hash': `sha256:${HASH}`,
  'content-type': 'application/octet-stream',
  'content-disposition': 'attachment; filename="net v1.pt"',
}

test('a whole file is sent with its length, name and hash', async () => {
  expect(await get()).toEqual({
    status: 200,
    body: CONTENT,
    opened: 1,
    headers: { ...FILE_HEADERS, 'content-length': '10' },
  })
})

test('HEAD returns the same headers without opening the file', async () => {
  expect(await get({}, 'HEAD')).toEqual({
    status: 200,
    body: '',
    opened: 0,
    headers: { ...FILE_HEADERS, 'content-length': '10' },
  })
})

test.each([
  ['bytes=0-3', '0123', 'bytes 0-3/10'],
  ['bytes=7-', '789', 'bytes 7-9/10'],
  ['bytes=-2', '89', 'bytes 8-9/10'],
  ['bytes=9-100', '9', 'bytes 9-9/10'],
])('the range %s is 206 with exactly these bytes', async (range, body, contentRange) => {
  expect(await get({ range })).toEqual({
    status: 206,
    body,
    opened: 1,
    headers: { ...FILE_HEADERS, 'content-range': contentRange, 'content-length': String(body.length) },
  })
})

test('a range outside the file is 416 with its size and the error body', async () => {
  const response = await get({ range: 'bytes=10-' })
  expect(response).toMatchObject({ status: 416, opened: 0 })
  expect(response.headers['content-range']).toBe('bytes */10')
  expect(JSON.parse(response.body)).toEqual({
    error: 'bad_request',
    message: "The Range 'bytes=10-' lies outside the file, which has 10 bytes.",
    status_code: 416,
  })
})

test.each([
  ['several ranges', { range: 'bytes=0-1,5-6' }],
  ['a malformed range', { range: 'bytes=x' }],
  ['a range of another copy', { range: 'bytes=0-1', 'if-range': '"another"' }],
  ['a range by date', { range: 'bytes=0-1', 'if-range': 'Sat, 31 Jan 2026 12:00:00 GMT' }],
  ['the ETag of another copy', { 'if-none-match': '"another"' }],
])('%s gets the whole file', async (_name, headers) => {
  expect(await get(headers)).toMatchObject({ status: 200, body: CONTENT })
})

test('a range of this exact copy is 206', async () => {
  expect(await get({ range: 'bytes=0-1', 'if-range': `"${HASH}"` })).toMatchObject({ status: 206, body: '01' })
})

test.each([`"${HASH}"`, `W/"${HASH}"`, `"x", "${HASH}"`, '*'])(
  'If-None-Match %s is 304 without opening the file, for GET and HEAD',
  async (tag) => {
    for (const method of ['GET', 'HEAD']) {
      const response = await get({ 'if-none-match': tag }, method)
      expect(response).toMatchObject({ status: 304, body: '', opened: 0, headers: { etag: `"${HASH}"` } })
    }
  },
)

test('an empty file is sent', async () => {
  const response = await fetch(`${url}/files/${await keep('')}/0`)
  expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '0', ''])
})

test('a file that no longer exists is a plain 404', async () => {
  const response = await fetch(`${url}/files/${'0'.repeat(64)}/10`)
  expect([response.status, response.headers.get('etag'), response.headers.get('content-disposition')]).toEqual([
    404,
    null,
    null,
  ])
  expect(await response.json()).toEqual({
    error: 'not_found',
    message: `The file sha256:${'0'.repeat(64)} is no longer in storage.`,
    status_code: 404,
  })
})

test.each([
  ['net.pt', 'attachment; filename="net.pt"'],
  ['größe "1".pt', `attachment; filename="gr__e _1_.pt"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%221%22.pt`],
  ["a'b(c).pt", `attachment; filename="a'b(c).pt"`],
  ["ü'(*).pt", `attachment; filename="_'(*).pt"; filename*=UTF-8''%C3%BC%27%28%2A%29.pt`],
  ['a\r\nSet-Cookie: x', `attachment; filename="a__Set-Cookie: x"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x`],
  ['\ud800.pt', `attachment; filename="_.pt"; filename*=UTF-8''_.pt`],
])('the file name %j is sent as %s', (name, header) => {
  expect(attachment(name)).toBe(header)
})

/** Returns how often this process has the stored file open. */
const timesOpen = async (sha256: string): Promise<number> => {
  const links = (await readdir('/proc/self/fd')).map((descriptor) => readlink(`/proc/self/fd/${descriptor}`))
  const paths = (await Promise.allSettled(links)).map((link) => (link.status === 'fulfilled' ? link.value : ''))
  return paths.filter((path) => path.endsWith(sha256)).length
}

test.runIf(process.platform === 'linux')('a client that disconnects closes the file', async () => {
  const size = 32 << 20
  const sha256 = await keep(randomBytes(size))
  const clients = await Promise.all(Array.from({ length: 5 }, () => openRaw(port)))
  for (const client of clients) {
    client.socket.write(`GET /files/${sha256}/${size} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await client.until('octet-stream')
    client.socket.pause()
  }
  expect(await timesOpen(sha256)).toBe(5)
  for (const client of clients) client.socket.destroy()
  await eventually(async () => (await timesOpen(sha256)) === 0)
})

/** Returns the body of the `index`-th of several responses on one connection. */
const bodyOf = (text: string, index: number, size: number): Buffer => {
  let at = 0
  for (let response = 0; response <= index; response++)
    at = text.indexOf('\r\n\r\n', at) + 4 + (response < index ? size : 0)
  return Buffer.from(text.slice(at, at + size), 'latin1')
}

test('a client that reads intermittently gets every byte, as do pipelined requests', async () => {
  const size = 3 * 1024 * 1024 + 12_345
  const bytes = randomBytes(size)
  const sha256 = await keep(bytes)
  const client = await openRaw(port)
  const get = (more = '') => `GET /files/${sha256}/${size} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  client.socket.write(get() + get() + get('Connection: close\r\n'))
  let closed = false
  void client.closed.then(() => {
    closed = true
  })
  while (!closed) {
    client.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 3))
    client.socket.resume()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (const index of [0, 1, 2]) expect(bodyOf(client.received(), index, size).equals(bytes)).toBe(true)
})

test('a range in the middle of a large file has the right bytes', async () => {
  const bytes = randomBytes(2 * 1024 * 1024 + 77)
  const sha256 = await keep(bytes)
  const [start, end] = [262_143, 1_600_001]
  const response = await fetch(`${url}/files/${sha256}/${bytes.length}`, {
    headers: { range: `bytes=${start}-${end}` },
  })
  expect(response.status).toBe(206)
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes.subarray(start, end + 1))).toBe(true)
})

test('32 MiB are sent without being held in memory', async () => {
  const size = 32 << 20
  const bytes = randomBytes(size)
  const sha256 = await keep(bytes)
  const memory = watchHeldMemory()
  const hash = createHash('sha256')
  const response = await fetch(`${url}/files/${sha256}/${size}`)
  for await (const chunk of response.body!) {
    hash.update(chunk)
    memory.passed(chunk.length)
  }
  expect(hash.digest('hex')).toBe(sha256)
  expect(memory.peak()).toBeLessThan(24 << 20)
})
