import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app.ts'
import type { Metrics } from './metrics.ts'
import { loggableUrl, REQUEST } from './request-log.ts'

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/

/** Returns the request id from the client or a proxy if it is safe to log; otherwise a new one. */
export const requestId = (raw: IncomingMessage): string => {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
}

export interface StallLimits {
  /** A request body must deliver `minBytes` in each span of this length... */
  readonly bodyStallMs: number
  readonly minBytes: number
  /** ...and a client that is receiving a response must read something in each span of this length. */
  readonly readStallMs: number
  /** How long the rest of a body is read and discarded after the response, so that the client can receive it. */
  readonly lingerMs: number
}

export const STALL_LIMITS: StallLimits = { bodyStallMs: 30_000, minBytes: 1024, readStallMs: 300_000, lingerMs: 10_000 }

/** Headers for pages; other responses are not displayed by browsers. */
const PAGE_HEADERS = { 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' } as const

interface Mark {
  time: number
  bytesRead: number
  readTime: number
  bytesWritten: number
}

/**
 * Node's requestTimeout limits whole requests and would end long uploads. This limits stalls instead: uploads and downloads may
 * take any time while they make progress. Time spent in our own handler does not count.
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
      // Bytes waiting in our buffer mean that our side is slow.
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

/** Reads the rest of a body that was answered early; call it when the response is finished. */
const linger = ({ raw, socket }: FastifyRequest, ms: number): void => {
  // Requests from `inject` have no real socket.
  if (raw.complete || socket.destroyed || !('destroy' in socket)) return
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => {
    if (!raw.complete) socket.destroy()
  }, ms)
  timer.unref()
}

/** Tracks a server's requests until their responses have ended. */
export const createTraffic = () => {
  const inFlight = new Set<FastifyReply>()
  return {
    /** True if a response is being sent on this connection. */
    isAnswering: (socket: Socket): boolean =>
      [...inFlight].some((reply) => reply.request.socket === socket && reply.raw.headersSent),

    /**
     * Tracks every request from its arrival to the end of its response: adds its id and the security headers, counts it, and
     * logs one line. Includes aborted requests, for which Fastify does not call onResponse. Drops clients that stall.
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
        /** Returns the id of the request's key, for the log. */
        readonly keyOf?: (request: FastifyRequest) => string | undefined
      },
    ): void {
      app.addHook('onRequest', (request, reply, done) => {
        const started = performance.now()
        inFlight.add(reply)
        reply.header('x-request-id', request.id)
        reply.header('x-content-type-options', 'nosniff')
        // Browsers send a session cookie, not a key, so they would keep cached responses after the user has signed out.
        // Concurrent requests for a cached resource also wait up to 20 s for each other. Cacheable responses override this.
        reply.header('cache-control', 'no-store')
        if (!request.url.startsWith('/api/')) reply.headers(PAGE_HEADERS)
        reply.raw.on('close', () => {
          inFlight.delete(reply)
          linger(request, stallLimits.lingerMs)
          const ms = performance.now() - started
          // The pattern: unlike paths, there is a limited number.
          const route = request.routeOptions.url ?? 'unmatched'
          const { method } = request
          const finished = reply.raw.writableEnded
          // 499 is nginx's status for a client that disconnected early.
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
            finished ? REQUEST : 'request aborted',
          )
        })
        done()
      })
      dropSlowClients(app, inFlight, stallLimits)
    },
  }
}
