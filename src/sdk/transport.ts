import { type ApiClient, createClient } from '../client/client.ts'
import { abortWith } from '../domain/any-signal.ts'
import { certificateAdvice } from '../domain/certificate-advice.ts'
import { ServiceError } from '../domain/errors.ts'
import { withAbortableBody } from '../platform/transfer/abortable-body.ts'
import { reasonOf } from '../platform/transfer/transfer-error.ts'
import { NetworkError, Refusal } from './api-error.ts'
import type { CallOptions } from './device.ts'
import { DEFAULT_POLICY, isTransient, type RetryPolicy, type Runtime, retrying } from './retry.ts'

/** The typed client's representation of a response. */
interface ApiResponse<Data> {
  readonly data?: Data | undefined
  readonly error?: unknown
  readonly response: Response
}

export interface CallLimits extends CallOptions {
  /** The maximum time per attempt. Default 30 s. */
  readonly timeoutMs?: number
}

/** What a call sends, for messages ("heartbeat"), and a field that every response of the service to it has. */
type Call<Data> = readonly [what: string, field: keyof NonNullable<Data> & string]

type Send<Data> = (api: ApiClient, signal: AbortSignal) => Promise<ApiResponse<Data>>

export interface Transport {
  /** Sends until there is a response (see `retrying`); returns the data of a 2xx one. One without the field is none. */
  call<Data>(call: Call<Data>, send: Send<Data>, options: CallLimits): Promise<NonNullable<Data>>
  /** Sends once; throws Refusal for responses other than 2xx, NetworkError if there is none or it is not from the service. */
  once<Data>(send: Send<Data>, signal: AbortSignal): Promise<ApiResponse<Data>>
  readonly runtime: Runtime
}

export interface TransportOptions {
  readonly baseUrl: string
  readonly fetch: typeof globalThis.fetch
  /** Whether downloads may be redirected to an object store. */
  readonly directDownloads: boolean
  readonly bearer: () => string | null
  readonly runtime: Runtime
}

const TOO_LARGE = 413
/** Responses that need no body: not modified, and range not satisfiable. */
const WITHOUT_BODY = new Set([304, 416])

const isFromService = ({ error, response: { status } }: ApiResponse<unknown>): boolean =>
  typeof error === 'object' && error !== null && 'status_code' in error && error.status_code === status

/**
 * Returns the error for a response other than 2xx. A response from a proxy or a hotspot says nothing about the request, so it
 * counts as no response. The exception is 413: a body too large for a proxy would be refused again.
 */
const errorOf = (received: ApiResponse<unknown>, baseUrl: string, now: number): Refusal | NetworkError => {
  const { error, response } = received
  if (isFromService(received)) return new Refusal(response, error, now)
  if (response.status === TOO_LARGE) {
    const message = `A proxy in front of ${baseUrl} does not accept a request of this size (413). Raise its limit.`
    return new Refusal(response, { error: 'bad_request', message }, now)
  }
  const refusal = new Refusal(response, error, now)
  return isTransient(refusal) || WITHOUT_BODY.has(response.status)
    ? refusal
    : new NetworkError(refusal.message, refusal)
}

/** Heartbeats repeat warnings: each is logged once, up to this many. */
const MAX_WARNINGS = 100

export const policyOf = ({ until }: CallOptions, { now }: Runtime): RetryPolicy =>
  until === undefined ? DEFAULT_POLICY : { ...DEFAULT_POLICY, totalMs: Math.max(0, until - now()) }

/**
 * Downloads from the address that the service names. The key is not sent there, and the caller verifies the hash. If that
 * address cannot be reached from here, the service sends the bytes itself.
 */
const direct = async (fetch: typeof globalThis.fetch, request: Request, signal: AbortSignal): Promise<Response> => {
  request.headers.set('prefer', 'redirect')
  const response = await fetch(request, { redirect: 'manual', signal })
  const location = response.headers.get('location')
  if (response.status !== 307 || location === null) return response
  await response.body?.cancel()
  const range = request.headers.get('range')
  try {
    const received = await fetch(location, {
      headers: { 'accept-encoding': 'identity', ...(range === null ? {} : { range }) },
      redirect: 'error',
      signal,
    })
    if (received.ok || received.status === 416) return received
    await received.body?.cancel()
  } catch {
    signal.throwIfAborted()
  }
  request.headers.delete('prefer')
  return fetch(request, { redirect: 'error', signal })
}

/** The address of the page that this runs in, also in its workers; undefined elsewhere. */
export const pageLocation = (): { readonly href: string; readonly origin: string } | undefined =>
  (globalThis as { readonly location?: { readonly href: string; readonly origin: string } }).location

/**
 * Returns what to check if no response arrived. Browsers do not say when the service does not allow a page's origin, which has
 * the name null, and cannot be allowed, if the page is a file.
 */
const adviceOf = (reason: string, baseUrl: string): string => {
  const known = certificateAdvice(reason)
  if (known !== null) return known
  const page = pageLocation()
  return page === undefined || page.origin === 'null' || new URL(baseUrl, page.href).origin === page.origin
    ? 'Is the service running and the address right?'
    : `Is the service running, the address right, and ${page.origin} in its SERVICE_CORS_ORIGINS?`
}

/** Sends requests to one service, adds the key, and limits every wait. */
export const createTransport = ({ baseUrl, fetch, directDownloads, bearer, runtime }: TransportOptions): Transport => {
  const shown = new Set<string>()
  const showWarning = (warning: string | null): void => {
    if (warning === null || shown.has(warning) || shown.size >= MAX_WARNINGS) return
    shown.add(warning)
    runtime.log(`The service warns: ${warning}`)
  }
  const clientUntil = (signal: AbortSignal): ApiClient =>
    createClient({
      baseUrl,
      fetch: async (request) => {
        const key = bearer()
        if (key !== null) request.headers.set('authorization', `Bearer ${key}`)
        const isDownload = request.method === 'GET' && /\/(download|model|control)$/.test(new URL(request.url).pathname)
        // Following a redirect would send the key and the weights to an unknown address.
        const response =
          directDownloads && isDownload
            ? await direct(fetch, request, signal)
            : await fetch(request, { redirect: 'error', signal })
        showWarning(response.headers.get('x-service-warning'))
        return withAbortableBody(response, signal)
      },
    })

  const once: Transport['once'] = async (send, signal) => {
    let response: Awaited<ReturnType<typeof send>>
    try {
      response = await send(clientUntil(signal), signal)
    } catch (error) {
      if (error instanceof ServiceError) throw error
      if (error instanceof SyntaxError)
        throw new NetworkError(
          `${baseUrl} did not respond with JSON: it is not the service. Is the address right?`,
          error,
        )
      const reason = reasonOf(signal.aborted ? signal.reason : error)
      throw new NetworkError(`No response from ${baseUrl} (${reason}). ${adviceOf(reason, baseUrl)}`, error)
    }
    if (!response.response.ok) throw errorOf(response, baseUrl, runtime.now())
    return response
  }

  const call: Transport['call'] = ([what, field], send, options) => {
    const { timeoutMs = 30_000, signal } = options
    const attempt = async () => {
      const stop = new AbortController()
      const timer = setTimeout(() => stop.abort(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs)
      // The signal of an agent lasts for millions of calls.
      const unfollow = signal === undefined ? undefined : abortWith(signal, stop)
      try {
        const { data } = await once(send, stop.signal)
        if (data === undefined || data === null)
          throw new NetworkError(`${baseUrl} sent an empty response to the ${what}.`)
        if (data[field] === undefined)
          throw new NetworkError(`${baseUrl} responded to the ${what} without '${field}': it is not the service.`)
        return data
      } finally {
        clearTimeout(timer)
        unfollow?.()
      }
    }
    return retrying(what, attempt, runtime, policyOf(options, runtime), signal)
  }

  return { call, once, runtime }
}
