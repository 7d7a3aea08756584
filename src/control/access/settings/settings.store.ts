import { type Selectable, sql } from 'kysely'
import { DEFAULT_SETTINGS, type OrgSettings } from '../../../domain/compliance.ts'
import type { OrgSettingsRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

export const settingsStore = {
  async find(db: Executor, orgId: string): Promise<OrgSettings> {
    const row = await db.selectFrom('org_settings').selectAll().where('org_id', '=', orgId).executeTakeFirst()
    return row === undefined ? DEFAULT_SETTINGS : fromRow(row)
  },

  /** The settings of every organization that has any. */
  async all(db: Executor): Promise<ReadonlyMap<string, OrgSettings>> {
    const rows = await db.selectFrom('org_settings').selectAll().execute()
    return new Map(rows.map((row) => [row.org_id, fromRow(row)]))
  },

  /** By organization; omits those that have set none. */
  async minGroupSizes(db: Executor, orgIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (orgIds.length === 0) return new Map()
    const { rows } = await sql<{ org_id: string; size: number }>`
      select org_id, min_group_size as size from org_settings
      where org_id = any(${[...orgIds]}::text[]) and min_group_size is not null`.execute(db)
    return new Map(rows.map(({ org_id, size }) => [org_id, size]))
  },

  /** Returns the settings, and locks them until the transaction ends. */
  async lock(tx: Executor, orgId: string, now: Date): Promise<OrgSettings> {
    await sql`
      insert into org_settings (org_id, updated_at) values (${orgId}, ${now}) on conflict do nothing`.execute(tx)
    const query = tx.selectFrom('org_settings').selectAll().where('org_id', '=', orgId).forUpdate()
    return fromRow(await query.executeTakeFirstOrThrow())
  },

  async set(tx: Executor, orgId: string, settings: OrgSettings, now: Date): Promise<void> {
    await tx
      .updateTable('org_settings')
      .set({
        require_mfa: settings.requireMfa,
        session_hours: settings.sessionHours,
        reauthenticate_minutes: settings.reauthenticateMinutes,
        audit_retention_days: settings.auditRetentionDays,
        key_lifetime_days: settings.keyLifetimeDays,
        update_retention_days: settings.updateRetentionDays,
        min_group_size: settings.minGroupSize,
        automatic_rollback: settings.automaticRollback,
        require_approval: settings.requireApproval,
        updated_at: now,
      })
      .where('org_id', '=', orgId)
      .execute()
  },
}

const fromRow = (row: Selectable<OrgSettingsRow>): OrgSettings => ({
  requireMfa: row.require_mfa as OrgSettings['requireMfa'],
  sessionHours: row.session_hours,
  reauthenticateMinutes: row.reauthenticate_minutes,
  auditRetentionDays: row.audit_retention_days,
  keyLifetimeDays: row.key_lifetime_days,
  updateRetentionDays: row.update_retention_days,
  minGroupSize: row.min_group_size,
  automaticRollback: row.automatic_rollback,
  requireApproval: row.require_approval,
})
