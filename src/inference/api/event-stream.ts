import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** An answer of server-sent events. Its head is not sent before something is, so that an early failure has a status. */
export interface EventStream {
  readonly begun: () => boolean
  /** Resolves when the client may be sent more: one that reads slowly is waited for. */
  send(frames: string): Promise<void>
  end(trailers: Readonly<Record<string, string>>): void
}

export interface EventStreamOptions {
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
  readonly headers: Readonly<Record<string, string>>
  /** Names of trailers that may follow. */
  readonly trailers: readonly string[]
  /** Sent when nothing else was for that long; from then on there is no status left to fail with. */
  readonly alive: { readonly frame: string; readonly everyMs: number }
}

const drained = (raw: ServerResponse, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      raw.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    raw.on('drain', done)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })

export const openEventStream = (
  reply: FastifyReply,
  { signal, headers, trailers, alive }: EventStreamOptions,
): EventStream => {
  const { raw } = reply
  let begun = false

  const begin = (): void => {
    begun = true
    reply.hijack()
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // Proxies such as nginx would collect the events otherwise.
      'x-accel-buffering': 'no',
      // HTTP/1.0, which proxies such as nginx speak unless told otherwise, has no chunks and so nothing behind them.
      ...(trailers.length > 0 && raw.useChunkedEncodingByDefault && { trailer: trailers.join(', ') }),
    })
  }
  const write = (frames: string): boolean => {
    if (!begun) begin()
    return signal.aborted || raw.write(frames)
  }
  const heart = setInterval(() => write(alive.frame), alive.everyMs)

  return {
    begun: () => begun,
    async send(frames) {
      heart.refresh()
      if (!write(frames)) await drained(raw, signal)
    },
    end(last) {
      clearInterval(heart)
      if (!begun || raw.writableEnded || signal.aborted) return
      if (raw.chunkedEncoding) raw.addTrailers(last)
      raw.end()
    },
  }
}
