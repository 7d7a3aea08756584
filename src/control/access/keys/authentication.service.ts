import { LRUCache } from 'lru-cache'
import { type Caller, DEFAULT_ORG, DEVICE_GRANTS, type Grant, SCOPES } from '../../../domain/access.ts'
import { isWellFormedKey } from '../../../domain/api-key.ts'
import { ROLE_SCOPES } from '../../../domain/roles.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { steadyClock } from '../../../platform/steady-clock.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import type { Context } from '../../context.ts'
import { keysStore } from './keys.store.ts'
import type { StoredKey } from './stored-key.store.ts'

const CACHED_KEYS = 200_000
/** Another process announces a revocation at once; if that hint is lost, the revocation takes effect after this time. */
const CACHED_MS = 5000

export const isValid = (key: StoredKey, at: Date): boolean =>
  key.revokedAt === null &&
  (key.expiresAt === null || key.expiresAt > at) &&
  (key.personId === null || key.role !== null)

/** What the key may do now: for a person's key, no more than their role. */
export const effectiveGrants = (key: StoredKey): readonly Grant[] =>
  key.role === null ? key.grants : ROLE_SCOPES[key.role].filter((scope) => key.grants.includes(scope))

/** Authenticates keys. Looks up many keys at a time, caches them for seconds, and writes their uses at intervals. */
export const createAuthentication = ({ database, now, config: { enrollment } }: Context) => {
  const cache = new LRUCache<string, StoredKey>({
    maxSize: CACHED_KEYS,
    sizeCalculation: () => 1,
    ttl: CACHED_MS,
    // Keeps expired keys, because a caller that recently had a valid key is not guessing keys.
    noDeleteOnStaleGet: true,
    perf: { now: steadyClock(now) },
  })
  const uses = new Map<string, Date>()
  let forgotten = 0
  database.hints.listen('keys', (hashes) => {
    forgotten++
    for (const hash of hashes) cache.delete(hash)
  })

  const lookUp = createBatcher<string, StoredKey | null>({
    maxBatch: 1000,
    run: async (hashes) => {
      const found = new Map((await keysStore.findByHashes(database.sql, hashes)).map((key) => [key.hash, key]))
      return hashes.map((hash) => found.get(hash) ?? null)
    },
  })

  /** A device's key has the permissions of the current enrollment mode, whatever the mode was when it was created. */
  const grantsOf = (key: StoredKey): readonly Grant[] => {
    if (key.deviceId === null) return effectiveGrants(key)
    return enrollment === 'open' ? [...SCOPES, 'self'] : DEVICE_GRANTS
  }

  /** Under token enrollment a device's key is bound, even if an older version left it without an organization. */
  const orgOf = (key: StoredKey): string | null => {
    if (key.deviceId === null) return key.orgId
    return enrollment === 'open' ? null : (key.orgId ?? DEFAULT_ORG)
  }

  const callerFor = (key: StoredKey): Caller => ({
    keyId: key.id,
    orgId: orgOf(key),
    deviceId: key.deviceId,
    deviceName: key.deviceId === null ? null : key.name,
    grants: grantsOf(key),
    homeOrgId: enrollment === 'open' ? null : DEFAULT_ORG,
    rateKeyId: key.rootId ?? key.id,
    ...(key.personId !== null && { personId: key.personId }),
  })

  const lookUpById = createBatcher<string, StoredKey | null>({
    maxBatch: 1000,
    run: async (ids) => {
      const keys = await keysStore.findByIds(database.sql, [...new Set(ids)])
      const found = new Map(keys.map((key) => [key.id, key]))
      return ids.map((id) => found.get(id) ?? null)
    },
  })

  const callerById = async (id: string, tx?: Executor): Promise<Caller | null> => {
    const key = await (tx === undefined ? lookUpById(id) : keysStore.find(tx, id))
    if (key === null || !isValid(key, now())) return null
    uses.set(key.id, now())
    return callerFor(key)
  }

  return {
    /**
     * Returns the caller of a bearer token; null if it is malformed, unknown, revoked or expired. Calls `onCacheMiss` before
     * looking up a key that this process's cache does not contain, not even expired; an error thrown there ends the lookup.
     */
    async authenticate(token: string, onCacheMiss: () => void = () => undefined): Promise<Caller | null> {
      if (!isWellFormedKey(token)) return null
      const hash = tokenHash(token)
      let key = cache.get(hash)
      if (key === undefined) {
        if (cache.peek(hash, { allowStale: true }) === undefined) onCacheMiss()
        const before = forgotten
        key = (await lookUp(hash)) ?? undefined
        if (key === undefined) return null
        // Otherwise the key may have been read before it was revoked.
        if (forgotten === before) cache.set(hash, key)
      }
      const at = now()
      if (!isValid(key, at)) return null
      uses.set(key.id, at)
      return callerFor(key)
    },

    /** The caller of the key `id`, read in `tx` if it is given; null if it is revoked, expired or gone. */
    callerById,

    /** The same for the key that was last rotated into its place, or for itself if it was not rotated. */
    newestCallerOf: async (id: string): Promise<Caller | null> =>
      callerById(await keysStore.newestInPlaceOf(database.sql, id)),

    /** Makes all processes look up the keys with these hashes again, and check whether open event streams may continue. */
    forget: (hashes: readonly string[]): void => database.hints.send('keys', hashes),

    /** Writes when keys were last used: at intervals, not on each request. */
    async flushUses(): Promise<void> {
      if (uses.size === 0) return
      const flushed = [...uses].map(([id, at]) => ({ id, at }))
      uses.clear()
      await keysStore.markUsed(database.sql, flushed)
    },
  }
}
