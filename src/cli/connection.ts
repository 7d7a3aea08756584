import { type ApiClient, ApiError, createClient, type ErrorBody, unwrap } from '../client/client.ts'
import { withAbortableBody } from '../platform/transfer/abortable-body.ts'
import { throughProxy } from '../platform/transfer/proxy.ts'
import { reasonOf } from '../platform/transfer/transfer-error.ts'
import { Failure } from './failure.ts'

const TIMEOUT_MS = 30_000

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection lost',
  UND_ERR_SOCKET: 'connection lost',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'its name cannot be looked up',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'no network',
  ETIMEDOUT: 'no answer',
  UND_ERR_CONNECT_TIMEOUT: 'no answer',
}

/** The service did not answer. */
export class Unreachable extends Failure {}

export const unreachable = (baseUrl: string, reason: string, cause?: unknown): Unreachable => {
  const way = throughProxy(new URL(baseUrl))
  return new Unreachable(`Cannot reach ${baseUrl}${way} (${reason}).`, {
    advice:
      way === ''
        ? 'Is the service running? Start it with: svc up. Another address: --api-base or SERVICE_API_BASE.'
        : 'Check HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY to reach it directly.',
    cause,
  })
}

/** What answers is not the service, such as a website, or a network that asks to be signed in to. */
const otherProgram = (baseUrl: string, answers = 'data of another kind'): Unreachable =>
  new Unreachable(`${baseUrl} answers with ${answers}: it is not the service.`, {
    advice: 'Name the address of the service with --api-base or SERVICE_API_BASE.',
  })

/** @throws Unreachable where a success is of no type that the service would have sent */
export const requireType = (baseUrl: string, { headers }: Response, types: RegExp): void => {
  const type = headers.get('content-type') ?? ''
  if (!types.test(type)) throw otherProgram(baseUrl, type.startsWith('text/html') ? 'web pages' : undefined)
}

/** Of a request that got no answer, or not all of it. */
export const connectionLost = (baseUrl: string, error: unknown): Unreachable =>
  unreachable(baseUrl, reasonOf(error, REASONS), error)

const ADVICE: Readonly<Record<ErrorBody['error'], string | undefined>> = {
  bad_request: undefined,
  authorization_pending: undefined,
  slow_down: undefined,
  expired_token: undefined,
  access_denied: undefined,
  unauthorized: 'Sign in again: svc login',
  forbidden: 'Use a key with the required scope: svc login, or SERVICE_API_KEY.',
  not_found: 'Check the id and the address of the service.',
  conflict: undefined,
  expectation_failed: undefined,
  rate_limited: undefined,
  internal_error: "See the service's log for details.",
  upstream_failed: undefined,
  upstream_busy: undefined,
  unavailable: undefined,
  upstream_timeout: undefined,
  insufficient_storage: "Free disk space on the service's machine.",
}

export interface ConnectionSettings {
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  /** Where the key was read, for the advice when it is refused. */
  readonly keySource?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** A whole answer must have arrived by then. 30 s by default. */
  readonly timeoutMs?: number | undefined
  /** Told what the service says of a request that it accepted all the same. */
  readonly warn?: ((warning: string) => void) | undefined
  /** Told where an answer lacks the id that the service gives every request: what to say if its form is another, too. */
  readonly stranger?: ((failure: Unreachable) => void) | undefined
  /** Told of every request, with its status and how long it took; never of keys or bodies. */
  readonly trace?: ((line: string) => void) | undefined
}

type Answer<Data> = Parameters<typeof unwrap<Data>>[0]

export interface Connection {
  readonly baseUrl: string
  readonly client: ApiClient
  /** Sends and gives back the data of a success; a Failure, with the service's words and advice, otherwise. */
  ask<Data>(send: (client: ApiClient) => Answer<Data>): Promise<NonNullable<Data>>
}

/** Of what is there, and has no such part yet, or of what a message advises itself, the message says enough. */
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
  const { baseUrl, apiKey, signal, timeoutMs = TIMEOUT_MS, warn, stranger, trace } = settings

  /** Waits for the whole answer, so that a connection that breaks half-way is told here too. */
  const fetchWhole = async (request: Request): Promise<Response> => {
    const began = performance.now()
    const stop = new AbortController()
    const giveUp = (): void => stop.abort(signal?.reason)
    signal?.addEventListener('abort', giveUp)
    const timer = setTimeout(() => stop.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
    try {
      signal?.throwIfAborted()
      // A redirect would carry the key to somewhere nobody named.
      const response = await fetch(request, { signal: stop.signal, redirect: 'error' })
      const { status, headers } = response
      const warning = headers.get('x-service-warning')
      if (warning !== null) warn?.(warning)
      const body = await withAbortableBody(response, stop.signal).arrayBuffer()
      const took = Math.round(performance.now() - began)
      trace?.(`${request.method} ${request.url} ${status}, ${body.byteLength} bytes, ${took} ms`)
      if (response.ok && body.byteLength > 0) requireType(baseUrl, response, /^application\/json\b/)
      if (response.ok && !headers.has('x-request-id')) stranger?.(otherProgram(baseUrl))
      return new Response(body.byteLength > 0 ? body : null, { status, headers })
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof Unreachable ? error : connectionLost(baseUrl, error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
  }

  const client = createClient({ baseUrl, apiKey, fetch: fetchWhole })
  return {
    baseUrl,
    client,
    async ask(send) {
      try {
        return await unwrap(send(client))
      } catch (error) {
        if (error instanceof SyntaxError) throw otherProgram(baseUrl)
        throw error instanceof ApiError ? toFailure(error, settings) : error
      }
    },
  }
}
