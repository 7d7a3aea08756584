import type { Socket } from 'node:net'
import type { Server as TlsServer } from 'node:tls'
import cors from '@fastify/cors'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { badRequest, forbidden, ServiceError } from '../../domain/errors.ts'
import { type Authenticate, guardAccess, type SessionRules } from './access.ts'
import type { App } from './app.ts'
import { type CertificateFiles, readCertificate, renewCertificate } from './certificate.ts'
import { limitConnections } from './connection-limit.ts'
import { answerErrors, sendUnroutable } from './errors.ts'
import { type HostSettings, refuseForeignHosts } from './host-guard.ts'
import { readInput } from './input.ts'
import { answerMalformed, refuseExpectations } from './malformed-request.ts'
import { type Metrics, serveMetrics } from './metrics.ts'
import { serveDocumentation, type Tag } from './openapi.ts'
import { admitTo, assertWithinGuessLimit, createRateLimiter, keepExchanging, type RateLimitSync } from './rate-limit.ts'
import { type ReadinessChecks, serveReadiness } from './readiness.ts'
import { createLogger, type LogOptions } from './request-log.ts'
import { compileSerializer } from './serialization.ts'
import { closeGracefully } from './shutdown.ts'
import { dropSlowClients, type InFlight, STALL_LIMITS, type StallLimits } from './slow-clients.ts'
import { requestId, watchTraffic } from './traffic.ts'
import { checkFieldNames } from './unknown-fields.ts'
import { compileValidator } from './validation.ts'
import { sendWarnings, WARNING_HEADER } from './warnings.ts'
import { type AnswerPage, serveWebApp } from './web-app.ts'

const JSON_LIMIT = 1024 * 1024
const MAX_CONNECTIONS = 10_000
/** Requests to public routes and with invalid keys are counted per address, which many devices may share. */
const ADDRESS_SHARE = 10
/** A device_id of 255 characters, percent-encoded. */
const MAX_PARAMETER_LENGTH = 4096

export interface ServerOptions {
  readonly log: LogOptions
  /** Answers by https; by http without. */
  readonly certificate?: CertificateFiles | null
  readonly authenticate: Authenticate
  /** Sessions of browsers; none by default. */
  readonly sessions?: SessionRules | null
  readonly metrics: Metrics
  /** Requests per key and minute, 0 switches the limits off; and keys that are not valid per address, ten times as many. */
  readonly rateLimit: {
    readonly perMinute: number
    readonly guessesPerMinute?: number
    readonly sync?: RateLimitSync | null
  }
  /** Origins of web pages that may call this server; '*' for all; none by default. */
  readonly corsOrigins: readonly string[]
  /** Addresses and networks of proxies that may say in X-Forwarded-For where a request came from; none by default. */
  readonly trustProxy?: readonly string[]
  /** Where no key is needed: the names and origins it answers to. Null where keys are. */
  readonly hostGuard?: Omit<HostSettings, 'corsOrigins'> | null
  /** The API document needs a key, and /metrics one with metrics:read. */
  readonly closed?: boolean
  readonly version: string
  /** The groups of operations in the API document. */
  readonly tags?: readonly Tag[]
  /** The built web app; none by default. */
  readonly webFolder?: string | null
  readonly readiness: ReadinessChecks
  /** Whether the service is about to stop but still answers. */
  readonly isStopping?: () => boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly shutdownDeadlineMs?: number
  readonly stallLimits?: StallLimits
}

const EXPOSED = [
  'X-Request-Id',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-Model-Hash',
  'ETag',
  'Content-Disposition',
  'Content-Range',
  WARNING_HEADER,
]

const limitRates = (app: App, options: ServerOptions): void => {
  const { rateLimit, authenticate, sessions = null, now } = options
  const { perMinute, guessesPerMinute, sync = null } = rateLimit
  if (perMinute === 0) {
    const nothing = () => undefined
    guardAccess(app, {
      authenticate,
      sessions,
      guesses: { assertLeft: nothing, count: nothing },
      admit: nothing,
    })
    return
  }
  const perKey = createRateLimiter({ perMinute, now, sync })
  const perAddress = createRateLimiter({ perMinute: perMinute * ADDRESS_SHARE, now })
  const guesses = createRateLimiter({ perMinute: guessesPerMinute ?? perMinute * ADDRESS_SHARE, now })
  guardAccess(app, {
    authenticate,
    sessions,
    guesses: {
      assertLeft: (address) => assertWithinGuessLimit(guesses.look(address)),
      count: (address) => assertWithinGuessLimit(guesses.take(address)),
    },
    admit: (caller, request, reply) => {
      if (caller === null) admitTo(perAddress, request.ip, reply)
      // A page asks for many things at once.
      else if (caller.sessionId !== undefined) admitTo(perAddress, caller.sessionId, reply)
      else admitTo(perKey, caller.rateKeyId ?? caller.keyId, reply)
    },
  })
  if (sync === null) return
  const stop = keepExchanging(perKey, (error) => app.log.warn({ err: error }, 'rate limits could not be exchanged'))
  app.addHook('onClose', async () => stop())
}

/** A server without business routes: register those, then `listen`. */
export const buildServer = async (options: ServerOptions): Promise<App> => {
  let inFlight: InFlight = new Set()
  const isAnswering = (socket: Socket): boolean =>
    [...inFlight].some((reply) => reply.request.socket === socket && reply.raw.headersSent)

  const { certificate = null } = options
  const timeouts = { headersTimeout: 20_000, connectionsCheckingInterval: 5_000, requireHostHeader: false }
  const transport =
    certificate === null
      ? { http: timeouts }
      : // The same server to everything here but its sockets.
        ({ https: { ...timeouts, ...(await readCertificate(certificate)) } } as unknown as { http: typeof timeouts })
  const app: App = Fastify({
    ...transport,
    loggerInstance: createLogger(options.log) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: requestId,
    bodyLimit: JSON_LIMIT,
    trustProxy: options.trustProxy?.length ? [...options.trustProxy] : false,
    keepAliveTimeout: 65_000,
    requestTimeout: 0,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    clientErrorHandler: (error, socket) =>
      answerMalformed(error, socket, {
        isAnswering: isAnswering(socket),
        bodyOf: (message) => badRequest(message).toJSON(),
      }),
    frameworkErrors: (error, request, reply) => void sendUnroutable(error, request, reply),
  }).withTypeProvider<TypeBoxTypeProvider>()

  if (certificate !== null) {
    const stop = renewCertificate(app.server as unknown as TlsServer, certificate, app.log)
    app.addHook('onClose', async () => stop())
  }
  limitConnections(app.server, MAX_CONNECTIONS)
  refuseExpectations(app.server, (message) => new ServiceError('expectation_failed', message).toJSON())
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  let answerPage: AnswerPage = () => null
  answerErrors(app, (request, reply) => answerPage(request, reply))
  sendWarnings(app)
  const stallLimits = options.stallLimits ?? STALL_LIMITS
  inFlight = watchTraffic(app, options.metrics, stallLimits.lingerMs)
  dropSlowClients(app, inFlight, stallLimits)
  readInput(app)
  checkFieldNames(app)
  closeGracefully(app, options.shutdownDeadlineMs ?? 30_000)
  if (options.hostGuard) refuseForeignHosts(app, { ...options.hostGuard, corsOrigins: options.corsOrigins }, forbidden)
  if (options.corsOrigins.length > 0) {
    const origin = options.corsOrigins.includes('*') ? '*' : [...options.corsOrigins]
    await app.register(cors, {
      origin,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: EXPOSED,
    })
  }
  limitRates(app, options)
  const { version, tags = [] } = options
  serveDocumentation(app, { version, tags, access: options.closed ? 'any-key' : 'public' })
  answerPage = await serveWebApp(app, options.webFolder ?? null)
  serveReadiness(app, options.readiness, options.isStopping ?? (() => false))
  serveMetrics(app, options.metrics, options.closed ? 'metrics:read' : 'public')
  return app
}
