import { createHash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  type Caller,
  DEFAULT_ORG,
  DEVICE_GRANTS,
  type EnrollmentMode,
  type Grant,
  SCOPES,
  type Scope,
  sees,
} from '../../../domain/access.ts'
import { composeKey, isWellFormedKey, SHOWN_CHARS } from '../../../domain/api-key.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { KeyPage, KeysStore, StoredKey } from './keys.store.ts'

export type { StoredKey } from './keys.store.ts'

const CACHED_KEYS = 200_000
/** A revocation in another process is seen after at most this long. */
const CACHED_MS = 5000

export interface NewKey {
  readonly name: string
  readonly scopes: readonly Grant[]
  readonly orgId: string | null
  readonly expiresAt: Date | null
}

interface Minted {
  readonly deviceId?: string
  /** The key that approved the login. */
  readonly approver?: StoredKey
}

export const createKeysService = (parts: {
  readonly database: Database
  readonly store: KeysStore
  readonly enrollment: EnrollmentMode
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, enrollment, now, newId } = parts
  const cache = new LRUCache<string, StoredKey>({
    maxSize: CACHED_KEYS,
    sizeCalculation: () => 1,
    ttl: CACHED_MS,
    // Whoever had a valid key a while ago is no guesser.
    noDeleteOnStaleGet: true,
    perf: { now: () => now().getTime() },
  })
  const uses = new Map<string, Date>()

  const lookUp = createBatcher<string, StoredKey | null>({
    maxBatch: 1000,
    run: async (hashes) => {
      const found = new Map((await store.findByHashes(database.sql, hashes)).map((key) => [key.hash, key]))
      return hashes.map((hash) => found.get(hash) ?? null)
    },
  })

  /** A device's key may do what the enrollment mode says today, whatever the mode was when it was made. */
  const grantsOf = (key: StoredKey): readonly Grant[] => {
    if (key.deviceId === null) return key.grants
    return enrollment === 'open' ? [...SCOPES, 'self'] : DEVICE_GRANTS
  }

  /** Under token enrollment a device's key is bound, also one that an older version left without an organization. */
  const orgOf = (key: StoredKey): string | null => {
    if (key.deviceId === null) return key.orgId
    return enrollment === 'open' ? null : (key.orgId ?? DEFAULT_ORG)
  }

  const mint = (key: NewKey & Minted): { key: StoredKey; token: string } => {
    const token = composeKey(randomBytes)
    return {
      token,
      key: {
        id: newId(),
        name: key.name,
        prefix: token.slice(0, SHOWN_CHARS),
        hash: hashOf(token),
        grants: key.scopes,
        orgId: key.orgId,
        deviceId: key.deviceId ?? null,
        createdAt: now(),
        expiresAt: key.expiresAt,
        revokedAt: null,
        lastUsedAt: null,
        approvedBy: key.approver?.id ?? null,
        rootId: key.approver === undefined ? null : (key.approver.rootId ?? key.approver.id),
      },
    }
  }

  const make = async (key: NewKey): Promise<{ key: StoredKey; token: string }> => {
    const made = mint(key)
    await store.insert(database.sql, made.key)
    return made
  }

  const isValid = (key: StoredKey): boolean =>
    key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now())

  const callerFor = (key: StoredKey): Caller => ({
    keyId: key.id,
    orgId: orgOf(key),
    deviceId: key.deviceId,
    deviceName: key.deviceId === null ? null : key.name,
    grants: grantsOf(key),
    homeOrgId: enrollment === 'open' ? null : DEFAULT_ORG,
    rateKeyId: key.rootId ?? key.id,
  })

  return {
    /** A key for a device, made but not yet stored: registration writes it together with the device. */
    mintForDevice: (device: { readonly id: string; readonly name: string; readonly orgId: string | null }) =>
      mint({ name: device.name, scopes: ['self'], orgId: device.orgId, expiresAt: null, deviceId: device.id }),

    /** The part of registration's statement that stores them. */
    insertForDevices: store.insertForDevices,

    make,

    /**
     * A key for a login that the key `approverId` has approved: of its organization, ending with it at the latest.
     * Null when the approver is not valid any more.
     */
    makeApproved: (approverId: string, key: Pick<NewKey, 'name' | 'scopes'>) =>
      database.transaction(async (tx) => {
        const found = await store.find(tx, approverId)
        if (found === null) return null
        await store.lockChain(tx, found)
        const approver = await store.find(tx, approverId)
        if (approver === null || !isValid(approver)) return null
        const scopes = key.scopes.filter((scope) => approver.grants.includes(scope))
        const made = mint({ name: key.name, scopes, orgId: approver.orgId, expiresAt: approver.expiresAt, approver })
        await store.insert(tx, made.key)
        return made
      }),

    /**
     * The caller behind a bearer token; null when it is malformed, unknown, revoked or expired. Calls `unfamiliar` before
     * the database is asked for a key that this process does not remember, and throws what that throws.
     */
    async authenticate(token: string, unfamiliar: () => void = () => undefined): Promise<Caller | null> {
      if (!isWellFormedKey(token)) return null
      const hash = hashOf(token)
      let key = cache.get(hash)
      if (key === undefined) {
        if (cache.peek(hash, { allowStale: true }) === undefined) unfamiliar()
        key = (await lookUp(hash)) ?? undefined
        if (key === undefined) return null
        cache.set(hash, key)
      }
      const at = now()
      if (!isValid(key)) return null
      uses.set(key.id, at)
      return callerFor(key)
    },

    /** The caller that the key `id` stands for; null when it is revoked, expired or gone. */
    async callerById(id: string): Promise<Caller | null> {
      const key = await store.find(database.sql, id)
      if (key === null || !isValid(key)) return null
      uses.set(key.id, now())
      return callerFor(key)
    },

    /**
     * A key for people and programs. Nobody hands out more than they hold, or for an organization not theirs; a key
     * that expires hands out none that lasts longer: `expiresAt` is then its own.
     */
    async create(caller: Caller, wanted: NewKey): Promise<{ key: StoredKey; token: string }> {
      const lacking = wanted.scopes.find((scope) => !caller.grants.includes(scope))
      if (lacking !== undefined) throw forbidden(`This key does not hold ${lacking}, so it cannot grant it.`)
      if (wanted.orgId !== null && !sees(caller, wanted.orgId)) {
        throw forbidden(`This key is bound to another organization than '${wanted.orgId}'.`)
      }
      const limit = (await store.find(database.sql, caller.keyId))?.expiresAt ?? null
      const outlives = limit !== null && (wanted.expiresAt === null || wanted.expiresAt > limit)
      return make({
        ...wanted,
        orgId: wanted.orgId ?? caller.orgId,
        expiresAt: outlives ? limit : wanted.expiresAt,
      })
    },

    /** The key that this caller used. */
    async own(caller: Caller): Promise<StoredKey> {
      const key = await store.find(database.sql, caller.keyId)
      if (key === null) throw notFound('Key', caller.keyId)
      return key
    },

    list: (caller: Caller, page: KeyPage): Promise<StoredKey[]> => store.list(database.sql, caller.orgId, page),

    /** Revokes a key, and with it those of logins that it approved. */
    async revoke(caller: Caller, id: string): Promise<StoredKey> {
      const key = isUuid(id) ? await store.find(database.sql, id) : null
      if (key === null || !sees(caller, key.orgId)) throw notFound('Key', id)
      const at = key.revokedAt ?? now()
      const ended = await database.transaction(async (tx) => {
        await store.lockChain(tx, key)
        return store.revoke(tx, id, at)
      })
      for (const hash of ended) cache.delete(hash)
      return { ...key, revokedAt: at }
    },

    /** Under token enrollment the first start makes an admin key; null when there is one already. */
    async ensureAdmin(): Promise<string | null> {
      const { key, token } = mint({
        name: 'first admin key',
        scopes: [...SCOPES] satisfies Scope[],
        orgId: null,
        expiresAt: null,
      })
      const inserted = await database.transaction((tx) => store.insertFirstAdmin(tx, key))
      return inserted ? token : null
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

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

export type KeysService = ReturnType<typeof createKeysService>
