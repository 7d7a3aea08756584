import type { ColumnType, Generated } from 'kysely'
import type { Json } from './json-column.ts'

// Rows of the operations module's tables; see rows.ts.

export interface OutboxRow {
  id: Generated<number>
  /** The 64-bit id of the transaction that wrote it, as text. */
  tx: Generated<string>
  org_id: string | null
  type: string
  subject_kind: string
  subject_id: string | null
  payload: Json<Record<string, unknown>>
  at: Date
  /** Added by 0019b-federation-events: the federation whose active members may also see it. */
  federation_id: string | null
}

export interface IntegrationRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  kind: string
  type: string
  name: string
  endpoint: string
  format: string | null
  config: string
  paused: Generated<boolean>
  cursor_tx: string | null
  cursor_id: number | null
  next_at: Date
  lease_until: Date | null
  failures: Generated<number>
  last_error: string | null
  last_error_at: Date | null
  delivered_at: Date | null
  created_at: Date
  /** This and the next column were added by 0035-integration-topics. */
  topics: string[] | null
  audit_cursor: ColumnType<Record<string, number>, string, string> | null
  /** Added by 0045-webhook-batches. */
  batch: ColumnType<{ event: { tx: string; id: number } | null; audit: Record<string, number> }, string, string> | null
}

export interface IntegrationDeadLetterRow {
  id: Generated<number>
  integration_id: string
  event: ColumnType<Record<string, unknown>, string, string>
  reason: string
  at: Date
  lease_until: Generated<Date | null>
}

export interface IntegrationRunRow {
  integration_id: string
  subject_id: string
  run_id: string | null
  sent: string | null
}

/** Added by 0031-backups. */
export interface BackupRow {
  id: string
  ordinal: Generated<number>
  name: string
  target: string
  scheduled: boolean
  status: string
  reason: string | null
  database: string | null
  files: number | null
  bytes: number | null
  copied_files: number | null
  copied_bytes: number | null
  unreadable_files: number | null
  verified_at: Date | null
  lease_until: Date | null
  created_at: Date
  ended_at: Date | null
}

export interface OperationsTables {
  events_outbox: OutboxRow
  integrations: IntegrationRow
  integration_dead_letters: IntegrationDeadLetterRow
  integration_runs: IntegrationRunRow
  backups: BackupRow
}
