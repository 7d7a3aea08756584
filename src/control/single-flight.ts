import { LRUCache } from 'lru-cache'

/**
 * Caches values that never change once they exist; `ttlMs` limits how long. Concurrent lookups of one key share one request.
 * Misses (null) and errors are not cached.
 */
export const singleFlight = <Value>(remembered: number, ttlMs = 0) => {
  const known = new LRUCache<string, Promise<Value | null>>({ max: remembered, ttl: ttlMs })
  return (key: string, look: () => Promise<Value | null>): Promise<Value | null> => {
    const found = known.get(key)
    if (found !== undefined) return found
    const looking = look()
    known.set(key, looking)
    const forget = () => void known.delete(key)
    looking.then((value) => value === null && forget(), forget)
    return looking
  }
}
