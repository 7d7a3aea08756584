import type { Server as TlsServer } from 'node:tls'
import cors from '@fastify/cors'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { badRequest, forbidden, ServiceError } from '../../domain/errors.ts'
import { type Authenticate, guardAccess, knownCallerOf, type SessionRules } from './access.ts'
import type { App } from './app.ts'
import { type CertificateFiles, readCertificate, renewCertificate, warnOfDates } from './certificate.ts'
import { closeGracefully, limitConnections } from './connections.ts'
import { handleErrors, sendUnroutable } from './errors.ts'
import { type HostSettings, refuseForeignHosts } from './host-guard.ts'
import { readInput } from './input.ts'
import { refuseExpectations, respondToMalformed } from './malformed-request.ts'
import { type Metrics, serveMetrics } from './metrics.ts'
import { type Contract, serveDocumentation, type Tag } from './openapi.ts'
import { limitRates, type RateLimits } from './rate-limit.ts'
import { type Phase, type ReadinessChecks, serveReadiness } from './readiness.ts'
import { createLogger, type LogOptions } from './request-log.ts'
import { compileSerializer } from './serialization.ts'
import { createTraffic, requestId, STALL_LIMITS, type StallLimits } from './traffic.ts'
import { checkFieldNames } from './unknown-fields.ts'
import { compileValidator } from './validation.ts'
import { sendWarnings, WARNING_HEADER } from './warnings.ts'
import { type PageResponder, serveWebApp } from './web-app.ts'

const JSON_LIMIT = 1024 * 1024
const MAX_CONNECTIONS = 10_000
/** For a device_id of 255 characters, percent-encoded. */
const MAX_PARAMETER_LENGTH = 4096

export interface ServerOptions {
  readonly log: LogOptions
  /** Serves https; without it, http. */
  readonly certificate?: CertificateFiles | null
  readonly authenticate: Authenticate
  /** Browser sessions; none by default. */
  readonly sessions?: SessionRules | null
  readonly metrics: Metrics
  /** Requests per key and minute, 0 disables the limits. Invalid keys are limited per address, ten times as many by default. */
  readonly rateLimit: RateLimits
  /** Origins of web pages that may call this server; '*' for all; none by default. */
  readonly corsOrigins: readonly string[]
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted; none by default. */
  readonly trustProxy?: readonly string[]
  /** The accepted names and origins of a server that does not require keys; null if it does. */
  readonly hostGuard?: Omit<HostSettings, 'corsOrigins'> | null
  /** Requires a key for the API document, and one with metrics:read for /metrics. */
  readonly closed?: boolean
  readonly version: string
  /** The groups of operations in the API document. */
  readonly tags?: readonly Tag[]
  /** Absent: the API document marks no extensions. */
  readonly contract?: Contract
  /** The built web app; none by default. */
  readonly webFolder?: string | null
  readonly readiness: ReadinessChecks
  /** Always `ready` by default. */
  readonly phaseOf?: () => Phase
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
  'Upload-Offset',
  WARNING_HEADER,
]

/** Builds a server without business routes: register those, then call `listen`. */
export const buildServer = async (options: ServerOptions): Promise<App> => {
  const traffic = createTraffic()
  const { certificate = null } = options
  const timeouts = { headersTimeout: 20_000, connectionsCheckingInterval: 5_000, requireHostHeader: false }
  const pair = certificate && (await readCertificate(certificate))
  const transport =
    pair === null
      ? { http: timeouts }
      : // Only the sockets differ.
        ({ https: { ...timeouts, ...pair } } as unknown as { http: typeof timeouts })
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
      respondToMalformed(error, socket, {
        isAnswering: traffic.isAnswering(socket),
        bodyOf: (message) => badRequest(message).toJSON(),
      }),
    frameworkErrors: (error, request, reply) => void sendUnroutable(error, request, reply),
  }).withTypeProvider<TypeBoxTypeProvider>()

  if (certificate !== null && pair !== null) {
    warnOfDates(pair, certificate.cert, app.log)
    const stop = renewCertificate(app.server as unknown as TlsServer, certificate, app.log)
    app.addHook('onClose', async () => stop())
  }
  limitConnections(app.server, MAX_CONNECTIONS)
  refuseExpectations(app.server, (message) => new ServiceError('expectation_failed', message).toJSON())
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  let respondWithPage: PageResponder = () => null
  handleErrors(app, (request, reply) => respondWithPage(request, reply))
  sendWarnings(app)
  traffic.watch(app, {
    metrics: options.metrics,
    stallLimits: options.stallLimits ?? STALL_LIMITS,
    keyOf: (request) => knownCallerOf(request)?.keyId,
  })
  // By the service's clock, which the dashboard reads from it. Formatted once a second.
  let [second, date] = [Number.NaN, '']
  app.addHook('onRequest', (_request, reply, done) => {
    const current = Math.floor(options.now() / 1000)
    if (current !== second) [second, date] = [current, new Date(current * 1000).toUTCString()]
    reply.header('date', date)
    done()
  })
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
      // Otherwise browsers ask again after five seconds. Chromium remembers for at most two hours.
      maxAge: 7200,
    })
  }
  const { authenticate, sessions = null } = options
  guardAccess(app, { authenticate, sessions, ...limitRates(app, options.rateLimit, options.now) })
  const { version, tags = [], contract } = options
  serveDocumentation(app, { version, tags, contract, access: options.closed ? 'any-key' : 'public' })
  respondWithPage = await serveWebApp(app, options.webFolder ?? null)
  serveReadiness(app, options.readiness, options.phaseOf ?? (() => 'ready'))
  serveMetrics(app, options.metrics, options.closed ? 'metrics:read' : 'public')
  return app
}
