import type { Query, QueryClient } from '@tanstack/react-query'
import type { Models } from '../api/choices.ts'
import { MODEL_CHOICES, MODELS_PER_PAGE, PAGES, SESSION_PATH } from '../api/query-keys.ts'
import { mayRefetch } from '../api/rate-limit.ts'

/** How often changes fetch a list again, for each request that it takes. */
const LIST_EVERY_MS = 3000

/** How often polling fetches the models to choose from, which takes several requests. */
const POLL_CHOICES_MS = 60_000

/** Whether polling fetches a query's data again. */
export const isPolled = (query: Query): boolean => {
  const [beginning] = query.queryKey
  if (beginning === SESSION_PATH || !mayRefetch(query)) return false
  return beginning !== MODEL_CHOICES || query.isStaleByTime(POLL_CHOICES_MS)
}

/** The number of requests that a list takes, at least; 0 if it is not fetched in pages. */
const requestsOf = ({ queryKey, state }: Query): number => {
  if (queryKey[0] === MODEL_CHOICES)
    return Math.ceil(((state.data as Models | undefined)?.models.length ?? 0) / MODELS_PER_PAGE)
  return queryKey.at(-1) === PAGES ? 1 : 0
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
    const everyMs = LIST_EVERY_MS * requestsOf(query)
    const waitMs = query.state.dataUpdatedAt + everyMs - Date.now()
    // Longer if the clock was set back.
    if (waitMs > 0 && waitMs <= everyMs) await new Promise((resolve) => setTimeout(resolve, waitMs))
    waiting.delete(query)
    if (mayRefetch(query)) await client.invalidateQueries({ predicate: (one) => one === query })
  }
}
