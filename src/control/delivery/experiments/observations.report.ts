import { sql } from 'kysely'
import type { AssignedDevice } from '../../../domain/assignment.ts'
import type { Executor } from '../../../platform/db/open.ts'

export type Candidate = AssignedDevice & { readonly isTargeted: boolean }

/** The devices that measurements come from. */
export const observationsReport = {
  /**
   * Finds devices by user-chosen id, and whether a group contains them (true if there are no groups). Of several with one
   * name, returns the caller's own, otherwise that of the organization `near`, otherwise the one without an organization.
   */
  async candidates(
    db: Executor,
    deviceIds: readonly string[],
    groupIds: readonly string[],
    caller: { readonly deviceId: string | null; readonly near: string | null },
  ): Promise<Map<string, Candidate>> {
    const isTargeted =
      groupIds.length === 0
        ? sql`true`
        : sql`exists (
            select from device_group_members m where m.device_id = d.id and m.group_id = any(${[...groupIds]}::uuid[]))`
    const { rows } = await sql<{ id: string; device_id: string; org_id: string | null; targeted: boolean }>`
      select distinct on (d.device_id) d.id, d.device_id, d.org_id, ${isTargeted} as targeted
      from devices d where d.device_id = any(${[...deviceIds]}::text[])
      order by d.device_id, d.id is not distinct from ${caller.deviceId}::uuid desc,
        d.org_id is not distinct from ${caller.near} desc, d.org_id nulls first`.execute(db)
    return new Map(
      rows.map((row) => [
        row.device_id,
        { id: row.id, deviceId: row.device_id, orgId: row.org_id, isTargeted: row.targeted },
      ]),
    )
  },

  /** The user-chosen ids of the devices whose last report is that they cannot run their variant, with the reason. */
  async failed(db: Executor, experimentId: string): Promise<{ deviceId: string; reason: string | null }[]> {
    const { rows } = await sql<{ device_id: string; reason: string | null }>`
      select d.device_id, p.reason from plan_reports p join devices d on d.id = p.device_id
      where p.plan_id = ${experimentId} and p.state = 'failed'`.execute(db)
    return rows.map(({ device_id: deviceId, reason }) => ({ deviceId, reason }))
  },

  async device(db: Executor, id: string): Promise<AssignedDevice | null> {
    const row = await db
      .selectFrom('devices')
      .select(['id', 'device_id', 'org_id'])
      .where('id', '=', id)
      .executeTakeFirst()
    return row === undefined ? null : { id: row.id, deviceId: row.device_id, orgId: row.org_id }
  },
}
