import type { Query, QueryClient } from '@tanstack/react-query'
import { MODEL_CHOICES, PAGES, SESSION_PATH } from '../api/query-keys.ts'
import { mayRefetch } from '../api/rate-limit.ts'

/** A list in pages takes several requests. */
const LIST_EVERY_MS = 3000

/** How often polling fetches the models to choose from, which takes several requests. */
const POLL_CHOICES_MS = 60_000

/** Whether polling fetches a query's data again. */
export const isPolled = (query: Query): boolean => {
  const [beginning] = query.queryKey
  if (beginning === SESSION_PATH || !mayRefetch(query)) return false
  return beginning !== MODEL_CHOICES || query.isStaleByTime(POLL_CHOICES_MS)
}

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
    // Longer if the clock was set back.
    if (waitMs > 0 && waitMs <= LIST_EVERY_MS) await new Promise((resolve) => setTimeout(resolve, waitMs))
    waiting.delete(query)
    if (mayRefetch(query)) await client.invalidateQueries({ predicate: (one) => one === query })
  }
}
