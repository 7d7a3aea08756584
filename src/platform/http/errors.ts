import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { badRequest, type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { asDatabaseAway, asDeletedMeanwhile, asDiskFull, asUnwritable } from '../../domain/outages.ts'
import { knownCallerOf } from './access.ts'
import type { App } from './app.ts'
import { requestFaultOf } from './framework-errors.ts'
import { routeConfigOf } from './route-config.ts'
import { InvalidRequest } from './validation.ts'
import type { PageResponder } from './web-app.ts'

const inOurWords = (error: unknown, request: FastifyRequest): ServiceError | undefined => {
  // Static files outside their folder: reported as missing rather than forbidden.
  if (error instanceof Error && error.name === 'ForbiddenError')
    return new ServiceError('not_found', 'There is no such page.')
  const types = request.server.hasRequestDecorator('isMultipart')
    ? 'multipart/form-data or application/json'
    : 'application/json'
  const fault = requestFaultOf(error, request, types)
  return fault === undefined ? undefined : badRequest(fault)
}

const asOutage = (error: unknown) => asDiskFull(error) ?? asUnwritable(error) ?? asDatabaseAway(error)

const asServiceError = (error: unknown, request: FastifyRequest): ServiceError => {
  if (error instanceof ServiceError) return (error.code === 'internal_error' ? asOutage(error) : undefined) ?? error
  if (error instanceof InvalidRequest) return badRequest(error.message)
  return (
    inOurWords(error, request) ??
    asOutage(error) ??
    asDeletedMeanwhile(error) ??
    new ServiceError('internal_error', `Unexpected error in the service. See its log for request id ${request.id}.`, {
      cause: error,
    })
  )
}

/** True for a 400 that was raised before the route's own code ran. */
const isBeforeHandler = (error: unknown): boolean =>
  error instanceof InvalidRequest ||
  (error instanceof Error && String((error as FastifyError).code).startsWith('FST_ERR_CTP_'))

/** Errors of the service itself, with their log messages. */
const LOGGED: Partial<Record<ErrorCode, string>> = {
  internal_error: 'unexpected error',
  insufficient_storage: 'the disk is full',
  unavailable: 'the database or the file storage does not respond, or a lock is held',
}

const sendError = (fault: ServiceError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const logged = LOGGED[fault.code]
  if (logged !== undefined) request.log.error({ err: fault.cause ?? fault }, logged)
  else if (fault.cause !== undefined) request.log.warn({ err: fault.cause }, fault.message)
  if (fault.code === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="api"')
  if (fault.retryAfterSeconds !== undefined) reply.header('retry-after', String(fault.retryAfterSeconds))
  // Fastify closes the connection after refusing a body, which can cut off the response that explains it.
  reply.removeHeader('connection')
  return reply.code(fault.statusCode).type('application/json; charset=utf-8').send(JSON.stringify(fault.toJSON()))
}

/** Paths that cannot be decoded skip all hooks, so this adds what the hooks would have added. */
export const sendUnroutable = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const fault = asServiceError(error, request)
  request.log.info({ method: request.method, route: 'unmatched', status: fault.statusCode }, 'request')
  return sendError(fault, request, reply.header('x-request-id', request.id))
}

interface KnownRoute {
  readonly segments: readonly string[]
  readonly methods: Set<string>
}

const fits = ({ segments }: KnownRoute, path: readonly string[]): boolean =>
  segments.at(-1) === '*'
    ? path.length >= segments.length && segments.slice(0, -1).every((segment, i) => segment === path[i])
    : segments.length === path.length && segments.every((segment, i) => segment.startsWith(':') || segment === path[i])

/** Every error is sent as {error, message, status_code}, without internal details. */
export const handleErrors = (app: App, respondWithPage: PageResponder): void => {
  const routes = new Map<string, KnownRoute>()

  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set() }
    for (const name of [method].flat()) route.methods.add(name)
    routes.set(url, route)
  })

  app.setErrorHandler(async (error, request, reply) => {
    const plain = request as FastifyRequest
    let fault = asServiceError(error, plain)
    const { access, beforeInvalid } = routeConfigOf(plain)
    const mayLook = access === 'public' || knownCallerOf(plain) !== null
    if (beforeInvalid !== undefined && mayLook && isBeforeHandler(error)) {
      await beforeInvalid(plain).catch((earlier: unknown) => {
        fault = asServiceError(earlier, plain)
      })
    }
    return sendError(fault, plain, reply as FastifyReply)
  })

  app.setNotFoundHandler((request, reply) => {
    const page = respondWithPage(request, reply as FastifyReply)
    if (page !== null) return page
    const path = request.url.split('?', 1)[0]!
    const parts = path.split('/')
    const fitting = [...routes.values()].filter((route) => route.segments.length > 1 && fits(route, parts))
    const methods = [...new Set(fitting.flatMap((route) => [...route.methods]))]
      .filter((name) => name !== 'OPTIONS')
      .sort()
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path
    const message =
      methods.length > 0
        ? `${shown} does not support ${request.method}; use ${methods.join(', ')}.`
        : `There is no endpoint ${request.method} ${shown}. See /docs for the API.`
    return sendError(new ServiceError('not_found', message), request, reply as FastifyReply)
  })
}
