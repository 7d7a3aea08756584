import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InferenceError } from '../errors.ts'
import type { ChatMeter } from './chat-metrics.ts'
import type { ChoiceEvent } from './choices.ts'
import { logFailure, toClientError } from './error-responses.ts'
import { accelerationHeaders, addEvent, NOTHING, type Tally } from './replies.ts'

/** A response of server-sent events. Its headers are sent with the first frame, so that earlier failures still get a status. */
export interface EventStream {
  readonly begun: () => boolean
  /** Resolves when the client can take more, which slows the sender down for slow readers. */
  send(frames: string): Promise<void>
  end(trailers: Readonly<Record<string, string>>): void
}

export interface EventStreamOptions {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly headers: Readonly<Record<string, string>>
  /** Names of the trailers that may follow. */
  readonly trailers: readonly string[]
  /** Sent after this much silence. From then on the status can no longer change. */
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
      // Keeps proxies such as nginx from buffering the events.
      'x-accel-buffering': 'no',
      // HTTP/1.0, the default of proxies such as nginx, has no chunks and therefore no trailers.
      ...(trailers.length > 0 && raw.useChunkedEncodingByDefault && { trailer: trailers.join(', ') }),
    })
  }
  const write = (frames: string): boolean => {
    if (!begun) begin()
    return signal.aborted || raw.writableEnded || raw.write(frames)
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

/** Turns a chat's events into the frames of one API's stream. '' sends nothing. */
export interface Frames {
  /** `tally` includes this event. */
  event(choice: ChoiceEvent, tally: Tally): string
  end(tally: Tally): string
  /** Nothing may follow it. */
  error(error: InferenceError): string
  /** Ignored by clients, but keeps the connection alive for proxies in between. */
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
 * Streams a chat. A failure before the first event is thrown; a later one is sent as the last event. Speculation counts, which
 * are known only at the end, are in the last chunk's usage and in trailers.
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
    meter.finished(tally)
    await stream.send(frames.end(tally))
    stream.end(accelerationHeaders(tally))
  } catch (error) {
    if (signal.aborted || !stream.begun()) throw error
    const reported = toClientError(error, request)
    logFailure(reported, request)
    meter.failed(error)
    await stream.send(frames.error(reported))
  } finally {
    stream.end({})
  }
  return reply
}
