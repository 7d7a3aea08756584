import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../platform/http/app.ts'
import { BODY_TOO_LARGE, requestFaultOf } from '../../platform/http/framework-errors.ts'
import { InferenceError } from '../errors.ts'
import { invalid } from './request-body.ts'

/** The one path that takes a form. */
export const TRANSCRIPTIONS = '/v1/audio/transcriptions'

const inOurWords = (error: unknown, request: FastifyRequest): InferenceError | undefined => {
  const type = request.routeOptions.url === TRANSCRIPTIONS ? 'multipart/form-data' : 'application/json'
  const fault = requestFaultOf(error, request, type)
  if (fault === undefined) return undefined
  const isTooLarge = (error as FastifyError).code === BODY_TOO_LARGE
  return isTooLarge ? new InferenceError('request_too_large', fault) : invalid(fault)
}

/** Returns the error for the client. Internal errors become one that refers to the log. */
export const toClientError = (error: unknown, request: FastifyRequest): InferenceError => {
  if (error instanceof InferenceError) return error
  return (
    inOurWords(error, request) ??
    new InferenceError('engine_failed', `Internal server error. See the server's log for request id ${request.id}.`, {
      cause: error,
    })
  )
}

export const logFailure = (error: InferenceError, request: FastifyRequest): void => {
  if (error.statusCode === 500) request.log.error({ err: error.cause ?? error }, 'the request failed')
}

/** Anthropic's error types by status. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

/** Formats an error like Anthropic's API, which has no `param`: the message names the field. */
export const presentAnthropicError = ({ statusCode, message, anthropicDetails: details }: InferenceError) => {
  const type = ANTHROPIC_TYPES[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message, ...(details && { details }) } }
}

const bodyOf = (error: InferenceError, request: FastifyRequest): object =>
  /^\/v1\/messages(?![^/?])/.test(request.url)
    ? { ...presentAnthropicError(error), request_id: request.id }
    : error.toJSON()

const send = (error: InferenceError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  logFailure(error, request)
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds))
  // Fastify closes the connection after refusing a body, which can cut off the response that explains why.
  reply.removeHeader('connection')
  return reply
    .code(error.statusCode)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(bodyOf(error, request)))
}

/** No hooks run for paths that cannot be decoded, so this adds what they would have added. */
export const sendUnroutable = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  send(toClientError(error, request), request, reply.header('x-request-id', request.id))

/** Answers every error in OpenAI's format, or in Anthropic's under /v1/messages, without internal details. */
export const handleErrors = (app: App): void => {
  const methodsOf = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    // HEAD / is only a liveness check.
    if (url === '/') return
    const known = methodsOf.get(url) ?? new Set()
    for (const name of [method].flat()) if (name !== 'OPTIONS') known.add(name)
    methodsOf.set(url, known)
  })

  app.setErrorHandler((error, request, reply) => send(toClientError(error, request), request, reply as FastifyReply))

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]!
    const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path
    const methods = [...(methodsOf.get(path) ?? [])].sort()
    if (methods.length > 0) {
      reply.header('allow', methods.join(', '))
      const message = `${shown} does not accept ${request.method}; it accepts ${methods.join(', ')}.`
      return send(new InferenceError('method_not_allowed', message), request, reply as FastifyReply)
    }
    // The one wildcard is the id of a model, which may contain slashes.
    const paths = [...methodsOf.keys()].filter((known) => known !== '*').map((known) => known.replace('*', '{id}'))
    paths.sort()
    const message = `There is no ${request.method} ${shown} here. Available paths: ${paths.join(', ')}.`
    return send(new InferenceError('not_found', message), request, reply as FastifyReply)
  })
}
