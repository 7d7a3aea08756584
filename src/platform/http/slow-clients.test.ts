import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import type { RouteConfig } from './route-config.ts'
import { buildTestServer, eventually, listen, openRaw, type RawClient, type TestServer } from './test-server.fixture.ts'
import { acceptUploads, readUpload } from './upload.ts'

const OPEN: RouteConfig = { access: 'public' }
// Long enough that pauses of client and server on a busy machine do not make a client count as slow.
const STALL_LIMITS = { bodyStallMs: 2500, minBytes: 100, readStallMs: 2500, lingerMs: 300 }

const servers: TestServer[] = []

/** Starts a separate server for each test, because they run concurrently. */
const start = async (): Promise<{ client: RawClient; server: TestServer }> => {
  const server = await buildTestServer(
    async (app) => {
      app.post('/json', { config: OPEN }, async (request) => request.body)
      app.get('/wait', { config: OPEN }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 4000))
        return { waited: true }
      })
      app.get('/endless', { config: OPEN }, async (_request, reply) => {
        const source = async function* () {
          for (;;) yield Buffer.alloc(64 * 1024)
        }
        return reply.send(Readable.from(source()))
      })
      app.post('/refuse', { config: { access: 'any-key' } satisfies RouteConfig }, async () => ({}))
      await app.register(async (scope) => {
        await acceptUploads(scope)
        scope.post('/upload', { config: OPEN }, async (request) => {
          const hashing = async (source: AsyncIterable<Uint8Array>) => {
            const hash = createHash('sha256')
            for await (const chunk of source) hash.update(chunk)
            return { sha256: hash.digest('hex'), discard: async () => undefined }
          }
          const { file } = await readUpload(request, { blobs: { stage: hashing }, maxBytes: 1 << 30 })
          return { sha256: file.sha256 }
        })
      })
    },
    { stallLimits: STALL_LIMITS },
  )
  servers.push(server)
  return { server, client: await openRaw((await listen(server.app)).port) }
}

afterAll(() => Promise.all(servers.map(({ app }) => app.close())))

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

test.concurrent('a body that stops arriving ends the connection', async () => {
  const { client } = await start()
  client.socket.write(
    'POST /json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a":',
  )
  expect(await client.closed).not.toContain('200 OK')
})

test.concurrent('a body that trickles in byte by byte ends the connection', async () => {
  const { client } = await start()
  client.socket.write(
    'POST /json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{',
  )
  const timer = setInterval(() => client.socket.write(' '), 20)
  expect(await client.closed).not.toContain('200 OK')
  clearInterval(timer)
})

test.concurrent('an upload that makes progress may take any time', async () => {
  const { client } = await start()
  const piece = 'x'.repeat(500)
  const content = piece.repeat(20)
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
  const tail = '\r\n--b--\r\n'
  client.socket.write(
    'POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n' +
      `Content-Length: ${head.length + content.length + tail.length}\r\n\r\n${head}`,
  )
  for (let i = 0; i < 20; i++) {
    await pause(200)
    client.socket.write(piece)
  }
  client.socket.write(tail)
  expect(await client.until('sha256')).toContain(createHash('sha256').update(content).digest('hex'))
  client.socket.destroy()
})

test.concurrent('waiting for our own response does not make a client slow', async () => {
  const { client } = await start()
  client.socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await client.until('waited')).toContain('200 OK')
  client.socket.destroy()
})

test.concurrent('a client that stops reading its response is disconnected', async () => {
  const { client, server } = await start()
  client.socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until('200 OK')
  client.socket.pause()
  await eventually(() => server.lines().some((line) => line.includes('the client stopped sending or reading')))
  client.socket.resume()
  await client.closed
})

test.concurrent('after an early response the rest of the body is read for a while, then the connection ends', async () => {
  const { client } = await start()
  client.socket.write('POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n')
  await client.until('"status_code":401')
  const timer = setInterval(() => client.socket.write('x'.repeat(10_000)), 10)
  expect(await client.closed).toContain('401 Unauthorized')
  clearInterval(timer)
})
