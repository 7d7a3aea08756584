import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { watchHeldMemory } from '../../../test/held-memory.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { openFolderStore } from '../blobs/folder-store.ts'
import type { RouteConfig } from './route-config.ts'
import { buildTestServer, eventually, listen, openRaw, type TestServer } from './test-server.fixture.ts'
import { acceptUploads, readUpload } from './upload.ts'

const MAX_BYTES = 80 << 20
const CONFIG: RouteConfig = { access: 'public' }

let root: string
let blobs: BlobStore
let server: TestServer
let port: number
let url: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'uploads-'))
  blobs = await openFolderStore(root)
  server = await buildTestServer(async (app) => {
    await app.register(async (scope) => {
      await acceptUploads(scope)
      for (const [path, maxBytes] of [
        ['/upload', MAX_BYTES],
        ['/small', 10],
      ] as const) {
        scope.post(path, { config: CONFIG }, async (request, reply) => {
          const { file, fields } = await readUpload(request, { blobs, maxBytes })
          await file.keep()
          return reply.code(201).send({ sha256: file.sha256, size: file.size, fileName: file.fileName, fields })
        })
      }
    })
  })
  ;({ port, url } = await listen(server.app))
})

afterAll(async () => {
  await server.app.close()
  await blobs.close()
  await rm(root, { recursive: true, force: true })
})

const inStaging = (): Promise<string[]> => readdir(join(root, 'staging'))

beforeEach(async () => expect(await inStaging()).toEqual([]))

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

const file = (content: string, name = 'weights.pt', part = 'file'): string =>
  `--b\r\nContent-Disposition: form-data; name="${part}"; filename="${name}"\r\n` +
  `Content-Type: application/octet-stream\r\n\r\n${content}\r\n`
const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const form = (...parts: string[]): string => `${parts.join('')}--b--\r\n`

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

const post = async (
  body: string | Uint8Array<ArrayBuffer>,
  path = '/upload',
  type = 'multipart/form-data; boundary=b',
) => {
  const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const bad = (message: string) => ({ status: 400, body: { error: 'bad_request', message, status_code: 400 } })

test('a file is received with its name and with the fields before and after it', async () => {
  const response = await post(
    form(field('num_samples', '120'), file('the weights'), field('description', 'größer, 2×')),
  )
  expect(response).toEqual({
    status: 201,
    body: {
      sha256: sha256('the weights'),
      size: 11,
      fileName: 'weights.pt',
      fields: { num_samples: '120', description: 'größer, 2×' },
    },
  })
  expect(await blobs.withPaths(async (pathOf) => readFile(await pathOf(sha256('the weights')), 'utf8'))).toBe(
    'the weights',
  )
})

test('forms from browsers and fetch are accepted', async () => {
  const data = new FormData()
  data.set('file', new Blob(['from a form']), 'näme.pt')
  data.set('format', 'pytorch')
  const response = await fetch(`${url}/upload`, { method: 'POST', body: data })
  expect(await response.json()).toEqual({
    sha256: sha256('from a form'),
    size: 11,
    fileName: 'näme.pt',
    fields: { format: 'pytorch' },
  })
})

test('an empty file is accepted', async () => {
  expect((await post(form(file('')))).body).toMatchObject({ sha256: sha256(''), size: 0 })
})

test.each([
  ['../../etc/passwd', 'passwd'],
  ['..', 'file'],
  ['C:\\models\\net.pt', 'net.pt'],
  ['a\u0007b.pt', 'ab.pt'],
  [`${'x'.repeat(300)}.pt`, 'x'.repeat(255)],
])('the file name %j is kept as %j', async (given, kept) => {
  expect((await post(form(file('x', given)))).body.fileName).toBe(kept)
})

test('a file of exactly the limit is accepted and one byte more is refused', async () => {
  expect((await post(form(file('0123456789')), '/small')).status).toBe(201)
  expect(await post(form(file('0123456789!')), '/small')).toEqual(
    bad(
      'The file is larger than the 10 bytes that this server accepts. ' +
        'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
    ),
  )
})

const NO_FILE = "The form has no file. Send it in a part named 'file' with a filename."

test.each([
  ['no file', form(field('num_samples', '1')), NO_FILE],
  ['nothing at all', form(), NO_FILE],
  ['two files', form(file('a'), file('b')), "The form has more than one file. Send one, in the part named 'file'."],
  [
    'the file under another name',
    form(file('a', 'w.pt', 'weights')),
    "The form has a file in the part 'weights'. Send it in the part named 'file'.",
  ],
  ['the file as text', form(field('file', 'x')), "'file' must be sent as a file: a form part with a filename."],
  ['a field twice', form(file('a'), field('n', '1'), field('n', '2')), "The form names the field 'n' twice."],
  [
    'too long a field',
    form(field('n', 'x'.repeat(70_000)), file('a')),
    "The form's field 'n' is longer than 65536 bytes.",
  ],
  [
    'too many fields',
    form(file('a'), ...Array.from({ length: 60 }, (_, i) => field(`f${i}`, '1'))),
    'The form has more than 50 fields.',
  ],
  ['U+0000 in a field', form(file('a'), field('n', 'a\0b')), "The form's field 'n' contains the character U+0000."],
  [
    'a field in Latin-1',
    latin1(form(file('a'), field('n', 'Müller'))),
    "The form's field 'n' is not valid UTF-8, or contains U+FFFD. Send the form encoded as UTF-8.",
  ],
  [
    'a file name in Latin-1',
    latin1(form(file('a', 'größer.pt'))),
    "The form's file name is not valid UTF-8, or contains U+FFFD. Send the form encoded as UTF-8.",
  ],
  [
    'a field named __proto__',
    form(file('a'), field('__proto__', '1')),
    'The form has a field whose name is not allowed.',
  ],
  [
    'its end cut off',
    form(file('a')).slice(0, -8),
    // Of the part or of the form, whichever notices first.
    expect.stringMatching(/^The form is not valid multipart\/form-data: .*nexpected end of multipart data\.$/),
  ],
])('a form with %s is 400 and leaves nothing behind', async (_name, body, message) => {
  expect(await post(body)).toEqual(bad(message))
  expect(await inStaging()).toEqual([])
})

test('a form without a boundary is 400', async () => {
  const response = await post(form(file('a')), '/upload', 'multipart/form-data')
  expect(response).toEqual(bad('The form is not valid multipart/form-data: Multipart: Boundary not found.'))
})

test('a form with a boundary that is too long is 400', async () => {
  const body = form(file('a')).replaceAll('--b', `--${'b'.repeat(300)}`)
  const response = await post(body, '/upload', `multipart/form-data; boundary=${'b'.repeat(300)}`)
  expect(response).toEqual(
    bad('The boundary in the Content-Type is longer than the 70 characters that RFC 2046 allows. Use a shorter one.'),
  )
})

test('JSON instead of a form is 400', async () => {
  expect(await post('{}', '/upload', 'application/json')).toEqual(
    bad("The Content-Type must be multipart/form-data with a part named 'file', got application/json."),
  )
  expect(await post('x', '/upload', 'text/csv')).toEqual(
    bad("This endpoint does not accept Content-Type 'text/csv'. Send multipart/form-data or application/json."),
  )
})

test('an upload that announces a size above the limit is refused before it is sent', async () => {
  const client = await openRaw(port)
  client.socket.write(
    'POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9999999999\r\n\r\n',
  )
  expect(await client.until('status_code')).toContain(
    'The upload of 9999999999 bytes is larger than the 83886080 bytes',
  )
  client.socket.destroy()
})

test('a client that disconnects halfway leaves nothing behind, and the server continues', async () => {
  const client = await openRaw(port)
  client.socket.write(
    'POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 50000000\r\n\r\n',
  )
  client.socket.write(file('x'.repeat(1 << 20)))
  await eventually(async () => (await inStaging()).length === 1)
  client.socket.destroy()
  await eventually(async () => (await inStaging()).length === 0)
  await eventually(() => server.requestLines().some(({ msg }) => msg === 'request aborted'))
  expect((await post(form(file('still here')))).status).toBe(201)
})

test('an oversized upload gets a response while it is being sent, and the connection stays usable', async () => {
  const client = await openRaw(port)
  const body = form(file('y'.repeat(3 << 20)))
  client.socket.write(
    `POST /small HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  client.socket.write(body.slice(0, 1 << 20))
  expect(await client.until('status_code')).toContain('larger than the 10 bytes')
  client.socket.write(body.slice(1 << 20))
  client.socket.write('GET /ready HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await client.until('"ready"')).toContain('HTTP/1.1 200 OK')
  client.socket.destroy()
})

test('32 MiB are received without being held in memory', async () => {
  const chunk = Buffer.alloc(1 << 20, 7)
  const head = Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n`)
  const tail = Buffer.from('\r\n--b--\r\n')
  const memory = watchHeldMemory()
  const body = async function* () {
    yield head
    for (let i = 0; i < 32; i++) {
      memory.passed(chunk.length)
      yield chunk
    }
    yield tail
  }
  const answer = await new Promise<string>((resolve, reject) => {
    const headers = { 'content-type': 'multipart/form-data; boundary=b', 'transfer-encoding': 'chunked' }
    const sending = httpRequest(`${url}/upload`, { method: 'POST', headers }, (response) => {
      response
        .toArray()
        .then((parts) => resolve(Buffer.concat(parts).toString()))
        .catch(reject)
    })
    sending.on('error', reject)
    Readable.from(body()).pipe(sending)
  })
  expect(JSON.parse(answer)).toEqual({
    sha256: sha256(Buffer.alloc(32 << 20, 7)),
    size: 32 << 20,
    fileName: 'big.bin',
    fields: {},
  })
  expect(memory.peak()).toBeLessThan(24 << 20)
})
