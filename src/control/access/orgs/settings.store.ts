import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { OrgSettingsRow } from '../../../platform/db/people-rows.ts'

/** The rules of an organization. */
export interface OrgSettings {
  /** Who must sign in by two factors. */
  readonly requireMfa: 'off' | 'admins' | 'all'
  /** A session ends so long after it began. */
  readonly sessionHours: number
  /** So long without use, and a session asks again who you are; null: never. */
  readonly reauthenticateMinutes: number | null
}

export const DEFAULT_SETTINGS: OrgSettings = { requireMfa: 'off', sessionHours: 24, reauthenticateMinutes: null }

export const createSettingsStore = () => ({
  async find(db: Executor, orgId: string): Promise<OrgSettings> {
    const row = await db.selectFrom('org_settings').selectAll().where('org_id', '=', orgId).executeTakeFirst()
    return row === undefined ? DEFAULT_SETTINGS : fromRow(row)
  },

  /** The settings until the transaction ends: nobody else changes them meanwhile. */
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
        updated_at: now,
      })
      .where('org_id', '=', orgId)
      .execute()
  },
})

const fromRow = (row: Selectable<OrgSettingsRow>): OrgSettings => ({
  requireMfa: row.require_mfa as OrgSettings['requireMfa'],
  sessionHours: row.session_hours,
  reauthenticateMinutes: row.reauthenticate_minutes,
})

export type SettingsStore = ReturnType<typeof createSettingsStore>
