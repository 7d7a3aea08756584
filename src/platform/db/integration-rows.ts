import type { ColumnType, Generated } from 'kysely'

/** Row types of 0023-integrations, in the manner of rows.ts. */
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
  /** Added by 0035-integration-topics. */
  topics: string[] | null
  audit_cursor: ColumnType<Record<string, number>, string, string> | null
}

export interface IntegrationRunRow {
  integration_id: string
  subject_id: string
  run_id: string | null
  sent: string | null
}

export interface IntegrationDeadLetterRow {
  id: Generated<number>
  integration_id: string
  event: ColumnType<Record<string, unknown>, string, string>
  reason: string
  at: Date
}

export interface IntegrationTables {
  integrations: IntegrationRow
  integration_dead_letters: IntegrationDeadLetterRow
  integration_runs: IntegrationRunRow
}
