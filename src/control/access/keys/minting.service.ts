import { randomBytes } from 'node:crypto'
import { actorOf, type Caller, type Grant } from '../../../domain/access.ts'
import { composeKey, SHOWN_CHARS } from '../../../domain/api-key.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import { auditNote } from '../../audit-note.ts'
import type { StoredKey } from './stored-key.store.ts'

export interface NewKey {
  readonly name: string
  readonly scopes: readonly Grant[]
  readonly orgId: string | null
  readonly expiresAt: Date | null
}

/** Where a key comes from. */
type Origin = Partial<Pick<StoredKey, 'deviceId' | 'approvedBy' | 'rootId' | 'personId' | 'createdBy' | 'replaces'>>

/** The person or key that creates a key; null for a session that needed neither, under open enrollment. */
export const makerOf = (caller: Caller): string | null =>
  caller.personId === undefined && caller.keyId === caller.sessionId ? null : actorOf(caller)

/** Null means never. */
export const earliest = (...dates: readonly (Date | null)[]): Date | null =>
  dates.reduce((first, date) => (first === null || (date !== null && date < first) ? date : first), null)

/** Creates a key and its secret without storing it. */
export const mintWith =
  ({ now, newId }: { readonly now: () => Date; readonly newId: () => string }) =>
  (key: NewKey, origin: Origin = {}): { key: StoredKey; token: string } => {
    const token = composeKey(randomBytes)
    return {
      token,
      key: {
        id: newId(),
        name: key.name,
        prefix: token.slice(0, SHOWN_CHARS),
        hash: tokenHash(token),
        grants: key.scopes,
        orgId: key.orgId,
        deviceId: null,
        createdAt: now(),
        expiresAt: key.expiresAt,
        revokedAt: null,
        lastUsedAt: null,
        approvedBy: null,
        rootId: null,
        personId: null,
        role: null,
        createdBy: null,
        replaces: null,
        replacedBy: null,
        exceedsLifetime: false,
        ...origin,
      },
    }
  }

/** Adds a new key to the audit log. */
export const noteMade = ({ id, name, orgId, grants, expiresAt, approvedBy, personId, replaces }: StoredKey): void =>
  auditNote({ kind: 'key', id, name, orgId, after: { scopes: grants, expiresAt, approvedBy, personId, replaces } })

/** The latest time at which a new key of an organization may end; null for never. */
export type LatestEnd = (db: Executor, orgId: string | null) => Promise<Date | null>

export type Mint = ReturnType<typeof mintWith>
