import type { Generated } from 'kysely'

/** Row types of 0028-audit, in the manner of rows.ts. */
export interface AuditEntryRow {
  id: Generated<number>
  org_id: string
  seq: number
  at: Date
  actor_kind: string
  actor_id: string | null
  credential_id: string | null
  address_id: string | null
  action: string
  object_kind: string | null
  object_id: string | null
  changes: string
  result: string
  status: number | null
  request_id: string
  prev_hash: string
  hash: string
}

export interface AuditHeadRow {
  org_id: string
  seq: number
  hash: string
  pruned_seq: Generated<number>
  pruned_hash: Generated<string>
  pruned_signature: string | null
}

export interface AuditNameRow {
  org_id: string
  kind: string
  id: string
  name: string
}

export interface AuditTables {
  audit_entries: AuditEntryRow
  audit_heads: AuditHeadRow
  audit_names: AuditNameRow
}
