import { type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import type { IntegrationKind, IntegrationTopic, IntegrationType, LogFormat } from '../../../domain/integration.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { IntegrationRow } from '../../../platform/db/operations-rows.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import type { Position } from '../events/outbox.service.ts'

/** The last event and the last audit entries of what was sent in one request. */
export interface Batch {
  readonly event: Position | null
  readonly audit: Readonly<Record<string, number>>
}

export interface StoredIntegration {
  readonly id: string
  readonly orgId: string | null
  readonly kind: IntegrationKind
  readonly type: IntegrationType
  readonly name: string
  readonly endpoint: string
  readonly format: LogFormat | null
  /** Encrypted. */
  readonly config: string
  readonly isPaused: boolean
  /** Null for the whole event stream. */
  readonly topics: readonly IntegrationTopic[] | null
  /** For logs: the last event that was delivered. */
  readonly cursor: Position | null
  /** The last delivered entry of each organization's audit log; null if they are not sent. */
  readonly auditCursor: Readonly<Record<string, number>> | null
  /** What to send next: the batch that a webhook has not acknowledged, or a part of one that any receiver has rejected. */
  readonly batch: Batch | null
  /** The number of consecutive failed deliveries. */
  readonly failures: number
  readonly lastError: string | null
  readonly lastErrorAt: Date | null
  readonly deliveredAt: Date | null
  readonly createdAt: Date
}

/** Whether there is an integration, whose configuration is encrypted. */
export const hasIntegrations = async (tx: Executor): Promise<boolean> => {
  const { rows } = await sql`select from integrations limit 1`.execute(tx)
  return rows.length === 1
}

export const integrationsStore = {
  /** @throws conflict if the organization has an integration of this name */
  async insert(db: Executor, integration: StoredIntegration): Promise<void> {
    const { cursor, auditCursor, name } = integration
    await sql`
      insert into integrations (id, org_id, kind, type, name, endpoint, format, config, topics,
        cursor_tx, cursor_id, audit_cursor, next_at, created_at)
      values (${integration.id}, ${integration.orgId}, ${integration.kind}, ${integration.type}, ${name},
        ${integration.endpoint}, ${integration.format}, ${integration.config}, ${integration.topics},
        ${cursor?.tx ?? null}::xid8, ${cursor?.id ?? null},
        ${auditCursor === null ? null : JSON.stringify(auditCursor)}::jsonb, ${integration.createdAt}, ${integration.createdAt})`
      .execute(db)
      .catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw conflict(`This organization already has an integration named '${name}'. Choose another name.`)
      })
  },

  async find(db: Executor, id: string): Promise<StoredIntegration | null> {
    const { rows } =
      await sql<IntegrationRecord>`select *, cursor_tx::text as cursor_tx from integrations where id = ${id}`.execute(
        db,
      )
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** In order of creation; of all organizations if `orgId` is null. */
  async list(db: Executor, orgId: string | null, kind: IntegrationKind | null): Promise<StoredIntegration[]> {
    const { rows } = await sql<IntegrationRecord>`
      select *, cursor_tx::text as cursor_tx from integrations
      where (${orgId}::text is null or org_id = ${orgId}) and (${kind}::text is null or kind = ${kind})
      order by ordinal`.execute(db)
    return rows.map(fromRow)
  },

  /** The names of the organization's integrations (null: of those without one). Until the transaction ends, none is added. */
  async lockNames(tx: Executor, orgId: string | null): Promise<Set<string>> {
    await sql`lock table integrations in share row exclusive mode`.execute(tx)
    const { rows } = await sql<{ name: string }>`
      select name from integrations where org_id is not distinct from ${orgId}`.execute(tx)
    return new Set(rows.map(({ name }) => name))
  },

  async setPaused(db: Executor, id: string, isPaused: boolean, now: Date): Promise<void> {
    await sql`update integrations set paused = ${isPaused}, next_at = ${now}, failures = 0 where id = ${id}`.execute(db)
  },

  /** Returns false if it was deleted meanwhile. */
  async delete(db: Executor, id: string): Promise<boolean> {
    return (await sql`delete from integrations where id = ${id}`.execute(db)).numAffectedRows === 1n
  },
}

/** A row, with the transaction number of its cursor as text. */
export type IntegrationRecord = Selectable<IntegrationRow>

export const fromRow = (row: IntegrationRecord): StoredIntegration => ({
  id: row.id,
  orgId: row.org_id,
  kind: row.kind as IntegrationKind,
  type: row.type as IntegrationType,
  name: row.name,
  endpoint: row.endpoint,
  format: row.format as LogFormat | null,
  config: row.config,
  isPaused: row.paused,
  topics: row.topics as readonly IntegrationTopic[] | null,
  cursor: row.cursor_id === null || row.cursor_tx === null ? null : { tx: row.cursor_tx, id: row.cursor_id },
  auditCursor: row.audit_cursor,
  batch: row.batch,
  failures: row.failures,
  lastError: row.last_error,
  lastErrorAt: row.last_error_at,
  deliveredAt: row.delivered_at,
  createdAt: row.created_at,
})
