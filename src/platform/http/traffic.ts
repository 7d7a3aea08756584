import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app.ts'
import type { Metrics } from './metrics.ts'
import { loggableUrl, REQUEST } from './request-log.ts'

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/

/** The request id from the client or a proxy, if it is safe to log; otherwise a new one. */
export const requestId = (raw: IncomingMessage): string => {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
}

export interface StallLimits {
  /** A request body must bring `minBytes` in each span of this length... */
  readonly bodyStallMs: number
  readonly minBytes: number
  /** ...and a client that is sent an answer must read something in each span of this length. */
  readonly readStallMs: number
  /** How long the rest of a body is read and discarded after the response, so that the client can receive it. */
  readonly lingerMs: number
}

export const STALL_LIMITS: StallLimits = { bodyStallMs: 30_000, minBytes: 1024, readStallMs: 300_000, lingerMs: 10_000 }

/** Pages need more than answers that no browser shows. */
const PAGE_HEADERS = { 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' } as const

interface Mark {
  time: number
  bytesRead: number
  readTime: number
  bytesWritten: number
}

/**
 * Node's requestTimeout limits a whole request and so would kill long uploads. This limits stalls instead: uploads and
 * downloads may take any time while they make progress. Time spent in our own handler does not count.
 */
const dropSlowClients = (app: App, inFlight: ReadonlySet<FastifyReply>, stallLimits: StallLimits): void => {
  const marks = new WeakMap<FastifyReply, Mark>()

  const isStalled = (reply: FastifyReply, now: number): boolean => {
    const { raw: request, socket } = reply.request
    const mark = marks.get(reply)
    if (mark === undefined) {
      marks.set(reply, { time: now, bytesRead: socket.bytesRead, readTime: now, bytesWritten: socket.bytesWritten })
      return false
    }
    if (now - mark.time >= stallLimits.bodyStallMs) {
      // Bytes that wait in our buffer mean that we are the slow side.
      const waiting = !request.complete && request.readableLength === 0
      if (waiting && socket.bytesRead - mark.bytesRead < stallLimits.minBytes) return true
      mark.time = now
      mark.bytesRead = socket.bytesRead
    }
    const unread = socket.writableLength > 0 || reply.raw.writableLength > 0
    if (!unread || socket.bytesWritten !== mark.bytesWritten) {
      mark.readTime = now
      mark.bytesWritten = socket.bytesWritten
    }
    return now - mark.readTime >= stallLimits.readStallMs
  }

  const interval = Math.min(stallLimits.bodyStallMs, stallLimits.readStallMs, 20_000) / 4
  const timer = setInterval(() => {
    const now = performance.now()
    for (const reply of inFlight) {
      if (!isStalled(reply, now)) continue
      reply.request.log.warn('the client stopped sending or reading; closing its connection')
      reply.request.socket.destroy()
    }
  }, interval)
  timer.unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

/** Reads on after an answer that came before the end of its request's body; to be called when the answer is over. */
const linger = ({ raw, socket }: FastifyRequest, ms: number): void => {
  // A request that came without a connection (`inject`) has a socket that is none.
  if (raw.complete || socket.destroyed || !('destroy' in socket)) return
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => {
    if (!raw.complete) socket.destroy()
  }, ms)
  timer.unref()
}

/** What arrives at one server, and has not been answered to its end. */
export const createTraffic = () => {
  const inFlight = new Set<FastifyReply>()
  return {
    /** Whether an answer is being sent on this connection. */
    isAnswering: (socket: Socket): boolean =>
      [...inFlight].some((reply) => reply.request.socket === socket && reply.raw.headersSent),

    /**
     * Tracks every request from its arrival to the end of its response: adds its id and the security headers, then counts
     * it and logs it in one line. Includes aborted requests, for which Fastify does not call onResponse. Drops clients
     * that stall.
     */
    watch(
      app: App,
      {
        metrics,
        stallLimits,
        keyOf,
      }: {
        readonly metrics: Metrics
        readonly stallLimits: StallLimits
        /** The id of the key that a request came with, for the log. */
        readonly keyOf?: (request: FastifyRequest) => string | undefined
      },
    ): void {
      app.addHook('onRequest', (request, reply, done) => {
        const started = performance.now()
        inFlight.add(reply)
        reply.header('x-request-id', request.id)
        reply.header('x-content-type-options', 'nosniff')
        // A browser sends its session with a request, not a key: it would keep answers after its user has signed out. And a request
        // for what it keeps waits up to 20 s for one before it. What may be kept says so itself.
        reply.header('cache-control', 'no-store')
        if (!request.url.startsWith('/api/')) reply.headers(PAGE_HEADERS)
        reply.raw.on('close', () => {
          inFlight.delete(reply)
          linger(request, stallLimits.lingerMs)
          const ms = performance.now() - started
          // The pattern, which is bounded, unlike the path.
          const route = request.routeOptions.url ?? 'unmatched'
          const { method } = request
          const finished = reply.raw.writableEnded
          // 499 is what nginx calls a client that did not wait for its answer.
          const status = finished ? reply.raw.statusCode : 499
          metrics.countRequest(method, route, status, ms / 1000)
          request.log.info(
            {
              method,
              route,
              url: loggableUrl(request.url),
              status,
              ms: Math.round(ms * 100) / 100,
              key: keyOf?.(request),
              ip: request.ip,
            },
            finished ? REQUEST : 'request broken off',
          )
        })
        done()
      })
      dropSlowClients(app, inFlight, stallLimits)
    },
  }
}
