import { type Selectable, sql } from 'kysely'
import type { DeviceStatus, Platform } from '../../../domain/device.ts'
import { conflict } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { DeviceGroupRow } from '../../../platform/db/delivery-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredGroup {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly description: string
  readonly groupType: string
  readonly tags: readonly string[]
  readonly deviceCount: number
  readonly createdAt: Date
}

export interface GroupMember {
  /** Internal id. */
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly platform: Platform
  readonly reported: DeviceStatus
  readonly lastHeartbeat: Date
  readonly addedBy: string | null
  readonly addedAt: Date
}

interface MemberRow {
  id: string
  device_id: string
  org_id: string | null
  platform: Platform
  status: DeviceStatus
  last_heartbeat: Date
  added_by: string | null
  added_at: Date
}

export const createGroupsStore = () => ({
  async insert(db: Executor, group: StoredGroup): Promise<void> {
    const { id, name, description } = group
    await db
      .insertInto('device_groups')
      .values({
        id,
        name,
        description,
        org_id: group.orgId,
        group_type: group.groupType,
        tags: [...group.tags],
        created_at: group.createdAt,
      })
      .execute()
      .catch(nameTaken(name))
  },

  /** The group as it is then; null when it is gone. */
  async update(
    db: Executor,
    id: string,
    changes: Partial<Pick<StoredGroup, 'name' | 'description' | 'tags'>>,
  ): Promise<StoredGroup | null> {
    const { name, description, tags } = changes
    const { rows } = await sql<Selectable<DeviceGroupRow>>`
      update device_groups set name = coalesce(${name ?? null}, name),
        description = coalesce(${description ?? null}, description),
        tags = coalesce(${tags === undefined ? null : [...tags]}::text[], tags)
      where id = ${id} returning *`
      .execute(db)
      .catch(nameTaken(name ?? ''))
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  async find(db: Executor, id: string): Promise<StoredGroup | null> {
    const row = await db.selectFrom('device_groups').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** By id or name, in this organization or, where it is null, in all; null when there is none such. */
  async locate(db: Executor, idOrName: string, orgId: string | null): Promise<StoredGroup | null> {
    let query = db.selectFrom('device_groups').selectAll()
    query = isUuid(idOrName) ? query.where('id', '=', idOrName) : query.where('name', '=', idOrName)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    const row = await query.orderBy('ordinal').limit(1).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Locked until the transaction ends: whoever else adds or removes waits. */
  async lock(tx: Executor, id: string): Promise<boolean> {
    const row = await tx.selectFrom('device_groups').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
    return row !== undefined
  },

  /** Its members are let go with it. */
  async delete(tx: Executor, id: string): Promise<void> {
    await tx.deleteFrom('device_groups').where('id', '=', id).execute()
  },

  /** Oldest first. */
  async list(
    db: Executor,
    orgId: string,
    page: { limit: number; offset: number },
  ): Promise<{ groups: StoredGroup[]; total: number }> {
    const ofOrg = db.selectFrom('device_groups').where('org_id', '=', orgId)
    const rows = await ofOrg.selectAll().orderBy('ordinal').limit(page.limit).offset(page.offset).execute()
    const { total } = await ofOrg.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
    return { groups: rows.map(fromRow), total }
  },

  /**
   * Adds those of these devices (by user-chosen id) that belong to the group's organization or, for callers who see them,
   * to none. Returns those that are new, and counts them. The group is locked by the caller.
   */
  async add(
    tx: Executor,
    groupId: string,
    deviceIds: readonly string[],
    by: { readonly label: string | null; readonly at: Date; readonly seesUnbound: boolean },
  ): Promise<Set<string>> {
    const { rows } = await sql<{ device_id: string }>`
      with wanted as (
        select distinct on (d.device_id) d.id, d.device_id from devices d join device_groups g on g.id = ${groupId}
        where d.device_id = any(${[...deviceIds]}::text[])
          and (d.org_id = g.org_id or (d.org_id is null and ${by.seesUnbound}))
        order by d.device_id, d.org_id nulls last
      ), added as (
        insert into device_group_members (group_id, device_id, added_by, added_at)
        select ${groupId}, id, ${by.label}, ${by.at}::timestamptz from wanted
        on conflict do nothing returning device_id
      ), counted as (
        update device_groups set device_count = device_count + (select count(*) from added) where id = ${groupId}
      )
      select wanted.device_id from wanted join added on added.device_id = wanted.id`.execute(tx)
    return new Set(rows.map((row) => row.device_id))
  },

  /** Returns those of these devices (by user-chosen id) that were members. The group is locked by the caller. */
  async remove(tx: Executor, groupId: string, deviceIds: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ device_id: string }>`
      with removed as (
        delete from device_group_members m using devices d
        where m.group_id = ${groupId} and d.id = m.device_id and d.device_id = any(${[...deviceIds]}::text[])
        returning d.device_id
      ), counted as (
        update device_groups set device_count = device_count - (select count(*) from removed) where id = ${groupId}
      )
      select device_id from removed`.execute(tx)
    return new Set(rows.map((row) => row.device_id))
  },

  /** In the order in which they were added. */
  async members(db: Executor, groupId: string, page: { limit: number; offset: number }): Promise<GroupMember[]> {
    const { rows } = await sql<MemberRow>`
      select d.id, d.device_id, d.org_id, d.platform, d.status, d.last_heartbeat, m.added_by, m.added_at
      from device_group_members m join devices d on d.id = m.device_id
      where m.group_id = ${groupId} order by m.added_at, d.ordinal limit ${page.limit} offset ${page.offset}`.execute(
      db,
    )
    return rows.map((row) => ({
      id: row.id,
      deviceId: row.device_id,
      orgId: row.org_id,
      platform: row.platform,
      reported: row.status,
      lastHeartbeat: row.last_heartbeat,
      addedBy: row.added_by,
      addedAt: row.added_at,
    }))
  },
})

const nameTaken =
  (name: string) =>
  (error: unknown): never => {
    if (!isUniqueViolation(error)) throw error
    throw conflict(`This organization has a device group named '${name}' already. Choose another name.`)
  }

const fromRow = (row: Selectable<DeviceGroupRow>): StoredGroup => ({
  id: row.id,
  orgId: row.org_id,
  name: row.name,
  description: row.description,
  groupType: row.group_type,
  tags: row.tags,
  deviceCount: row.device_count,
  createdAt: row.created_at,
})

export type GroupsStore = ReturnType<typeof createGroupsStore>
