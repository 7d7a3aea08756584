import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import cors from '@fastify/cors'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyRequest, LogController } from 'fastify'
import type { App } from '../../platform/http/app.ts'
import { closeGracefully } from '../../platform/http/connections.ts'
import { refuseForeignHosts } from '../../platform/http/host-guard.ts'
import { refuseEncodedBodies, refuseExpectations, respondToMalformed } from '../../platform/http/malformed-request.ts'
import { createMetrics } from '../../platform/http/metrics.ts'
import { createLogger, type LogOptions } from '../../platform/http/request-log.ts'
import { createTraffic, requestId, type StallLimits } from '../../platform/http/traffic.ts'
import { InferenceError } from '../errors.ts'
import { createAdmissions } from '../runtime/queue/admission.ts'
import { createSchemaCompiler } from '../structured-output/schema-compiler.ts'
import type { AvailableModels, Compress, Route } from './available-models.ts'
import { chatRoutes } from './chat.routes.ts'
import { createChatMetrics, engineFigures, measureQueues, measureSchemas } from './chat-metrics.ts'
import { completionRoutes } from './completions.routes.ts'
import { embeddingRoutes } from './embeddings.routes.ts'
import { handleErrors, sendUnroutable } from './error-responses.ts'
import { messagesRoutes } from './messages.routes.ts'
import { modelRoutes } from './models.routes.ts'
import { createBodyParser, invalid } from './request-body.ts'
import { responsesRoutes } from './responses.routes.ts'
import type { FormDeadline } from './transcription-form.ts'
import { transcriptionRoutes } from './transcriptions.routes.ts'

/** About half a million tokens of English. A request that announces more is refused before its body is read. */
const JSON_LIMIT = 2 * 1024 * 1024
const QUEUE_TIMEOUT_MS = 120_000
/** Requests that count tokens may wait even without a queue, because each takes milliseconds. */
const MIN_COUNT_QUEUE = 64
const STALL_LIMITS: StallLimits = { bodyStallMs: 20_000, minBytes: 1024, readStallMs: 60_000, lingerMs: 5_000 }

export interface InferenceServerOptions {
  /** The configured address to listen on. */
  readonly host: string
  /** 0 lets the system choose a free port. */
  readonly port: number
  /** The address that clients use, if it has another name. */
  readonly publicUrl?: string | null
  /** Origins of web pages that may call the server, in addition to those of this machine. */
  readonly corsOrigins?: readonly string[]
  readonly models: AvailableModels
  /** Chooses the model of requests for `auto`; null if there is no such model. */
  readonly route?: Route | null
  /** null leaves prompts unchanged. */
  readonly compress?: Compress | null
  /** How many requests may wait for each engine; with 0, a request that cannot start at once is refused. */
  readonly maxQueue: number
  readonly queueTimeoutMs?: number
  /** The key that every route under /v1, and /metrics, requires; null for none. */
  readonly apiKey?: string | null
  /** Requests that name no format get JSON. */
  readonly jsonMode?: boolean
  readonly version: string
  readonly log: LogOptions
  readonly stallLimits?: StallLimits
  readonly formDeadline?: FormDeadline
  readonly shutdownDeadlineMs?: number
}

const EXPOSED = [
  'X-Request-Id',
  'Retry-After',
  'X-Service-Routed-Model',
  'X-Service-Speculative',
  'X-Service-Early-Exit-Tokens',
  'X-Service-Compression',
]

/** Pages of this machine and of programs such as editors that display their own pages, but no pages from the web. */
const LOCAL_PAGE =
  /^(https?:\/\/(localhost|[\w-]+\.localhost|127\.0\.0\.1|\[::1\])(:\d+)?|(app|tauri|vscode-webview):\/\/.*)$/i

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns the keys in the header that OpenAI's clients use and in the one that Anthropic's use. */
const keysIn = ({ authorization, 'x-api-key': own }: IncomingHttpHeaders): readonly string[] => {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  return [bearer, own].filter((key) => typeof key === 'string')
}

/** Requires the key on every route under /v1, and on /metrics. The comparison takes constant time. */
const requireKey = (app: App, apiKey: string): void => {
  const expected = digest(apiKey)
  app.addHook('onRequest', (request, _reply, done) => {
    const { url } = request.routeOptions
    if (!url?.startsWith('/v1/') && url !== '/metrics') return done()
    const keys = keysIn(request.headers)
    if (keys.some((key) => timingSafeEqual(digest(key), expected))) return done()
    const what = keys.length === 0 ? 'This server requires an API key' : 'That is not the API key of this server'
    const how = 'Send the key that svc serve was started with, as Authorization: Bearer <key> or x-api-key: <key>.'
    done(new InferenceError('invalid_api_key', `${what}. ${how}`))
  })
}

/** Builds a server with OpenAI's and Anthropic's APIs, ready to listen. It logs no prompts. */
const buildInferenceServer = async (options: InferenceServerOptions): Promise<App> => {
  const { models, route = null, compress = null, maxQueue } = options
  const traffic = createTraffic()
  const app: App = Fastify({
    loggerInstance: createLogger(options.log) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: requestId,
    bodyLimit: JSON_LIMIT,
    // Clients keep connections for the next turn of a conversation. Closing one just as it is used costs a retry.
    keepAliveTimeout: 65_000,
    requestTimeout: 0,
    return503OnClosing: false,
    http: { headersTimeout: 20_000, connectionsCheckingInterval: 5_000, requireHostHeader: false },
    routerOptions: { maxParamLength: 4096 },
    clientErrorHandler: (error, socket) =>
      respondToMalformed(error, socket, {
        isAnswering: traffic.isAnswering(socket),
        bodyOf: (message) => invalid(message).toJSON(),
      }),
    frameworkErrors: (error, request, reply) => void sendUnroutable(error, request, reply),
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.server.maxConnections = 4096
  refuseExpectations(app.server, (message) => new InferenceError('expectation_failed', message).toJSON())
  handleErrors(app)
  // The thread that computes may share a core with this one.
  const metrics = createMetrics({ monitors: false })
  traffic.watch(app, { metrics, stallLimits: options.stallLimits ?? STALL_LIMITS })
  closeGracefully(app, options.shutdownDeadlineMs ?? 30_000)
  const { host, publicUrl = null, corsOrigins = [] } = options
  // With a required key, DNS rebinding is harmless: the page does not have the key.
  if (!options.apiKey)
    refuseForeignHosts(app, { host, publicUrl, corsOrigins }, (why) => new InferenceError('host_not_allowed', why))
  await app.register(cors, {
    origin: [LOCAL_PAGE, ...corsOrigins, ...(publicUrl === null ? [] : [new URL(publicUrl).origin])],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    // Otherwise browsers ask again after five seconds. Chromium remembers for at most two hours.
    maxAge: 7200,
    // An OPTIONS request that is not a preflight is answered like any other request.
    strictPreflight: false,
  })

  if (options.apiKey) requireKey(app, options.apiKey)
  refuseEncodedBodies(app, invalid)
  app.removeAllContentTypeParsers()
  const parseBody = createBodyParser()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (_request: FastifyRequest, bytes: Buffer) => parseBody(bytes),
  )

  const queue = { maxQueue, timeoutMs: options.queueTimeoutMs ?? QUEUE_TIMEOUT_MS, now: () => performance.now() }
  const admissions = createAdmissions(queue)
  const counting = { ...queue, maxQueue: Math.max(maxQueue, MIN_COUNT_QUEUE), work: ' counting tokens' }
  const countAdmissions = createAdmissions(counting, () => 1)
  measureQueues(metrics.registry, models, admissions)
  const schemas = createSchemaCompiler()
  app.addHook('onClose', schemas.close)
  measureSchemas(metrics.registry, schemas)
  const chats = {
    models,
    route,
    compress,
    admissions,
    countAdmissions,
    schemas,
    metrics: createChatMetrics(metrics.registry),
    now: Date.now,
    defaultFormat: { type: options.jsonMode ? 'json_object' : 'text' } as const,
  }
  chatRoutes(app, chats)
  completionRoutes(app, chats)
  responsesRoutes(app, chats)
  messagesRoutes(app, chats)
  modelRoutes(app, models, route !== null)
  embeddingRoutes(app, { models, admissions })
  await transcriptionRoutes(app, { models, admissions }, options.formDeadline)

  // Agents send this to check that the server is up.
  app.head('/', async (_request, reply) => reply.send())
  app.get('/health', async () => ({
    status: 'ok',
    version: options.version,
    models: models.list().map(({ name }) => name),
    loaded: models.loaded().map(({ name: engine, model: { name } }) => ({ model: name, engine })),
  }))
  app.get('/metrics', async (_request, reply) =>
    reply
      .type(metrics.registry.contentType)
      .send(`${await metrics.registry.metrics()}\n${engineFigures(models.loaded())}`),
  )
  return app
}

export interface InferenceServer {
  readonly address: AddressInfo
  /** Refuses new connections and finishes requests in flight, up to a deadline. Models stay open. */
  close(): Promise<void>
}

/** A server that is ready to listen. */
export interface PreparedServer {
  /** @throws the error of listening, such as EADDRINUSE */
  listen(): Promise<InferenceServer>
  /** Closes a server that has not listened. */
  close(): Promise<void>
}

export const prepareInferenceServer = async (options: InferenceServerOptions): Promise<PreparedServer> => {
  const app = await buildInferenceServer(options)
  await app.ready()
  const close = async () => app.close()
  const listen = async (): Promise<InferenceServer> => {
    await app.listen({ host: options.host, port: options.port })
    return { address: app.server.address() as AddressInfo, close }
  }
  return { listen, close }
}
