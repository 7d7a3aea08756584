import { type Selectable, sql } from 'kysely'
import type { DeviceFilter } from '../../../domain/device-filter.ts'
import { conflict } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { DeviceGroupRow } from '../../../platform/db/fleet-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export const STATIC = 'static'
/** The type of groups with a filter. */
export const DYNAMIC = 'dynamic'

export interface StoredGroup {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly description: string
  readonly groupType: string
  readonly tags: readonly string[]
  readonly deviceCount: number
  /** Null for a static group, whose devices are added and removed by hand. */
  readonly filter: DeviceFilter | null
  readonly createdAt: Date
}

export const groupsStore = {
  /** `change` identifies the change of the filter; null for a static group. */
  async insert(db: Executor, group: StoredGroup, change: string | null): Promise<void> {
    const { id, name, description, filter } = group
    await db
      .insertInto('device_groups')
      .values({
        id,
        name,
        description,
        org_id: group.orgId,
        group_type: group.groupType,
        tags: [...group.tags],
        filter: filter && JSON.stringify(filter),
        filter_change: change,
        created_at: group.createdAt,
      })
      .execute()
      .catch(nameTaken(name))
  },

  /** Returns the updated group, or null if it is gone. `change` identifies the change of the filter. */
  async update(
    db: Executor,
    id: string,
    changes: Partial<Pick<StoredGroup, 'name' | 'description' | 'tags' | 'filter'>>,
    change: string,
  ): Promise<StoredGroup | null> {
    const { name, description, tags, filter } = changes
    const filterChange =
      filter === undefined
        ? sql``
        : sql`, filter = ${filter && JSON.stringify(filter)}::jsonb, filter_change = ${filter && change}::uuid,
            group_type = ${filter ? sql`${DYNAMIC}` : sql`case when filter is null then group_type else ${STATIC} end`}`
    const { rows } = await sql<Selectable<DeviceGroupRow>>`
      update device_groups set name = coalesce(${name ?? null}, name),
        description = coalesce(${description ?? null}, description),
        tags = coalesce(${tags === undefined ? null : [...tags]}::text[], tags) ${filterChange}
      where id = ${id} returning *`
      .execute(db)
      .catch(nameTaken(name ?? ''))
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  async find(db: Executor, id: string): Promise<StoredGroup | null> {
    const row = await db.selectFrom('device_groups').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Oldest first. */
  async findAll(db: Executor, ids: readonly string[]): Promise<StoredGroup[]> {
    const rows = await db
      .selectFrom('device_groups')
      .selectAll()
      .where('id', 'in', [...ids])
      .orderBy('ordinal')
      .execute()
    return rows.map(fromRow)
  },

  /** Finds the group with this id, or those with this name: in this organization, or in all if it is null, at most two. */
  async locate(db: Executor, idOrName: string, orgId: string | null): Promise<StoredGroup[]> {
    let query = db.selectFrom('device_groups').selectAll()
    query = isUuid(idOrName) ? query.where('id', '=', idOrName) : query.where('name', '=', idOrName)
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.orderBy('ordinal').limit(2).execute()).map(fromRow)
  },

  /** Locks the group until the transaction ends: others that add or remove devices wait. Null if it is gone. */
  async lock(tx: Executor, id: string): Promise<StoredGroup | null> {
    const row = await tx.selectFrom('device_groups').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Also deletes its memberships. */
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
}

const nameTaken =
  (name: string) =>
  (error: unknown): never => {
    if (!isUniqueViolation(error)) throw error
    throw conflict(`This organization already has a device group named '${name}'. Choose another name.`)
  }

const fromRow = (row: Selectable<DeviceGroupRow>): StoredGroup => ({
  id: row.id,
  orgId: row.org_id,
  name: row.name,
  description: row.description,
  groupType: row.group_type,
  tags: row.tags,
  deviceCount: row.device_count,
  filter: row.filter,
  createdAt: row.created_at,
})
