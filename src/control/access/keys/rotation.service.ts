import type { Caller } from '../../../domain/access.ts'
import { conflict, forbidden } from '../../../domain/errors.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { effectiveGrants, isValid } from './authentication.service.ts'
import type { KeysStore } from './keys.store.ts'
import { earliest, type LatestEnd, type Mint, makerOf, noteMade } from './minting.service.ts'
import type { StoredKey } from './stored-key.store.ts'

const HOUR_MS = 60 * 60 * 1000

/** @throws forbidden where the caller would hold more by the new key than before, conflict where there is none to be had */
const requireRotatable = (caller: Caller, key: StoredKey): void => {
  if (key.deviceId !== null)
    throw conflict("A device's key cannot be rotated. Revoke it, and register the device again.")
  if (key.personId !== null && key.personId !== caller.personId) {
    throw forbidden("This key is a person's own: only they can rotate it. You can revoke it.")
  }
  const lacking = effectiveGrants(key).find((grant) => !caller.grants.includes(grant))
  if (lacking !== undefined && key.id !== caller.keyId) {
    throw forbidden(`This key does not hold ${lacking}, so it cannot rotate one that does.`)
  }
}

/** Replaces keys, with an overlap. */
export const createRotation = (parts: {
  readonly database: Database
  readonly store: KeysStore
  readonly mint: Mint
  readonly latestEnd: LatestEnd
  /** The key that the caller may manage. */
  readonly requireManaged: (caller: Caller, id: string) => Promise<StoredKey>
  readonly forget: (hashes: readonly string[]) => void
  readonly now: () => Date
}) => {
  const { database, store, mint, latestEnd, requireManaged, forget, now } = parts

  /** A key in the place of `key`, of the same length, that ends with the key that asks for it and with its approver at the latest. */
  const replacementOf = async (tx: Executor, caller: Caller, key: StoredKey) => {
    const at = now().getTime()
    const lifetime = key.expiresAt && new Date(at + key.expiresAt.getTime() - key.createdAt.getTime())
    const own = await store.find(tx, caller.keyId)
    const approver = key.approvedBy === null ? null : await store.find(tx, key.approvedBy)
    return mint(
      {
        name: key.name,
        scopes: key.grants,
        orgId: key.orgId,
        expiresAt: earliest(
          lifetime,
          own?.expiresAt ?? null,
          approver?.expiresAt ?? null,
          await latestEnd(tx, key.orgId),
        ),
      },
      {
        approvedBy: key.approvedBy,
        rootId: key.rootId ?? key.id,
        personId: key.personId,
        createdBy: makerOf(caller),
        replaces: key.id,
      },
    )
  }

  return {
    /**
     * A new key in the place of one that goes on for `overlapHours`, as do the logins that it approved: same name, scopes,
     * organization and length.
     * @throws conflict for a key that has ended or was replaced already, or is a device's; forbidden where the caller
     * holds less than it
     */
    async rotate(caller: Caller, id: string, overlapHours: number): Promise<{ key: StoredKey; token: string }> {
      const found = await requireManaged(caller, id)
      requireRotatable(caller, found)
      const { made, ended } = await database.transaction(async (tx) => {
        await store.lockChain(tx, found)
        const key = await store.find(tx, id)
        if (key === null || !isValid(key, now())) {
          throw conflict(`The key '${found.name}' is revoked or expired, so it cannot be rotated. Create another one.`)
        }
        if (key.replacedBy !== null)
          throw conflict(`The key '${key.name}' has already been replaced by ${key.replacedBy}.`)
        const made = await replacementOf(tx, caller, key)
        await store.insert(tx, made.key)
        noteMade(made.key)
        return { made, ended: await store.endAt(tx, id, new Date(now().getTime() + overlapHours * HOUR_MS)) }
      })
      forget(ended)
      return made
    },
  }
}
