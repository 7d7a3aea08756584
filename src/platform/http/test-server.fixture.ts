import { type AddressInfo, connect, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import type { Caller, Grant } from '../../domain/access.ts'
import { unauthorized } from '../../domain/errors.ts'
import type { App } from './app.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { buildServer, type ServerOptions } from './server.ts'

export const KEYS = {
  reader: 'sk_live_ReaderReaderReaderReaderReader00',
  writer: 'sk_live_WriterWriterWriterWriterWriter00',
  device: 'sk_live_DeviceDeviceDeviceDeviceDevice00',
  expired: 'sk_live_ExpiredExpiredExpiredExpired0000',
} as const

const caller = (keyId: string, grants: readonly Grant[], deviceId: string | null = null): Caller => ({
  keyId,
  orgId: null,
  deviceId,
  grants,
})

const CALLERS: Readonly<Record<string, Caller>> = {
  [KEYS.reader]: caller('reader', ['devices:read', 'models:read']),
  [KEYS.writer]: caller('writer', ['devices:read', 'devices:write', 'models:read', 'models:write']),
  [KEYS.device]: caller('device', ['models:read', 'self'], 'device-1'),
}

export interface TestServer {
  readonly app: App
  readonly metrics: Metrics
  /** The server's time in milliseconds since the epoch; tests change it. */
  readonly clock: { now: number }
  /** All lines logged so far. */
  readonly lines: () => string[]
  /** The parsed request lines. */
  readonly requestLines: () => Record<string, unknown>[]
}

/** Builds a server with the demo keys above, a stopped clock, and the test's routes. */
export const buildTestServer = async (
  routes: (app: App) => void | Promise<void>,
  options: Partial<ServerOptions> = {},
): Promise<TestServer> => {
  const clock = { now: Date.parse('2026-01-31T12:00:00Z') }
  const metrics = createMetrics()
  const validTokens = new Set<string>()
  let log = ''
  const app = await buildServer({
    log: {
      level: 'info',
      destination: new Writable({
        write: (chunk, _encoding, done) => {
          log += chunk
          done()
        },
      }),
    },
    authenticate: async (token, onCacheMiss) => {
      if (!validTokens.has(token)) onCacheMiss()
      if (token === KEYS.expired) throw unauthorized('This API key expired on 2026-01-01.')
      const found = CALLERS[token] ?? null
      if (found !== null) validTokens.add(token)
      return found
    },
    metrics,
    rateLimit: { perMinute: 0 },
    corsOrigins: [],
    version: '1.0.0',
    readiness: {},
    now: () => clock.now,
    ...options,
  })
  await routes(app)
  const lines = () => log.split('\n').filter((line) => line !== '')
  const requestLines = () =>
    lines()
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => String(line.msg).startsWith('request'))
  return { app, metrics, clock, lines, requestLines }
}

export const listen = async (app: App): Promise<{ readonly port: number; readonly url: string }> => {
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}` }
}

export const bearer = (who: keyof typeof KEYS): { authorization: string } => ({ authorization: `Bearer ${KEYS[who]}` })

/** A raw TCP client. `received` grows as the server responds. */
export interface RawClient {
  readonly socket: Socket
  readonly received: () => string
  /** Resolves with everything received once that contains `expected`. */
  readonly until: (expected: string) => Promise<string>
  /** Resolves with everything received once the server has closed the connection. */
  readonly closed: Promise<string>
}

export const openRaw = async (port: number): Promise<RawClient> => {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  const waiting: { expected: string; resolve: (text: string) => void }[] = []
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (const { expected, resolve } of waiting) if (text.includes(expected)) resolve(text)
  })
  // The server may cut off a connection, as some tests expect.
  socket.on('error', () => undefined)
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return {
    socket,
    received: () => text,
    until: (expected) =>
      text.includes(expected) ? Promise.resolve(text) : new Promise((resolve) => waiting.push({ expected, resolve })),
    closed,
  }
}

/** Waits until the condition holds; the test's own timeout bounds it. */
export const eventually = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10))
}
