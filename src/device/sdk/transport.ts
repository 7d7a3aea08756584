import { apiErrorOf, NetworkError } from './api-error.ts'
import { DEFAULT_POLICY, type RetryPolicy, retrying, type Surroundings } from './retry.ts'

export interface Call {
  /** For messages: "heartbeat". */
  readonly what: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Under the base address, starting with a slash. */
  readonly path: string
  readonly json?: unknown
  readonly form?: FormData
  readonly headers?: Record<string, string>
  /** One try may take so long. Default 30 s. */
  readonly timeoutMs?: number
  readonly policy?: Partial<RetryPolicy>
  readonly signal?: AbortSignal | undefined
}

export interface Transport {
  /** Sends until answered and returns the JSON of a 2xx answer; throws ApiError or NetworkError (see `retrying`). */
  json(call: Call): Promise<unknown>
  /** Sends once, whatever the answer; throws NetworkError when there is none. */
  once(call: Call, signal: AbortSignal): Promise<Response>
  readonly world: Surroundings
}

export interface TransportOptions {
  readonly baseUrl: string
  readonly fetch: typeof globalThis.fetch
  readonly bearer: () => string | null
  readonly world: Surroundings
}

/** fetch says only "fetch failed"; the reason is one or two causes down. */
const reasonOf = (error: unknown): string => {
  let current = error
  let reason = ''
  while (current instanceof Error) {
    const code = (current as { code?: unknown }).code
    reason = typeof code === 'string' ? code : current.message || reason
    current = current.cause
  }
  return reason || String(error)
}

/** Requests to one service, with the key added and every wait bounded. */
export const createTransport = ({ baseUrl, fetch, bearer, world }: TransportOptions): Transport => {
  const base = baseUrl.replace(/\/+$/, '')

  const noAnswer = (error: unknown): NetworkError =>
    new NetworkError(
      `No answer from ${base} (${reasonOf(error)}). Is the service running and the address right?`,
      error,
    )

  const once = async (call: Call, signal: AbortSignal): Promise<Response> => {
    const key = bearer()
    const headers: Record<string, string> = { accept: 'application/json', ...call.headers }
    if (key !== null) headers.authorization = `Bearer ${key}`
    if (call.json !== undefined) headers['content-type'] = 'application/json'
    const body = call.form ?? (call.json === undefined ? null : JSON.stringify(call.json))
    try {
      // A redirect would resend the key and the weights to somewhere nobody named.
      return await fetch(base + call.path, { method: call.method, headers, body, signal, redirect: 'error' })
    } catch (error) {
      throw noAnswer(error)
    }
  }

  const json = (call: Call): Promise<unknown> =>
    retrying(
      call.what,
      async () => {
        const timeoutMs = call.timeoutMs ?? 30_000
        const stop = new AbortController()
        const timer = setTimeout(() => stop.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
        try {
          const response = await once(call, call.signal ? AbortSignal.any([call.signal, stop.signal]) : stop.signal)
          const text = await response.text().catch((error: unknown) => {
            throw noAnswer(error)
          })
          const body = parseJson(text)
          if (!response.ok) throw apiErrorOf(response, body, world.now())
          if (body === undefined && text !== '') throw new NetworkError(`${base} answered something that is not JSON.`)
          return body
        } finally {
          clearTimeout(timer)
        }
      },
      world,
      { ...DEFAULT_POLICY, ...call.policy },
      call.signal,
    )

  return { json, once, world }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
