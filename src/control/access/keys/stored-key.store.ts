import type { Selectable } from 'kysely'
import type { Grant } from '../../../domain/access.ts'
import type { Role } from '../../../domain/roles.ts'
import type { KeyRow } from '../../../platform/db/access-rows.ts'

/** An API key as stored: only its SHA-256, never the key itself. */
export interface StoredKey {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly hash: string
  readonly grants: readonly Grant[]
  readonly orgId: string | null
  readonly deviceId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
  /** For a key from a login: the key that approved it; revoking that key revokes this one. */
  readonly approvedBy: string | null
  /** The first key of that chain, which shares one rate limit. */
  readonly rootId: string | null
  /** The person who owns the key: it grants no more than their role, and ends with their membership. */
  readonly personId: string | null
  /** The role of that person; null without a person, or if the person was removed. */
  readonly role: Role | null
  /** The person or key that created it; null under open enrollment. */
  readonly createdBy: string | null
  /** The key that this one replaces. */
  readonly replaces: string | null
  /** The key that replaces this one. */
  readonly replacedBy: string | null
  /** Created before its organization limited the lifetime of keys, and lasts longer than that limit. */
  readonly exceedsLifetime: boolean
}

/** Keys of programs, of people, and of devices. */
export const KEY_KINDS = ['service', 'personal', 'device'] as const

export type KeyKind = (typeof KEY_KINDS)[number]

export const kindOf = (key: Pick<StoredKey, 'deviceId' | 'personId'>): KeyKind => {
  if (key.deviceId !== null) return 'device'
  return key.personId === null ? 'service' : 'personal'
}

export const toRow = (key: StoredKey) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  hash: key.hash,
  grants: [...key.grants],
  org_id: key.orgId,
  device_id: key.deviceId,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  revoked_at: key.revokedAt,
  last_used_at: key.lastUsedAt,
  approved_by: key.approvedBy,
  root_id: key.rootId,
  person_id: key.personId,
  created_by: key.createdBy,
  replaces: key.replaces,
})

export const fromRow = (
  row: Selectable<KeyRow> & {
    readonly role: string | null
    readonly replaced_by?: string | null
    readonly exceeds_lifetime?: boolean
  },
): StoredKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  hash: row.hash,
  grants: row.grants as Grant[],
  orgId: row.org_id,
  deviceId: row.device_id,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  lastUsedAt: row.last_used_at,
  approvedBy: row.approved_by,
  rootId: row.root_id,
  personId: row.person_id,
  role: row.role as Role | null,
  createdBy: row.created_by,
  replaces: row.replaces,
  replacedBy: row.replaced_by ?? null,
  exceedsLifetime: row.exceeds_lifetime ?? false,
})
