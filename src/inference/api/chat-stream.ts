import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InferenceError } from '../errors.ts'
import type { ChatMeter } from './chat-metrics.ts'
import type { ChoiceEvent } from './chat-run.ts'
import { logFailure, toClientError } from './error-answers.ts'
import { accelerationHeaders, addEvent, NOTHING, type Tally } from './replies.ts'

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

const ALIVE_EVERY_MS = 15_000

/** What becomes of a chat's events in a stream of some API. '' is nothing. */
export interface Frames {
  /** `tally` is what is known with this event. */
  event(choice: ChoiceEvent, tally: Tally): string
  end(tally: Tally): string
  /** Nothing follows it. */
  error(error: InferenceError): string
  /** Nothing to clients, and a sign of life to whatever is between them and us. */
  readonly alive: string
}

export interface StreamedChat {
  readonly frames: Frames
  readonly headers: Readonly<Record<string, string>>
  readonly events: AsyncIterable<ChoiceEvent>
  readonly meter: ChatMeter
  readonly signal: AbortSignal
}

/**
 * Sends the chat as it is made. A failure before the first event is thrown; a later one is sent as the last event. What only
 * the end can tell, about speculation, is in the usage of the last chunk and in trailers.
 */
export const streamChat = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { frames, headers, events, meter, signal }: StreamedChat,
): Promise<FastifyReply> => {
  const stream = openEventStream(reply, {
    signal,
    headers,
    trailers: ['X-Service-Speculative', 'X-Service-Early-Exit-Tokens'],
    alive: { frame: frames.alive, everyMs: ALIVE_EVERY_MS },
  })
  let tally = NOTHING
  try {
    for await (const choice of events) {
      tally = addEvent(tally, choice)
      meter.saw(choice)
      const frame = frames.event(choice, tally)
      if (frame !== '') await stream.send(frame)
    }
    await stream.send(frames.end(tally))
    stream.end(accelerationHeaders(tally))
    meter.finished(tally)
  } catch (error) {
    if (signal.aborted || !stream.begun()) throw error
    const reported = toClientError(error, request)
    logFailure(reported, request)
    meter.failed(error)
    await stream.send(frames.error(reported))
    stream.end({})
  } finally {
    stream.end({})
  }
  return reply
}
