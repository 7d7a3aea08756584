import { ApiError } from '../client/client.ts'

/** A refusal by the service, with the wait requested in its Retry-After header. */
export class Refusal extends ApiError {
  readonly retryAfterMs: number | null

  /** `now` in milliseconds since the epoch. */
  constructor(response: Response, body: unknown, now: number) {
    super(response.status, body, response.headers)
    this.retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), now)
  }
}

/** No complete response arrived: refused, cut off, stalled, or different from what was announced. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
  }
}

/** Parses Retry-After as milliseconds from `now`: a number of seconds or an HTTP date. Null if absent or invalid. */
export const parseRetryAfter = (header: string | null, now: number): number | null => {
  if (header === null) return null
  const text = header.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
