import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../../platform/http/test-server.fixture.ts'
import type { Engine } from '../engines/engine.ts'
import { openStarter, serveForTest, type TestInference } from './test-inference.fixture.ts'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter({ slots: 1 })
  server = await serveForTest(engine, { formDeadline: { graceMs: 1000, bytesPerSecond: 64 * 1024 } })
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

const FIELD = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nstarter\r\n'
const FILE = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n'

/** Starts a form of the given length, and sends only the first bytes of its file. */
const begin = async (fileBytes: number) => {
  const client = await openRaw(server.port)
  const length = FIELD.length + FILE.length + fileBytes + '\r\n--b--\r\n'.length
  client.socket.write(
    'POST /v1/audio/transcriptions HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n' +
      `Content-Length: ${length}\r\n\r\n${FIELD}${FILE}`,
  )
  return client
}

test('slow forms time out and do not block other transcriptions', async () => {
  const dripping = await Promise.all([1, 2, 3, 4].map(() => begin(1_000_000)))
  const timer = setInterval(() => {
    for (const { socket } of dripping) socket.write('xx')
  }, 50)
  // By now the server is reading as many forms as it reads at once.
  await sleep(300)
  const form = new FormData()
  form.append('model', 'starter')
  form.append('file', new Blob(['RIFF']), 'a.wav')
  const response = await fetch(`${server.url}/v1/audio/transcriptions`, { method: 'POST', body: form })
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: 'unsupported', param: 'model' } },
  ])
  for (const client of dripping) {
    const text = await client.until('}}')
    expect(text).toMatch(/^HTTP\/1.1 408 /)
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toEqual({
      error: {
        message: expect.stringMatching(
          /^The form arrived too slowly: \d+ bytes in 1 seconds\. At least 64 KiB per second must arrive\. Try again over a faster connection, or send a smaller file\.$/,
        ),
        type: 'invalid_request_error',
        param: null,
        code: 'request_timeout',
      },
    })
  }
  clearInterval(timer)
  for (const { socket } of dripping) socket.destroy()
})

test('a form that keeps arriving may take longer', async () => {
  const pieces = 20
  const client = await begin(pieces * 20_000)
  for (let sent = 0; sent < pieces; sent++) {
    await sleep(100)
    client.socket.write('x'.repeat(20_000))
  }
  client.socket.write('\r\n--b--\r\n')
  expect(await client.until('}}')).toMatch(/^HTTP\/1.1 400 .*'starter'/s)
  client.socket.destroy()
})
