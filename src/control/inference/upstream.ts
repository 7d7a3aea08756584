import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { ServiceError } from '../../domain/errors.ts'

/** How long a server may send nothing before the request fails; `svc serve` sends a keep-alive every 15 seconds. */
const SILENCE_MS = 60_000
const MAX_REFUSAL_BYTES = 64 * 1024

const failed = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('upstream_failed', message, { cause })

const tooSlow = (): ServiceError =>
  new ServiceError(
    'upstream_timeout',
    `The inference server sent nothing for ${SILENCE_MS / 1000} s. Check its log, or request less.`,
  )

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no host has this name',
  EHOSTUNREACH: 'there is no route to it',
  ECONNRESET: 'it closed the connection',
}

/** Explains why a connection failed, and what to do about it. `url` is the operator's own setting. */
const unreachable = (url: string, error: NodeJS.ErrnoException): ServiceError =>
  failed(
    `The inference server at ${url} cannot be used: ${REASONS[error.code ?? ''] ?? error.message}. Start it with: svc serve <model>`,
    error,
  )

/** The error for a response that broke off. */
export const brokenOff = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : failed('The inference server closed the connection before its response was complete.', error)

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
  readonly key: string | null
  readonly signal: AbortSignal
}

/** Reads a response that should be small. @throws ServiceError if it is too large or breaks off */
export const readWhole = async (response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of response) {
      size += piece.length
      if (size > maxBytes) throw failed(`The response of the inference server is larger than ${maxBytes} bytes.`)
      pieces.push(piece)
    }
  } catch (error) {
    throw brokenOff(error)
  }
  return Buffer.concat(pieces)
}

const messageIn = (text: string): string | null => {
  try {
    const { error, message, detail } = JSON.parse(text) as Readonly<Record<string, unknown>>
    const found = (error as { message?: unknown } | undefined)?.message ?? error ?? message ?? detail
    return typeof found === 'string' ? found.slice(0, 1000) : null
  } catch {
    return null
  }
}

const secondsIn = (header: string | undefined): number => {
  const seconds = Number(header)
  return Number.isInteger(seconds) && seconds > 0 ? Math.min(seconds, 3600) : 5
}

/** Translates a refusal to this API's errors: faults of the request remain so; everything else is the server's fault. */
const refusalOf = async (response: IncomingMessage): Promise<ServiceError> => {
  const status = response.statusCode ?? 0
  if (status >= 300 && status < 400) {
    return failed(
      'The inference server sends a redirect, which is not followed. Set SERVICE_INFERENCE_URL to its own address.',
    )
  }
  if (status === 401 || status === 403) {
    return failed(
      'The inference server rejects the key of the service. Set SERVICE_SERVER_KEY to the key that it expects.',
    )
  }
  const upstreamMessage = messageIn((await readWhole(response, MAX_REFUSAL_BYTES)).toString('utf8'))
  const message =
    upstreamMessage ?? `The inference server returned status ${status}. Is SERVICE_INFERENCE_URL its address?`
  if (status === 503 || status === 429) {
    const retryAfterSeconds = secondsIn(response.headers['retry-after'])
    return new ServiceError('upstream_busy', message, { retryAfterSeconds })
  }
  // Not 401 and 403, which concern the service's own key and not the caller's.
  const isFaultOfRequest = upstreamMessage !== null && [400, 404, 413, 422].includes(status)
  if (!isFaultOfRequest) return failed(message)
  return new ServiceError(status === 404 ? 'not_found' : 'bad_request', message)
}

/**
 * Sends a request to the inference server; follows no redirects and contacts nothing outside `base`. Resolves with a response
 * of status 200, whose body is not yet read.
 * @throws ServiceError with a message for the caller, or the reason with which `signal` was aborted
 */
export const requestUpstream = async (
  base: string,
  { method, path, body, key, signal }: UpstreamRequest,
): Promise<IncomingMessage> => {
  const url = new URL(`${base}${path}`)
  const content = body === undefined ? null : Buffer.from(JSON.stringify(body))
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      // A new connection for each request: the server may meanwhile have closed a kept one.
      agent: false,
      timeout: SILENCE_MS,
      signal,
      headers: {
        accept: 'application/json, text/event-stream',
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(content && { 'content-type': 'application/json', 'content-length': content.length }),
      },
    })
    request.once('response', resolve)
    request.once('timeout', () => request.destroy(tooSlow()))
    request.on('error', (error) => {
      if (signal.aborted) reject(signal.reason)
      else reject(error instanceof ServiceError ? error : unreachable(base, error))
    })
    request.end(content)
  })
  if (response.statusCode !== 200) throw await refusalOf(response)
  return response
}
