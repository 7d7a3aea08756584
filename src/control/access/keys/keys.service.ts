import { randomBytes } from 'node:crypto'
import { type Caller, type EnrollmentMode, type Grant, SCOPES, type Scope, sees } from '../../../domain/access.ts'
import { composeKey, SHOWN_CHARS } from '../../../domain/api-key.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import { createAuthentication, hashOf, isValid } from './authentication.service.ts'
import type { KeyPage, KeysStore, StoredKey } from './keys.store.ts'

export type { StoredKey } from './keys.store.ts'

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
  const { database, store, now } = parts
  const authentication = createAuthentication(parts)
  const mint = mintWith(parts)

  const make = async (key: NewKey): Promise<{ key: StoredKey; token: string }> => {
    const made = mint(key)
    await database.transaction(async (tx) => {
      await store.insert(tx, made.key)
      noteMade(made.key)
    })
    return made
  }

  return {
    ...authentication,

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
        if (approver === null || !isValid(approver, now())) return null
        const scopes = key.scopes.filter((scope) => approver.grants.includes(scope))
        const made = mint({ name: key.name, scopes, orgId: approver.orgId, expiresAt: approver.expiresAt, approver })
        await store.insert(tx, made.key)
        noteMade(made.key)
        return made
      }),

    /**
     * A key for people and programs. Nobody hands out more than they hold, or for an organization not theirs; a key
     * that expires hands out none that lasts longer: `expiresAt` is then its own.
     */
    async create(caller: Caller, requested: NewKey): Promise<{ key: StoredKey; token: string }> {
      const lacking = requested.scopes.find((scope) => !caller.grants.includes(scope))
      if (lacking !== undefined) throw forbidden(`This key does not hold ${lacking}, so it cannot grant it.`)
      if (requested.orgId !== null && !sees(caller, requested.orgId)) {
        throw forbidden(`This key is bound to another organization than '${requested.orgId}'.`)
      }
      const limit = (await store.find(database.sql, caller.keyId))?.expiresAt ?? null
      const outlives = limit !== null && (requested.expiresAt === null || requested.expiresAt > limit)
      return make({
        ...requested,
        orgId: requested.orgId ?? caller.orgId,
        expiresAt: outlives ? limit : requested.expiresAt,
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
        auditNote({ kind: 'key', ...key, before: { revokedAt: key.revokedAt }, after: { revokedAt: at } })
        return store.revoke(tx, id, at)
      })
      authentication.forget(ended)
      return { ...key, revokedAt: at }
    },

    /** Revokes the keys of a person; returns what is to be done once that is committed. */
    async revokeOfPerson(tx: Executor, personId: string): Promise<() => void> {
      const ended = await store.revokeOfPerson(tx, personId, now())
      return () => authentication.forget(ended)
    },

    /** The keys of a person are looked up again: their role is another. */
    async forgetPerson(personId: string): Promise<void> {
      authentication.forget(await store.hashesOfPerson(database.sql, personId))
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
  }
}

const noteMade = ({ id, name, orgId, grants, expiresAt, approvedBy }: StoredKey): void =>
  auditNote({ kind: 'key', id, name, orgId, after: { scopes: grants, expiresAt, approvedBy } })

const mintWith =
  ({ now, newId }: { readonly now: () => Date; readonly newId: () => string }) =>
  (key: NewKey & Minted): { key: StoredKey; token: string } => {
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
        // What a person approves is theirs: it holds no more than their role has later.
        personId: key.approver?.personId ?? null,
        role: key.approver?.role ?? null,
      },
    }
  }

export type KeysService = ReturnType<typeof createKeysService>
