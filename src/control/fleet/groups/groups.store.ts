import { type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { DeviceGroupRow } from '../../../platform/db/fleet-rows.ts'
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

export const groupsStore = {
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

  /** Returns the updated group, or null if it is gone. */
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

  /** Locks the group until the transaction ends: others that add or remove devices wait. False if it is gone. */
  async lock(tx: Executor, id: string): Promise<boolean> {
    const row = await tx.selectFrom('device_groups').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
    return row !== undefined
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
  createdAt: row.created_at,
})
