import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ChatServerError, streamChat } from '../../../inference/engines/proxied/openai-client.ts'
import { type Dialect, type Json, wholeReply } from './dialect.ts'

/** A server of this machine that speaks another API and asks an inference server in ours. */
export interface Gateway {
  /** Without /v1. */
  readonly url: string
  close(): Promise<void>
}

/** Agents send whole files along. */
const LARGEST_BODY = 32 * 2 ** 20

const readJson = async (request: IncomingMessage): Promise<Json> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > LARGEST_BODY) throw new ChatServerError('The request is too large.', 413)
    chunks.push(chunk)
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  } catch {
    // Told below.
  }
  throw new ChatServerError('The request is not a JSON object.', 400)
}

const sendJson = (response: ServerResponse, status: number, body: Json): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Serves one dialect on a free port of this machine. */
export const openGateway = async (dialect: Dialect, serverUrl: string): Promise<Gateway> => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const left = new AbortController()
    response.once('close', () => left.abort())
    try {
      const body = await readJson(request)
      const pieces = streamChat({ baseUrl: `${serverUrl}/v1` }, dialect.toChat(body), left.signal)
      if (body.stream !== true) return sendJson(response, 200, dialect.answer(await wholeReply(pieces), body))
      // The first piece shows whether the server takes the request at all, while the status can still say so.
      const first = await pieces.next()
      const all = (async function* () {
        if (!first.done) yield first.value
        yield* pieces
      })()
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
      for await (const event of dialect.stream(all, body)) {
        if (!response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)) {
          await once(response, 'drain', { signal: left.signal })
        }
      }
      response.end()
    } catch (error) {
      if (left.signal.aborted) return
      const status = (error instanceof ChatServerError && error.status) || 502
      const reported = dialect.error((error as Error).message, status)
      if (!response.headersSent) return sendJson(response, status, reported)
      response.end(`event: error\ndata: ${JSON.stringify({ type: 'error', ...reported })}\n\n`)
    }
  }

  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0]
    if (request.method === 'POST' && path === dialect.path) return void answer(request, response)
    // Asked for in passing, to see whether anybody is there.
    if (request.method === 'HEAD') return void response.writeHead(200).end()
    sendJson(response, 404, dialect.error(`There is no ${request.method} ${path} here.`, 404))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
