import { type ApiClient, createClient } from '../client/client.ts'
import { withAbortableBody } from '../platform/transfer/abortable-body.ts'
import { reasonOf } from '../platform/transfer/transfer-error.ts'
import { NetworkError, Refusal } from './api-error.ts'
import type { CallOptions } from './device.ts'
import { DEFAULT_POLICY, isPassing, type RetryPolicy, type Runtime, retrying } from './retry.ts'

/** What the typed client makes of one answer. */
interface Answer<Data> {
  readonly data?: Data | undefined
  readonly error?: unknown
  readonly response: Response
}

export interface CallLimits extends CallOptions {
  /** One try may take so long. Default 30 s. */
  readonly timeoutMs?: number
}

type Send<Data> = (api: ApiClient, signal: AbortSignal) => Promise<Answer<Data>>

export interface Transport {
  /** Sends until answered (see `retrying`); the data of a 2xx answer. `what` is for messages: "heartbeat". */
  call<Data>(what: string, send: Send<Data>, options: CallLimits): Promise<NonNullable<Data>>
  /** Sends once; throws Refusal for other answers than 2xx, NetworkError where there is none or it is not the service's. */
  once<Data>(send: Send<Data>, signal: AbortSignal): Promise<Answer<Data>>
  readonly runtime: Runtime
}

export interface TransportOptions {
  readonly baseUrl: string
  readonly fetch: typeof globalThis.fetch
  /** Of requests that ask for a stream, whether a redirect to an object store is followed. */
  readonly directDownloads: boolean
  readonly bearer: () => string | null
  readonly runtime: Runtime
}

const TOO_LARGE = 413
/** Answers that need no body: not modified, and no such range. */
const WITHOUT_BODY = new Set([304, 416])

const isFromService = ({ error, response: { status } }: Answer<unknown>): boolean =>
  typeof error === 'object' && error !== null && 'status_code' in error && error.status_code === status

/**
 * The error for an answer other than 2xx. A proxy or a hotspot that answers in the service's place says nothing about the
 * request: as if nobody had answered. Only that a body is too large for it would be so the next time too.
 */
const errorOf = (answer: Answer<unknown>, baseUrl: string, now: number): Refusal | NetworkError => {
  const { error, response } = answer
  if (isFromService(answer)) return new Refusal(response, error, now)
  if (response.status === TOO_LARGE) {
    const message = `A proxy in front of ${baseUrl} does not accept a request of this size (413). Raise its limit.`
    return new Refusal(response, { error: 'bad_request', message }, now)
  }
  const refusal = new Refusal(response, error, now)
  return isPassing(refusal) || WITHOUT_BODY.has(response.status) ? refusal : new NetworkError(refusal.message, refusal)
}

/** A heartbeat repeats the warning of the one before: each is told once, and not endlessly many. */
const MAX_WARNINGS = 100

export const policyOf = ({ until }: CallOptions, { now }: Runtime): RetryPolicy =>
  until === undefined ? DEFAULT_POLICY : { ...DEFAULT_POLICY, totalMs: Math.max(0, until - now()) }

/**
 * A download from where the service says the bytes are: the key does not travel there, the caller checks the hash. The
 * service sends them itself where that place cannot be reached from here.
 */
const direct = async (fetch: typeof globalThis.fetch, request: Request, signal: AbortSignal): Promise<Response> => {
  request.headers.set('prefer', 'redirect')
  const response = await fetch(request, { redirect: 'manual', signal })
  const location = response.headers.get('location')
  if (response.status !== 307 || location === null) return response
  await response.body?.cancel()
  const range = request.headers.get('range')
  try {
    const answer = await fetch(location, {
      headers: { 'accept-encoding': 'identity', ...(range === null ? {} : { range }) },
      redirect: 'error',
      signal,
    })
    if (answer.ok || answer.status === 416) return answer
    await answer.body?.cancel()
  } catch {
    signal.throwIfAborted()
  }
  request.headers.delete('prefer')
  return fetch(request, { redirect: 'error', signal })
}

/** Requests to one service, with the key added and every wait bounded. */
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
        // A redirect would resend the key and the weights to somewhere nobody named.
        const response =
          directDownloads && isDownload
            ? await direct(fetch, request, signal)
            : await fetch(request, { redirect: 'error', signal })
        showWarning(response.headers.get('x-service-warning'))
        return withAbortableBody(response, signal)
      },
    })

  const once: Transport['once'] = async (send, signal) => {
    let answer: Awaited<ReturnType<typeof send>>
    try {
      answer = await send(clientUntil(signal), signal)
    } catch (error) {
      const reason = reasonOf(signal.aborted ? signal.reason : error)
      const message = `No answer from ${baseUrl} (${reason}). Is the service running and the address right?`
      throw new NetworkError(message, error)
    }
    if (!answer.response.ok) throw errorOf(answer, baseUrl, runtime.now())
    return answer
  }

  const call: Transport['call'] = (what, send, options) => {
    const { timeoutMs = 30_000, signal } = options
    const attempt = async () => {
      const stop = new AbortController()
      const timer = setTimeout(() => stop.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
      try {
        const { data } = await once(send, signal ? AbortSignal.any([signal, stop.signal]) : stop.signal)
        if (data === undefined || data === null)
          throw new NetworkError(`${baseUrl} sent an empty response to the ${what}.`)
        return data
      } finally {
        clearTimeout(timer)
      }
    }
    return retrying(what, attempt, runtime, policyOf(options, runtime), signal)
  }

  return { call, once, runtime }
}
