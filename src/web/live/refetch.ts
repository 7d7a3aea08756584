import type { Query, QueryClient } from '@tanstack/react-query'
import { ApiError } from '../../client/client.ts'
import { PAGES } from '../api/query-keys.ts'

/** A list in pages takes several requests. */
const LIST_EVERY_MS = 3000

/** Refetched when the service allows it (`refetchEvery`). */
const isRateLimited = (error: unknown): boolean => error instanceof ApiError && error.code === 'rate_limited'

/**
 * Returns a function that fetches a query's data again after a change. A request under way may have been answered before the
 * change: it is repeated when it ends, and not canceled, or frequent changes would cancel it forever.
 */
export const createRefetch = (client: QueryClient) => {
  const waiting = new Set<Query>()
  return async (query: Query): Promise<void> => {
    if (waiting.has(query)) return
    waiting.add(query)
    await query.promise?.catch(() => undefined)
    const waitMs = query.queryKey.at(-1) === PAGES ? query.state.dataUpdatedAt + LIST_EVERY_MS - Date.now() : 0
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    waiting.delete(query)
    if (!isRateLimited(query.state.error)) await client.invalidateQueries({ predicate: (one) => one === query })
  }
}
