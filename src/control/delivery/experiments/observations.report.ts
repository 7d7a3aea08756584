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

  async device(db: Executor, id: string): Promise<AssignedDevice | null> {
    const row = await db
      .selectFrom('devices')
      .select(['id', 'device_id', 'org_id'])
      .where('id', '=', id)
      .executeTakeFirst()
    return row === undefined ? null : { id: row.id, deviceId: row.device_id, orgId: row.org_id }
  },
}
