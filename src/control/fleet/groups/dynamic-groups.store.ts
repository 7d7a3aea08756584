import { sql } from 'kysely'
import type { DeviceFilter, FilteredDevice } from '../../../domain/device-filter.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { filterSql } from '../devices/devices.service.ts'

export interface DynamicGroup {
  readonly id: string
  readonly orgId: string
  readonly filter: DeviceFilter
}

export interface CheckedDevice extends FilteredDevice {
  readonly id: string
  /** That of the groups it can be in. */
  readonly orgId: string
}

interface DecidedGroups {
  readonly deviceIds: readonly string[]
  readonly groupIds: readonly string[]
  readonly members: readonly { readonly groupId: string; readonly deviceId: string }[]
  readonly at: Date
}

/** The place in an organization's devices, in order of registration, after a batch. */
export interface Cursor {
  readonly at: string
  readonly id: string
}

/** The number of devices whose membership one transaction decides when a filter changes. */
const BATCH = 1000

/** The members of dynamic groups: those devices of the organization that match. `default` has those without one as well. */
export const dynamicGroupsStore = {
  async exist(db: Executor, orgIds: readonly string[]): Promise<boolean> {
    const { rows } = await sql<{ found: boolean }>`
      select exists (select from device_groups where filter is not null and org_id = any(${orgIds}::text[])) as found`.execute(
      db,
    )
    return rows[0]!.found
  },

  /** Locks devices, in this order, so that their attributes stay as they are. Leaves out those that are gone. */
  async lockDevices(tx: Executor, ids: readonly string[]): Promise<CheckedDevice[]> {
    const { rows } = await sql<CheckedDevice>`
      select d.id, d.device_id as "deviceId", coalesce(d.org_id, 'default') as "orgId", d.platform, d.trains, d.capabilities
      from unnest(${ids}::uuid[]) with ordinality as u (id, n) join devices d on d.id = u.id
      order by u.n for no key update of d`.execute(tx)
    return rows
  },

  /** Locks all dynamic groups of these organizations, so that filters and members stay as they are. */
  async lockGroups(tx: Executor, orgIds: readonly string[]): Promise<DynamicGroup[]> {
    const { rows } = await sql<DynamicGroup>`
      select id, org_id as "orgId", filter from device_groups where filter is not null and org_id = any(${orgIds}::text[])
      order by id for no key update`.execute(tx)
    return rows
  },

  /**
   * Makes these devices members of exactly the groups in `members`, among `groupIds`; both are locked. Returns the groups
   * that changed.
   */
  async setGroups(
    tx: Executor,
    { deviceIds, groupIds, members, at }: DecidedGroups,
  ): Promise<{ groupId: string; orgId: string }[]> {
    const { rows } = await sql<{ groupId: string; orgId: string }>`
      with wanted as (
        select * from unnest(${members.map(({ groupId }) => groupId)}::uuid[], ${members.map(({ deviceId }) => deviceId)}::uuid[])
          as w (group_id, device_id)
      ), removed as (
        delete from device_group_members m
        where m.device_id = any(${deviceIds}::uuid[]) and m.group_id = any(${groupIds}::uuid[])
          and not exists (select from wanted w where w.group_id = m.group_id and w.device_id = m.device_id)
        returning m.group_id
      ), added as (
        insert into device_group_members (group_id, device_id, added_at)
        select group_id, device_id, ${at}::timestamptz from wanted on conflict do nothing returning group_id
      ), decided as (
        update devices set groups_outdated = false where id = any(${deviceIds}::uuid[]) and groups_outdated
      )
      update device_groups g set device_count = g.device_count + c.change
      from (select group_id, sum(change) as change
        from (select group_id, 1 as change from added union all select group_id, -1 from removed) as each group by 1) as c
      where g.id = c.group_id returning g.id as "groupId", g.org_id as "orgId"`.execute(tx)
    return rows
  },

  /** Locks the group while this change of its filter is being applied; null if it has been replaced or is done. */
  async lockChange(tx: Executor, groupId: string, change: string): Promise<DynamicGroup | null> {
    const { rows } = await sql<DynamicGroup>`
      select id, org_id as "orgId", filter from device_groups
      where id = ${groupId} and filter_change = ${change} and filter is not null for update`.execute(tx)
    return rows[0] ?? null
  },

  /**
   * Decides the next devices, of the organization `orgId` (null: of none); the group must be locked. Returns null after the
   * last ones. Locks new members like `groupMembersStore.add`. Arrays of ids make PostgreSQL look each one up, where a join
   * would read all members of the group in every batch.
   */
  async applyBatch(
    tx: Executor,
    { id, filter }: DynamicGroup,
    { orgId, after, at }: { readonly orgId: string | null; readonly after: Cursor | null; readonly at: Date },
  ): Promise<Cursor | null> {
    const scope = orgId === null ? sql`devices.org_id is null` : sql`devices.org_id = ${orgId}`
    const rest = after === null ? sql`true` : sql`(created_at, id) > (${after.at}::timestamptz, ${after.id}::uuid)`
    const { rows } = await sql<Cursor & { read: number }>`
      with batch as materialized (
        select id, created_at, ${filterSql(filter)} is true as matches from devices where ${scope} and ${rest}
        order by created_at, id limit ${BATCH}
      ), members as materialized (
        select device_id as id from device_group_members
        where group_id = ${id} and device_id = any(array(select id from batch))
      ), removed as (
        delete from device_group_members where group_id = ${id}
          and device_id = any(array(select id from batch where not matches intersect select id from members))
        returning device_id
      ), present as (
        select id from devices
        where id = any(array(select id from batch where matches except select id from members)) for key share
      ), added as (
        insert into device_group_members (group_id, device_id, added_at)
        select ${id}, id, ${at}::timestamptz from present on conflict do nothing returning device_id
      ), counted as (
        update device_groups
        set device_count = device_count + (select count(*) from added) - (select count(*) from removed) where id = ${id}
      )
      select id, created_at::text as at, (select count(*) from batch) as read from batch
      order by created_at desc, id desc limit 1`.execute(tx)
    const [last] = rows
    return last === undefined || last.read < BATCH ? null : { id: last.id, at: last.at }
  },

  /** Removes devices of other organizations, which a static group may have had, and marks the change as applied. */
  async finishChange(tx: Executor, { id, orgId }: DynamicGroup): Promise<void> {
    await sql`
      with removed as (
        delete from device_group_members m using devices d
        where m.group_id = ${id} and d.id = m.device_id and coalesce(d.org_id, 'default') <> ${orgId} returning d.id
      )
      update device_groups set device_count = device_count - (select count(*) from removed), filter_change = null
      where id = ${id}`.execute(tx)
  },

  /** Returns the changes of filters that are not applied yet: they are in progress, or their process has ended. */
  async unfinishedChanges(db: Executor): Promise<{ groupId: string; orgId: string; change: string }[]> {
    const { rows } = await sql<{ groupId: string; orgId: string; change: string }>`
      select id as "groupId", org_id as "orgId", filter_change as change from device_groups
      where filter is not null and filter_change is not null order by ordinal`.execute(db)
    return rows
  },
}
