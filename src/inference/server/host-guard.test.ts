import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../../http/test-server.fixture.ts'
import type { Engine } from '../engine.ts'
import { isOwnHost } from './host-guard.ts'
import { openStarter, serveForTest } from './test-inference.fixture.ts'

let engine: Engine

beforeAll(async () => {
  engine = await openStarter()
})

afterAll(() => engine.close())

const answerTo = async (port: number, host: string, more = ''): Promise<{ status: number; body: unknown }> => {
  const client = await openRaw(port)
  client.socket.write(`GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`)
  const text = await client.until('}')
  client.socket.destroy()
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return { status: Number(text.slice(9, 12)), body: body.length >= length ? JSON.parse(body) : body }
}

test('a server on the loopback address refuses a page whose name was made to point there', async () => {
  const server = await serveForTest(engine)
  const refused = {
    status: 403,
    body: {
      error: {
        message:
          "This server is for programs on this machine and does not answer to the name 'rebound.example'. Ask for localhost or 127.0.0.1, or start it with --host to let others in.",
        type: 'invalid_request_error',
        param: null,
        code: 'host_not_allowed',
      },
    },
  }
  try {
    expect(await answerTo(server.port, `rebound.example:${server.port}`)).toEqual(refused)
    expect(await answerTo(server.port, 'Rebound.Example.', 'Origin: http://rebound.example\r\n')).toEqual(refused)
    for (const host of [`localhost:${server.port}`, `127.0.0.1:${server.port}`, '[::1]:80', ''])
      expect((await answerTo(server.port, host)).status).toBe(200)
  } finally {
    await server.close()
  }
})

test('a server that others may reach answers to whatever it is called', async () => {
  const server = await serveForTest(engine, { host: '0.0.0.0' })
  try {
    expect((await answerTo(server.port, 'models.example')).status).toBe(200)
  } finally {
    await server.close()
  }
})

test('own names are localhost, what is below it, addresses, and what the server was told to be', () => {
  const own = [
    'localhost',
    'LOCALHOST:8080',
    'app.localhost',
    'host.docker.internal:1',
    '10.0.0.7',
    '[fe80::1]:80',
    'dev',
  ]
  const foreign = [
    'localhost.example',
    'notlocalhost',
    'internal',
    '127.0.0.1.example',
    '127.1',
    '0x7f.1',
    'x',
    'dev.example',
    'a b',
  ]
  expect(own.filter((host) => !isOwnHost(host, 'Dev'))).toEqual([])
  expect(foreign.filter((host) => isOwnHost(host, 'Dev'))).toEqual([])
})
