import { type Caller, keyBehind } from '../../../domain/access.ts'
import { conflict, forbidden } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { effectiveGrants, isValid } from './authentication.service.ts'
import { keysStore } from './keys.store.ts'
import { earliest, type LatestEnd, type Mint, makerOf, noteMade } from './minting.service.ts'
import type { StoredKey } from './stored-key.store.ts'

const HOUR_MS = 60 * 60 * 1000

/** @throws forbidden if the new key would let the caller do more than before, conflict if the key cannot be rotated */
const requireRotatable = (caller: Caller, key: StoredKey): void => {
  if (key.deviceId !== null)
    throw conflict(
      "A device's key cannot be rotated. Revoke it, and register the device under another device_id, or under the same one after svc devices erase.",
    )
  if (key.personId !== null && key.personId !== caller.personId) {
    throw forbidden("This key is a person's own: only they can rotate it. You can revoke it.")
  }
  const lacking = effectiveGrants(key).find((grant) => !caller.grants.includes(grant))
  if (lacking !== undefined && key.id !== caller.keyId) {
    throw forbidden(`This key does not hold ${lacking}, so it cannot rotate one that does.`)
  }
}

/** Replaces keys, with an overlap. */
export const createRotation = (
  { database, now }: Context,
  {
    mint,
    latestEnd,
    requireManaged,
    forget,
  }: {
    readonly mint: Mint
    readonly latestEnd: LatestEnd
    /** Returns the key if the caller may manage it. */
    readonly requireManaged: (caller: Caller, id: string) => Promise<StoredKey>
    readonly forget: (hashes: readonly string[]) => void
  },
) => {
  /** A replacement for `key` with the same lifetime, which ends no later than the caller's key and the approver. */
  const replacementOf = async (tx: Executor, caller: Caller, key: StoredKey) => {
    const at = now().getTime()
    const lifetime = key.expiresAt && new Date(at + key.expiresAt.getTime() - key.createdAt.getTime())
    const ownKey = keyBehind(caller)
    const own = ownKey === null ? null : await keysStore.find(tx, ownKey)
    const approver = key.approvedBy === null ? null : await keysStore.find(tx, key.approvedBy)
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
     * Replaces a key by a new one with the same name, scopes, organization and lifetime. The old key, and the logins that it
     * approved, continue for `overlapHours`.
     * @throws conflict for a key that has ended, was already replaced, or is a device's; forbidden if the caller holds less
     * than it
     */
    async rotate(caller: Caller, id: string, overlapHours: number): Promise<{ key: StoredKey; token: string }> {
      const found = await requireManaged(caller, id)
      requireRotatable(caller, found)
      const { made, ended } = await database.transaction(async (tx) => {
        await keysStore.lockChain(tx, found)
        const key = await keysStore.find(tx, id)
        if (key === null || !isValid(key, now())) {
          throw conflict(`The key '${found.name}' is revoked or expired, so it cannot be rotated. Create another one.`)
        }
        if (key.replacedBy !== null)
          throw conflict(`The key '${key.name}' has already been replaced by ${key.replacedBy}.`)
        const made = await replacementOf(tx, caller, key)
        await keysStore.insert(tx, made.key)
        noteMade(made.key)
        return { made, ended: await keysStore.endAt(tx, id, new Date(now().getTime() + overlapHours * HOUR_MS)) }
      })
      forget(ended)
      return made
    },
  }
}
