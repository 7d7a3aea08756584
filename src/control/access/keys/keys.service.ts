import { type Caller, holds, keyBehind, requireOwnOrg, SCOPES, type Scope, sees } from '../../../domain/access.ts'
import { badRequest, forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { SettingsService } from '../settings/settings.service.ts'
import { createAuthentication } from './authentication.service.ts'
import { FIRST_ADMIN_NAME, type KeyPage, keysStore } from './keys.store.ts'
import { createLoginKeys } from './login-keys.service.ts'
import { earliest, makerOf, mintWith, type NewKey, noteMade } from './minting.service.ts'
import { createRotation } from './rotation.service.ts'
import type { StoredKey } from './stored-key.store.ts'

export type { Approval } from './login-keys.service.ts'
export type { StoredKey } from './stored-key.store.ts'
export { KEY_KINDS, kindOf } from './stored-key.store.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const isOwn = (caller: Caller, key: StoredKey): boolean =>
  key.id === caller.keyId || (caller.personId !== undefined && key.personId === caller.personId)

export const createKeysService = (
  context: Context,
  { settings }: { readonly settings: Pick<SettingsService, 'of'> },
) => {
  const { database, now, log } = context
  const authentication = createAuthentication(context)
  const mint = mintWith(context)

  /** The latest time at which a new key of the organization may end; null for never. */
  const latestEnd = async (db: Executor, orgId: string | null): Promise<Date | null> => {
    const days = orgId === null ? null : (await settings.of(orgId, db)).keyLifetimeDays
    return days === null ? null : new Date(now().getTime() + days * DAY_MS)
  }

  /** Returns the key `id` if the caller may see it, and owns it or administers keys. @throws not_found, forbidden */
  const requireManaged = async (caller: Caller, id: string): Promise<StoredKey> => {
    const key = isUuid(id) ? await keysStore.find(database.sql, id) : null
    if (!holds(caller, 'admin') && (key === null || !isOwn(caller, key))) {
      throw forbidden("This key lacks the scope 'admin', so it can manage only itself. Use a key that has it.")
    }
    if (key === null || !sees(caller, key.orgId)) throw notFound('Key', id)
    return key
  }

  return {
    ...authentication,

    /** Creates a key for a device without storing it: registration writes it together with the device. */
    mintForDevice: (device: { readonly id: string; readonly name: string; readonly orgId: string | null }) =>
      mint({ name: device.name, scopes: ['self'], orgId: device.orgId, expiresAt: null }, { deviceId: device.id }),

    /** The part of the registration statement that stores the keys. */
    insertForDevices: keysStore.insertForDevices,

    ...createLoginKeys(context, { mint, latestEnd }),

    ...createRotation(context, { mint, latestEnd, requireManaged, forget: authentication.forget }),

    /**
     * Creates a service key, which stays when its creator leaves. Callers cannot grant more than they hold, or for another
     * organization. A key that expires cannot create one that lasts longer: `expiresAt` is then its own.
     */
    async create(caller: Caller, requested: NewKey): Promise<{ key: StoredKey; token: string }> {
      if (requested.name === FIRST_ADMIN_NAME) {
        throw badRequest(`name: '${FIRST_ADMIN_NAME}' is the name of the key that the service creates. Choose another.`)
      }
      const lacking = requested.scopes.find((scope) => !caller.grants.includes(scope))
      if (lacking !== undefined) throw forbidden(`This key does not hold ${lacking}, so it cannot grant it.`)
      if (requested.orgId !== null) requireOwnOrg(caller, requested.orgId)
      const ownKey = keyBehind(caller)
      const limit = ownKey === null ? null : ((await keysStore.find(database.sql, ownKey))?.expiresAt ?? null)
      const orgId = requested.orgId ?? caller.orgId
      const expiresAt = earliest(requested.expiresAt, limit, await latestEnd(database.sql, orgId))
      const key = { ...requested, orgId, expiresAt }
      const made = mint(key, { createdBy: makerOf(caller) })
      await database.transaction(async (tx) => {
        await keysStore.insert(tx, made.key)
        noteMade(made.key)
      })
      return made
    },

    /** The key that the caller used. */
    async own(caller: Caller): Promise<StoredKey> {
      const key = await keysStore.find(database.sql, caller.keyId)
      if (key === null) throw notFound('Key', caller.keyId)
      return key
    },

    /** Lists keys that the caller may see; without the scope admin, a person's own. @throws forbidden for others */
    async list(caller: Caller, page: KeyPage): Promise<StoredKey[]> {
      if (holds(caller, 'admin')) return keysStore.list(database.sql, caller.orgId, page)
      const { personId } = caller
      if (personId === undefined) {
        throw forbidden("This key lacks the scope 'admin'. Use a key that has it, or create one.")
      }
      return keysStore.list(database.sql, caller.orgId, { ...page, personId })
    },

    /** Warns about keys that violate the organization's rules. */
    async warningsOf(orgId: string): Promise<string[]> {
      const count = await keysStore.countExceeding(database.sql, orgId, now())
      if (count === 0) return []
      const which = count === 1 ? 'One key lasts' : `${count} keys last`
      return [`${which} longer than key_lifetime_days allows. See which with svc keys list, and rotate or revoke them.`]
    },

    /** Revokes a key and the login keys that it approved. Its replacements stay valid; returns their ids, except the caller's. */
    async revoke(caller: Caller, id: string): Promise<{ key: StoredKey; replacements: string[] }> {
      const key = await requireManaged(caller, id)
      const { ended, at } = await database.transaction(async (tx) => {
        await keysStore.lockChain(tx, key)
        const { revokedAt } = (await keysStore.find(tx, id)) ?? key
        const at = revokedAt ?? now()
        auditNote({ kind: 'key', ...key, before: { revokedAt }, after: { revokedAt: at }, onlyIfChanged: true })
        return { ended: await keysStore.revoke(tx, id, at), at }
      })
      authentication.forget(ended)
      const valid = await keysStore.validReplacements(database.sql, id, now())
      return { key: { ...key, revokedAt: at }, replacements: valid.filter((one) => one !== keyBehind(caller)) }
    },

    /** Revokes a person's keys; returns a function to call after the commit. */
    async revokeOfPerson(tx: Executor, personId: string): Promise<() => void> {
      const ended = await keysStore.revokeOfPerson(tx, personId, now())
      return () => authentication.forget(ended)
    },

    /** Has the keys of a person looked up again, because their role has changed. */
    async forgetPerson(personId: string): Promise<void> {
      authentication.forget(await keysStore.hashesOfPerson(database.sql, personId))
    },

    /** The rows of a device's keys; call `forget` once they are deleted. */
    async ofDevice(db: Executor, deviceId: string) {
      const found = await keysStore.ofDevice(db, deviceId)
      const forget = () => authentication.forget(found.map(({ hash }) => hash))
      return { ids: found.map(({ id }) => id), rows: keysStore.rowsOfDevice(deviceId), forget }
    },

    /**
     * Creates an admin key at the first start under token enrollment; null if there already is one. Warns of admin keys from
     * before, which anyone could make under open enrollment.
     */
    async ensureAdmin(): Promise<string | null> {
      const { key, token } = mint({
        name: FIRST_ADMIN_NAME,
        scopes: [...SCOPES] satisfies Scope[],
        orgId: null,
        expiresAt: null,
      })
      const earlier = await keysStore.countEarlierAdmins(database.sql, now())
      if (earlier > 0) {
        log.warn(
          { keys: earlier },
          'admin keys from before token enrollment are valid for all organizations: see svc keys list, and revoke those that you do not know',
        )
      }
      const inserted = await database.transaction((tx) => keysStore.insertFirstAdmin(tx, key))
      return inserted ? token : null
    },
  }
}

export type KeysService = ReturnType<typeof createKeysService>
