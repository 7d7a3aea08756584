import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { ListedDevice } from '../devices/devices.service.ts'

export interface GroupMember extends ListedDevice {
  readonly addedBy: string | null
  readonly addedAt: Date
}

/** The members of a group, and the count in its row. */
export const groupMembersStore = {
  /**
   * Adds those of these devices (by user-chosen id) that belong to the group's organization or, if the caller sees them, to
   * none. Returns the new ones with their internal ids, and counts them. The caller must have locked the group. Locking the new
   * devices leaves out those being erased, which would violate the foreign key; locking members too would deadlock with an erasure.
   */
  async add(
    tx: Executor,
    groupId: string,
    deviceIds: readonly string[],
    by: { readonly label: string | null; readonly at: Date; readonly seesUnbound: boolean },
  ): Promise<Map<string, string>> {
    const { rows } = await sql<{ id: string; device_id: string }>`
      with wanted as (
        select distinct on (d.device_id) d.id, d.device_id from devices d join device_groups g on g.id = ${groupId}
        where d.device_id = any(${[...deviceIds]}::text[])
          and (d.org_id = g.org_id or (d.org_id is null and ${by.seesUnbound}))
        order by d.device_id, d.org_id nulls last
      ), present as (
        select id from devices d where id in (select id from wanted)
          and not exists (select from device_group_members m where m.group_id = ${groupId} and m.device_id = d.id)
        for key share
      ), added as (
        insert into device_group_members (group_id, device_id, added_by, added_at)
        select ${groupId}, id, ${by.label}, ${by.at}::timestamptz from present
        on conflict do nothing returning device_id
      ), counted as (
        update device_groups set device_count = device_count + (select count(*) from added) where id = ${groupId}
      )
      select wanted.id, wanted.device_id from wanted join added on added.device_id = wanted.id`.execute(tx)
    return new Map(rows.map((row) => [row.device_id, row.id]))
  },

  /** Returns the groups that contain a device, oldest first. */
  async groupsOf(db: Executor, deviceId: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ group_id: string }>`
      select m.group_id from device_group_members m join device_groups g on g.id = m.group_id
      where m.device_id = ${deviceId} order by g.ordinal limit ${limit}`.execute(db)
    return rows.map(({ group_id }) => group_id)
  },

  /**
   * Removes these devices (by user-chosen id); returns those that were members, with their internal ids. The caller must have
   * locked the group.
   */
  async remove(tx: Executor, groupId: string, deviceIds: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await sql<{ id: string; device_id: string }>`
      with removed as (
        delete from device_group_members m using devices d
        where m.group_id = ${groupId} and d.id = m.device_id and d.device_id = any(${[...deviceIds]}::text[])
        returning d.id, d.device_id
      ), counted as (
        update device_groups set device_count = device_count - (select count(*) from removed) where id = ${groupId}
      )
      select id, device_id from removed`.execute(tx)
    return new Map(rows.map((row) => [row.device_id, row.id]))
  },

  /**
   * Returns members in the order in which they were added; those added together, in order of registration. The times of the
   * page are read from the index alone, so that only devices added at these are read.
   */
  async members(
    db: Executor,
    groupId: string,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<GroupMember[]> {
    const { rows } = await sql<GroupMember>`
      with times as materialized (
        select min(added_at) as first, max(added_at) as last from (
          select added_at from device_group_members where group_id = ${groupId}
          order by added_at limit ${limit} offset ${offset}) as page
      )
      select d.id, d.device_id as "deviceId", d.org_id as "orgId", d.platform, d.status as reported,
        d.last_heartbeat as "lastHeartbeat", m.added_by as "addedBy", m.added_at as "addedAt"
      from device_group_members m join devices d on d.id = m.device_id
      where m.group_id = ${groupId} and m.added_at between (select first from times) and (select last from times)
      order by m.added_at, d.ordinal limit ${limit}
      offset ${offset} - (select count(*) from device_group_members
        where group_id = ${groupId} and added_at < (select first from times))`.execute(db)
    return rows
  },
}
