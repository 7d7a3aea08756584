import type { FastifyError, FastifyRequest } from 'fastify'

export const BODY_TOO_LARGE = 'FST_ERR_CTP_BODY_TOO_LARGE'

/**
 * Rewords Fastify's own errors about a request; undefined for errors that the request did not cause.
 * @param expected the content types that the endpoint accepts
 */
export const requestFaultOf = (error: unknown, request: FastifyRequest, expected: string): string | undefined => {
  if (!(error instanceof Error)) return undefined
  const { code, statusCode, message } = error as FastifyError
  const type = request.headers['content-type']
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return type === undefined
        ? `The request has a body but no Content-Type. Send it as ${expected}.`
        : `This endpoint does not accept Content-Type '${type.slice(0, 100)}'. Send ${expected}.`
    case BODY_TOO_LARGE:
      return `The body is larger than the limit of ${request.routeOptions.bodyLimit} bytes.`
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return 'The length of the body differs from Content-Length.'
    case 'FST_ERR_BAD_URL':
      return 'The path is not valid percent-encoded UTF-8.'
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return 'A part of the path is too long.'
    case 'ECONNRESET':
      // Otherwise it was another connection, such as the database's.
      if (!request.raw.destroyed || request.raw.complete) return undefined
      return 'The connection was closed before the body had arrived.'
    default:
      if (!code?.startsWith('FST_') || statusCode === undefined) return undefined
      return statusCode >= 400 && statusCode < 500 ? `${message}.` : undefined
  }
}
