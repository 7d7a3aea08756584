import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, ApiError, createClient, type ErrorBody, unwrap } from '../client/client.ts'
import { certificateAdvice } from '../domain/certificate-advice.ts'
import { withAbortableBody } from '../platform/transfer/abortable-body.ts'
import { throughProxy } from '../platform/transfer/proxy.ts'
import { reasonOf } from '../platform/transfer/transfer-error.ts'
import { Failure } from './failure.ts'

const TIMEOUT_MS = 30_000
/** How long the service may make a request wait in total because of its rate limit. */
const MAX_WAIT_SECONDS = 60

/** The service sent no usable response. */
export class UnreachableError extends Failure {}

export const unreachable = (baseUrl: string, reason: string, cause?: unknown): UnreachableError => {
  const way = throughProxy(new URL(baseUrl))
  return new UnreachableError(`Cannot reach ${baseUrl}${way} (${reason}).`, {
    advice:
      certificateAdvice(reason) ??
      (way === ''
        ? 'Is the service running? Start it with: svc up. If it has another address, set --api-base or SERVICE_API_BASE.'
        : 'Check HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY to reach it directly.'),
    cause,
  })
}

/** The response is not from the service, but from a website or a captive portal, for example. */
export const otherProgram = (baseUrl: string, responses = 'data of another kind'): UnreachableError =>
  new UnreachableError(`${baseUrl} responded with ${responses}: it is not the service.`, {
    advice: 'Set the address of the service with --api-base or SERVICE_API_BASE.',
  })

/** @throws UnreachableError if a successful response has a content type that the service never sends */
export const requireType = (baseUrl: string, { headers }: Response, types: RegExp): void => {
  const type = headers.get('content-type') ?? ''
  if (!types.test(type)) throw otherProgram(baseUrl, type.startsWith('text/html') ? 'web pages' : undefined)
}

/** @throws UnreachableError if a successful response is neither a JSON object nor, if empty, recognizable by its request id */
const requireOwnResponse = (baseUrl: string, response: Response, body: ArrayBuffer): void => {
  if (body.byteLength > 0) {
    requireType(baseUrl, response, /^application\/json\b/)
    if (!/^\s*\{/.test(Buffer.from(body).toString('utf8'))) throw otherProgram(baseUrl)
  } else if (!response.headers.has('x-request-id')) {
    throw new UnreachableError(
      `${baseUrl} sent an empty response without the header x-request-id, which the service sends.`,
      {
        advice:
          'Set the address of the service with --api-base or SERVICE_API_BASE. If a proxy removes the header, change its settings.',
      },
    )
  }
}

/** The error for a request that got no response, or only part of one. */
export const connectionLost = (baseUrl: string, error: unknown): UnreachableError =>
  unreachable(baseUrl, reasonOf(error), error)

const ADVICE: Readonly<Partial<Record<ErrorBody['error'], string>>> = {
  unauthorized: 'Sign in again: svc login',
  forbidden: 'Use a key with the required scope: svc login, or SERVICE_API_KEY.',
  not_found: 'Check the id and the address of the service.',
  internal_error: "See the service's log for details.",
  insufficient_storage: "Free disk space on the service's machine.",
}

export interface ConnectionSettings {
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  /** Where the key was read from, for the advice when it is refused. */
  readonly keySource?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Deadline for the complete response. 30 s by default. */
  readonly timeoutMs?: number | undefined
  /** Called with the service's warning about a request that it accepted anyway. */
  readonly warn?: ((warning: string) => void) | undefined
  /** Called before a wait for the service's rate limit; without it, a request over the limit fails. */
  readonly onWait?: ((seconds: number) => void) | undefined
  /** Called for a successful response without the service's request id, which another program may have sent. */
  readonly onUnidentified?: (() => void) | undefined
  /** Called for every request with its status and duration, but never with keys or bodies. */
  readonly trace?: ((line: string) => void) | undefined
}

type ApiResponse<Data> = Parameters<typeof unwrap<Data>>[0]

export interface Connection {
  readonly baseUrl: string
  readonly client: ApiClient
  /** Sends a request and returns the response's data. @throws Failure with the service's message and advice */
  request<Data>(send: (client: ApiClient) => ApiResponse<Data>): Promise<NonNullable<Data>>
}

/** Returns no advice if the message already says enough. */
const adviceFor = (code: ErrorBody['error'], message: string): string | undefined => {
  if (code === 'not_found' && !/does not exist|There is no/.test(message)) return undefined
  if (code === 'forbidden' && !/(lacks|needs the scope) [\w:' ]+\.$/.test(message)) return undefined
  return ADVICE[code]
}

export const toFailure = (
  error: ApiError,
  { baseUrl, keySource }: Pick<ConnectionSettings, 'baseUrl' | 'keySource'>,
): Failure => {
  if (error.code === null) return new Failure(`${baseUrl}: ${error.message}`, { cause: error })
  const where = error.code === 'unauthorized' && keySource !== undefined ? `The key came from ${keySource}. ` : ''
  const advice = adviceFor(error.code, error.message)
  return new Failure(error.message, { ...(advice !== undefined && { advice: where + advice }), cause: error })
}

export const connect = (settings: ConnectionSettings): Connection => {
  const { baseUrl, apiKey, signal, timeoutMs = TIMEOUT_MS, warn, onWait, onUnidentified, trace } = settings

  /** Reads the complete response, so that a connection lost midway is also reported here. */
  const fetchWhole = async (request: Request): Promise<Response> => {
    const began = performance.now()
    const stop = new AbortController()
    const giveUp = (): void => stop.abort(signal?.reason)
    signal?.addEventListener('abort', giveUp)
    const timer = setTimeout(() => stop.abort(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs)
    try {
      signal?.throwIfAborted()
      // Following a redirect could send the key to another host.
      const response = await fetch(request, { signal: stop.signal, redirect: 'error' })
      const { status, headers } = response
      const warning = headers.get('x-service-warning')
      if (warning !== null) warn?.(warning)
      const body = await withAbortableBody(response, stop.signal).arrayBuffer()
      const took = Math.round(performance.now() - began)
      trace?.(`${request.method} ${request.url} ${status}, ${body.byteLength} bytes, ${took} ms`)
      if (response.ok) requireOwnResponse(baseUrl, response, body)
      if (response.ok && !headers.has('x-request-id')) onUnidentified?.()
      return new Response(body.byteLength > 0 ? body : null, { status, headers })
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof UnreachableError ? error : connectionLost(baseUrl, error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Sends a request that was over the rate limit, and so had no effect, again when the service says. */
  const fetchWithinLimit = async (request: Request): Promise<Response> => {
    for (let waited = 0; ; ) {
      const response = await fetchWhole(request.clone())
      const seconds = Math.max(1, Number(response.headers.get('retry-after') ?? Number.NaN))
      waited += seconds
      if (onWait === undefined || response.status !== 429 || !(waited <= MAX_WAIT_SECONDS)) return response
      onWait(seconds)
      await sleep(seconds * 1000, undefined, { signal }).catch(() => signal?.throwIfAborted())
    }
  }

  const client = createClient({ baseUrl, apiKey, fetch: fetchWithinLimit })
  return {
    baseUrl,
    client,
    async request(send) {
      try {
        return await unwrap(send(client))
      } catch (error) {
        if (error instanceof SyntaxError) throw otherProgram(baseUrl)
        throw error instanceof ApiError ? toFailure(error, settings) : error
      }
    },
  }
}
