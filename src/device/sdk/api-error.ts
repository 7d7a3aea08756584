/** The service answered, and the answer was no. Carries its error body (interface section 7). */
export class ApiError extends Error {
  readonly status: number
  /** Machine code: bad_request, unauthorized, forbidden, not_found, conflict, rate_limited or internal_error. */
  readonly code: string
  /** What the Retry-After header asked for. */
  readonly retryAfterMs: number | null

  constructor(status: number, code: string, message: string, retryAfterMs: number | null = null) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

/** No whole answer arrived: refused, cut off, stalled, or not what was announced. */
export class NetworkError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'NetworkError'
  }
}

/** Retry-After as milliseconds from `now`: a number of seconds or an HTTP date. Null when absent or unreadable. */
export const parseRetryAfter = (header: string | null, now: number): number | null => {
  if (header === null) return null
  const text = header.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

const field = (body: unknown, name: string): string | null => {
  if (typeof body !== 'object' || body === null) return null
  const value = (body as Record<string, unknown>)[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** The error of an answer that is not 2xx; a body that is not ours (a proxy's page) still gives a readable message. */
export const apiErrorOf = (response: Response, body: unknown, now: number): ApiError =>
  new ApiError(
    response.status,
    field(body, 'error') ?? `http_${response.status}`,
    field(body, 'message') ?? `The service answered ${response.status} ${response.statusText}`.trim(),
    parseRetryAfter(response.headers.get('retry-after'), now),
  )
