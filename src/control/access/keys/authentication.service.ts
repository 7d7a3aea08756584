import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  type Caller,
  DEFAULT_ORG,
  DEVICE_GRANTS,
  type EnrollmentMode,
  type Grant,
  SCOPES,
} from '../../../domain/access.ts'
import { isWellFormedKey } from '../../../domain/api-key.ts'
import { ROLE_SCOPES } from '../../../domain/roles.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { KeysStore } from './keys.store.ts'
import type { StoredKey } from './stored-key.store.ts'

const CACHED_KEYS = 200_000
/** Another process announces a revocation at once; if that hint is lost, it is seen after this long. */
const CACHED_MS = 5000

export const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

export const isValid = (key: StoredKey, at: Date): boolean =>
  key.revokedAt === null &&
  (key.expiresAt === null || key.expiresAt > at) &&
  (key.personId === null || key.role !== null)

/** What the key may do now: a person's own no more than their role. */
export const effectiveGrants = (key: StoredKey): readonly Grant[] =>
  key.role === null ? key.grants : ROLE_SCOPES[key.role].filter((scope) => key.grants.includes(scope))

/** Finds the caller of a key. Keys are looked up many at a time and cached for seconds; their uses are written at intervals. */
export const createAuthentication = (parts: {
  readonly database: Database
  readonly store: KeysStore
  readonly enrollment: EnrollmentMode
  readonly now: () => Date
}) => {
  const { database, store, enrollment, now } = parts
  const cache = new LRUCache<string, StoredKey>({
    maxSize: CACHED_KEYS,
    sizeCalculation: () => 1,
    ttl: CACHED_MS,
    // A caller that recently had a valid key is not guessing keys.
    noDeleteOnStaleGet: true,
    perf: { now: () => now().getTime() },
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
      const found = new Map((await store.findByHashes(database.sql, hashes)).map((key) => [key.hash, key]))
      return hashes.map((hash) => found.get(hash) ?? null)
    },
  })

  /** A device's key may do what the enrollment mode says today, whatever the mode was when it was made. */
  const grantsOf = (key: StoredKey): readonly Grant[] => {
    if (key.deviceId === null) return effectiveGrants(key)
    return enrollment === 'open' ? [...SCOPES, 'self'] : DEVICE_GRANTS
  }

  /** Under token enrollment a device's key is bound, also one that an older version left without an organization. */
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

  return {
    /**
     * The caller behind a bearer token; null when it is malformed, unknown, revoked or expired. Calls `onCacheMiss` before
     * it looks up a key that is not in this process's cache, not even expired; an error thrown there ends the lookup.
     */
    async authenticate(token: string, onCacheMiss: () => void = () => undefined): Promise<Caller | null> {
      if (!isWellFormedKey(token)) return null
      const hash = hashOf(token)
      let key = cache.get(hash)
      if (key === undefined) {
        if (cache.peek(hash, { allowStale: true }) === undefined) onCacheMiss()
        const before = forgotten
        key = (await lookUp(hash)) ?? undefined
        if (key === undefined) return null
        // Else it may have been read before it was revoked.
        if (forgotten === before) cache.set(hash, key)
      }
      const at = now()
      if (!isValid(key, at)) return null
      uses.set(key.id, at)
      return callerFor(key)
    },

    /** The caller that the key `id` stands for; null when it is revoked, expired or gone. */
    async callerById(id: string, db: Executor = database.sql): Promise<Caller | null> {
      const key = await store.find(db, id)
      if (key === null || !isValid(key, now())) return null
      uses.set(key.id, now())
      return callerFor(key)
    },

    /** Keys of these hashes are looked up again, in all processes. */
    forget(hashes: readonly string[]): void {
      if (hashes.length > 0) database.hints.send('keys', hashes)
    },

    /** Writes when keys were last used: once in a while, not once a request. */
    async flushUses(): Promise<void> {
      if (uses.size === 0) return
      const flushed = [...uses].map(([id, at]) => ({ id, at }))
      uses.clear()
      await store.markUsed(database.sql, flushed)
    },
  }
}
