import { ApiError } from '../client/client.ts'

/** The service answered, and the answer was no; with what its Retry-After header asked for. */
export class Refusal extends ApiError {
  readonly retryAfterMs: number | null

  /** `now` in milliseconds since the epoch. */
  constructor(response: Response, body: unknown, now: number) {
    super(response.status, body)
    this.retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), now)
  }
}

/** No whole answer arrived: refused, cut off, stalled, or not what was announced. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
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
