import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../../platform/http/test-server.fixture.ts'
import type { Engine } from '../engines/engine.ts'
import { openStarter, serveForTest } from './test-inference.fixture.ts'

let engine: Engine

beforeAll(async () => {
  engine = await openStarter()
})

afterAll(() => engine.close())

const responseTo = async (port: number, host: string, more = ''): Promise<{ status: number; body: unknown }> => {
  const client = await openRaw(port)
  client.socket.write(`GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`)
  const text = await client.until('}')
  client.socket.destroy()
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return { status: Number(text.slice(9, 12)), body: body.length >= length ? JSON.parse(body) : body }
}

test.each(['127.0.0.1', '0.0.0.0'])(
  'a server on %s refuses a page with a host name that was rebound to it',
  async (host) => {
    const server = await serveForTest(engine, { host })
    const refused = {
      status: 403,
      body: {
        error: {
          message:
            "This server requires no key, so it refuses requests for the host 'rebound.example'. If that is its own name, set SERVICE_PUBLIC_URL to the address that this server is known by, such as http://rebound.example.",
          type: 'invalid_request_error',
          param: null,
          code: 'host_not_allowed',
        },
      },
    }
    try {
      expect(await responseTo(server.port, `rebound.example:${server.port}`)).toEqual(refused)
      expect(await responseTo(server.port, 'Rebound.Example.', 'Origin: http://rebound.example\r\n')).toEqual(refused)
      for (const host of [`localhost:${server.port}`, `127.0.0.1:${server.port}`, '[::1]:80', ''])
        expect((await responseTo(server.port, host)).status).toBe(200)
    } finally {
      await server.close()
    }
  },
)

test('a server that requires a key answers any host and pages of any origin, because they need the key', async () => {
  const server = await serveForTest(engine, { apiKey: 'mine' })
  try {
    const [host, page] = ['rebound.example', 'Origin: http://evil.example\r\n']
    expect(await responseTo(server.port, host, page)).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_api_key' } },
    })
    const withKey = `${page}Authorization: Bearer mine\r\n`
    expect((await responseTo(server.port, host, withKey)).status).toBe(200)
  } finally {
    await server.close()
  }
})

test('a server answers to its public address, to pages served there, and to pages of allowed origins', async () => {
  const server = await serveForTest(engine, {
    host: '0.0.0.0',
    publicUrl: 'https://models.example',
    corsOrigins: ['https://app.example'],
  })
  try {
    const statusFor = async (host: string, origin: string) =>
      (await responseTo(server.port, host, `Origin: ${origin}\r\n`)).status
    expect(await statusFor('models.example', 'https://models.example')).toBe(200)
    expect(await statusFor('localhost', 'https://app.example')).toBe(200)
    expect(await statusFor('localhost', 'https://evil.example')).toBe(403)
  } finally {
    await server.close()
  }
})
