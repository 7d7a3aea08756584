import OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import {
  buildTestServer,
  eventually,
  listen,
  openRaw,
  type TestServer,
} from '../../platform/http/test-server.fixture.ts'
import type { ChatEvent } from '../engines/engine.ts'
import { chatFrames } from './chat.routes.ts'
import { type EventStream, type EventStreamOptions, openEventStream } from './chat-stream.ts'
import { NOTHING } from './replies.ts'

let server: TestServer

afterEach(() => server.app.close())

/** Starts a server on which every chat is the stream that `speak` writes. */
const serve = async (
  speak: (stream: EventStream, signal: AbortSignal) => Promise<void>,
  options: Partial<EventStreamOptions> = {},
): Promise<number> => {
  const config: RouteConfig = { access: 'public' }
  const stallLimits = { bodyStallMs: 60_000, minBytes: 1, readStallMs: 800, lingerMs: 100 }
  const routes = (app: App): void => {
    app.post('/v1/chat/completions', { config }, (request, reply) =>
      whilePresent(request, reply, async (signal) => {
        const alive = { frame: ': waiting\n\n', everyMs: 60_000 }
        const stream = openEventStream(reply, { signal, headers: {}, trailers: [], alive, ...options })
        await speak(stream, signal)
        return reply
      }),
    )
  }
  server = await buildTestServer(routes, { stallLimits })
  return (await listen(server.app)).port
}

const REQUEST = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'

test('a client that reads nothing makes the sender wait, and is eventually disconnected', async () => {
  const frame = `data: ${'x'.repeat(65_536)}\n\n`
  let sent = 0
  let over = false
  const port = await serve(async (stream, signal) => {
    for (; !signal.aborted; sent++) await stream.send(frame)
    over = true
  })
  const client = await openRaw(port)
  client.socket.write(REQUEST)
  await client.until('data:')
  client.socket.pause()
  await eventually(() => over)
  // Frames are buffered only in the sockets on both sides. Without backpressure, this loop would never have ended.
  expect(sent).toBeLessThan(1000)
  client.socket.destroy()
})

test('trailers follow only in HTTP/1.1; an HTTP/1.0 stream ends with its connection', async () => {
  const port = await serve(
    async (stream) => {
      await stream.send('data: 1\n\n')
      stream.end({ 'X-Count': '1' })
    },
    { trailers: ['X-Count'] },
  )
  const responseTo = async (request: string): Promise<string> => {
    const client = await openRaw(port)
    client.socket.write(request)
    const response = await client.until('data: 1\n\n')
    client.socket.destroy()
    return response
  }
  const modern = await responseTo(REQUEST)
  expect(modern).toContain('trailer: X-Count\r\n')
  const old = await responseTo(REQUEST.replace('HTTP/1.1', 'HTTP/1.0'))
  expect(old).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(old.split('\r\n\r\n')[1]).toBe('data: 1\n\n')
  expect(old.toLowerCase()).not.toContain('trailer')
})

test('the official client ignores keep-alive frames', async () => {
  const frames = chatFrames({ id: 'chatcmpl-1', created: 1, model: 'm' }, { includeUsage: false, choices: 1 })
  const told = (event: ChatEvent) => frames.event({ index: 0, event }, NOTHING)
  const port = await serve(
    async (stream) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      await stream.send(told({ type: 'started', promptTokens: 1, cachedTokens: 0 }))
      await new Promise((resolve) => setTimeout(resolve, 100))
      const result = { reason: 'stop', completionTokens: 1, speculation: null } as const
      await stream.send(told({ type: 'text', text: 'ä\n"' }) + told({ type: 'finished', result }) + frames.end(NOTHING))
      stream.end({})
    },
    { alive: { frame: frames.alive, everyMs: 10 } },
  )
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none' })
  const messages = [{ role: 'user' as const, content: '' }]
  const deltas = []
  for await (const chunk of await client.chat.completions.create({ model: 'm', messages, stream: true })) {
    deltas.push(chunk.choices[0]!.delta)
  }
  expect(deltas).toEqual([{ role: 'assistant', content: '' }, { content: 'ä\n"' }, {}])
})

test('values known only at the end follow as trailers, and headers are sent only with the first frame', async () => {
  let begunBefore: boolean | undefined
  const port = await serve(
    async (stream) => {
      begunBefore = stream.begun()
      await stream.send('data: [DONE]\n\n')
      stream.end({ 'X-Service-Speculative': 'true' })
    },
    { trailers: ['X-Service-Speculative'], headers: { 'X-Service-Routed-Model': 'm' } },
  )
  const client = await openRaw(port)
  client.socket.write(REQUEST)
  const text = await client.until('X-Service-Speculative: true\r\n\r\n')
  client.socket.destroy()
  expect(begunBefore).toBe(false)
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(text).toContain('X-Service-Routed-Model: m\r\n')
  expect(text).toMatch(/\r\ntrailer: X-Service-Speculative\r\n/i)
  expect(text).toContain('content-type: text/event-stream; charset=utf-8\r\n')
  expect(text).toMatch(/data: \[DONE\]\n\n\r\n0\r\nX-Service-Speculative: true\r\n\r\n$/)
})
