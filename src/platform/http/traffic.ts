import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import { knownCallerOf } from './access.ts'
import type { App } from './app.ts'
import type { Metrics } from './metrics.ts'
import { loggableUrl, REQUEST } from './request-log.ts'
import { routeOf } from './route-config.ts'
import { type InFlight, linger } from './slow-clients.ts'

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/

/** The request id from the client or a proxy, if it is safe to log; otherwise a new one. */
export const requestId = (raw: IncomingMessage): string => {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
}

/** Pages need more than answers that no browser shows. */
const PAGE_HEADERS = { 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' } as const

/**
 * Tracks every request from its arrival to the end of its response: adds its id and the security headers, then counts
 * it and logs it in one line. Includes aborted requests, for which Fastify does not call onResponse.
 */
export const watchTraffic = (app: App, metrics: Metrics, lingerMs: number): InFlight => {
  const inFlight = new Set<FastifyReply>()

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
      linger(request, lingerMs)
      const ms = performance.now() - started
      const route = routeOf(request) ?? 'unmatched'
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
          key: knownCallerOf(request)?.keyId,
          ip: request.ip,
        },
        finished ? REQUEST : 'request broken off',
      )
    })
    done()
  })

  return inFlight
}
