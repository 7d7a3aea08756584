import type { Query } from '@tanstack/react-query'
import { ApiError } from '../../client/client.ts'

const DEFAULT_MS = 10_000

/** How long the service, or a proxy in front of it, asks to wait after a request that exceeded a rate limit; null for other errors. */
export const rateLimitMs = (error: Error | null): number | null =>
  error instanceof ApiError && error.status === 429 ? 1000 * (error.retryAfterSeconds ?? 0) || DEFAULT_MS : null

/** False while a query must wait because it exceeded a rate limit; it is then repeated by `refetchEvery`. */
export const mayRefetch = ({ state: { error, errorUpdatedAt } }: Pick<Query, 'state'>): boolean => {
  const waitMs = rateLimitMs(error)
  return waitMs === null || Date.now() >= errorUpdatedAt + waitMs
}
