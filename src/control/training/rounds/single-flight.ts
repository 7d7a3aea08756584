import { LRUCache } from 'lru-cache'

/**
 * Remembers what never changes once it is there; with `ttlMs` no longer than that. However many ask for the same at once, one
 * looks; what is not there (null) or cannot be looked up is looked for again by the next.
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
