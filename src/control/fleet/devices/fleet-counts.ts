import { LRUCache } from 'lru-cache'
import { steadyClock } from '../../../platform/steady-clock.ts'

/** Counting fewer devices than this takes milliseconds, and is done each time. */
const LARGE = 50_000
const FRESH_MS = 10_000
const USABLE_MS = 60_000
const MAX_QUESTIONS = 1000

/**
 * Counts by reading all devices of an organization (null: of all). Caches counts of a large fleet: for ten seconds as they
 * are, and for a minute while a newer one is made in the background.
 */
export const rememberLargeFleets = <Count extends { readonly total: number }>(
  count: (orgId: string | null) => Promise<Count>,
  now: () => Date,
): ((orgId: string | null) => Promise<Count>) =>
  rememberCounts({ count, keyOf: (orgId) => orgId ?? '', read: ({ total }) => total, now })

/** Like `rememberLargeFleets`, for any query; `read` returns how many devices were read for a result. */
export const rememberCounts = <Question, Count>(parts: {
  readonly count: (question: Question) => Promise<Count>
  readonly keyOf: (question: Question) => string
  readonly read: (count: Count) => number
  readonly now: () => Date
}): ((question: Question) => Promise<Count>) => {
  const { count, keyOf, read } = parts
  const clock = steadyClock(parts.now)
  const known = new LRUCache<string, { readonly count: Count; readonly at: number }>({ max: MAX_QUESTIONS })
  const counting = new Map<string, Promise<Count>>()

  const remember = (key: string, at: number, result: Count): Count => {
    if (read(result) >= LARGE) known.set(key, { count: result, at })
    else known.delete(key)
    return result
  }

  const countAnew = (question: Question, key: string): Promise<Count> => {
    const running = counting.get(key)
    if (running !== undefined) return running
    const at = clock()
    const made = count(question)
      .then((result) => remember(key, at, result))
      .finally(() => counting.delete(key))
    counting.set(key, made)
    return made
  }

  return async (question) => {
    const key = keyOf(question)
    const found = known.get(key)
    // Counts of a small fleet are neither cached nor shared: each call sees what was registered before it.
    if (found === undefined) return remember(key, clock(), await count(question))
    const age = clock() - found.at
    if (age < FRESH_MS) return found.count
    const newer = countAnew(question, key)
    if (age >= USABLE_MS) return newer
    newer.catch(() => undefined)
    return found.count
  }
}
