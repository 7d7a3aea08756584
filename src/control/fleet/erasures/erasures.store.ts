import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { DeviceErasureRow } from '../../../platform/db/fleet-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { StoredDevice } from '../devices/devices.service.ts'

type Named = Pick<StoredDevice, 'id' | 'deviceId' | 'orgId'>

/** Returns a module's rows about a device by kind, each as `from <table> t where ...`, to read or delete. */
export type RowsOfDevice = (device: Named) => Readonly<Record<string, RawBuilder<unknown>>>

export interface StoredErasure {
  readonly id: string
  readonly erasedAt: Date
  readonly document: string
  readonly signature: string
}

/** Not exported: secrets, references to files, and messages encrypted for other devices. */
const OMITTED = ['hash', 'message', 'sha256', 'control_sha256']

export const fleetRowsOf: RowsOfDevice = ({ id }) => ({
  groups: sql`from device_group_members t where t.device_id = ${id}`,
})

export const erasuresStore = {
  /** Reads a page of the rows of a kind, in an order that does not change. */
  async read(
    db: Executor,
    rows: RawBuilder<unknown>,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Record<string, unknown>[]> {
    const found = await sql<{ row: Record<string, unknown> }>`
      select to_jsonb(t) - ${OMITTED}::text[] as row ${rows} order by 1 limit ${limit} offset ${offset}`.execute(db)
    return found.rows.map(({ row }) => row)
  },

  /** Deletes the rows of a kind; returns their number. */
  async erase(tx: Executor, rows: RawBuilder<unknown>): Promise<number> {
    return Number((await sql`delete ${rows}`.execute(tx)).numAffectedRows ?? 0)
  },

  /** Locks the device, so that no round selects it from now on. False if it is gone. */
  async lockDevice(tx: Executor, id: string): Promise<boolean> {
    return (await tx.selectFrom('devices').select('id').where('id', '=', id).forUpdate().execute()).length === 1
  },

  async deleteDevice(tx: Executor, id: string): Promise<void> {
    await sql`
      with gone as (delete from devices where id = ${id} returning coalesce(org_id, '') as org_id)
      update device_counts c set devices = c.devices - 1 from gone where c.org_id = gone.org_id`.execute(tx)
  },

  /** Locks the groups first: one that removes the device at the same time has then counted it, or does not any more. */
  async leaveGroups(tx: Executor, { id }: Named): Promise<void> {
    await sql`select from device_groups
      where id in (select group_id from device_group_members where device_id = ${id}) order by id for no key update`.execute(
      tx,
    )
    await sql`update device_groups g set device_count = g.device_count - 1
      where g.id in (select group_id from device_group_members where device_id = ${id})`.execute(tx)
  },

  async insert(tx: Executor, erasure: StoredErasure & { orgId: string | null; deviceHash: string }): Promise<void> {
    const { id, orgId: org_id, deviceHash: device_hash, document, signature, erasedAt: erased_at } = erasure
    await tx.insertInto('device_erasures').values({ id, org_id, device_hash, document, signature, erased_at }).execute()
  },

  async isErased(db: Executor, deviceHash: string): Promise<boolean> {
    const query = db.selectFrom('device_erasures').select('id').where('device_hash', '=', deviceHash).limit(1)
    return (await query.execute()).length === 1
  },

  /** Newest first; of all organizations if `orgId` is null. */
  async list(
    db: Executor,
    orgId: string | null,
    page: { limit: number; offset: number },
  ): Promise<{ erasures: StoredErasure[]; total: number }> {
    const seen = sql`where ${orgId}::text is null or org_id = ${orgId}`
    const { rows } = await sql<Selectable<DeviceErasureRow>>`
      select * from device_erasures ${seen} order by ordinal desc limit ${page.limit} offset ${page.offset}`.execute(db)
    const counted = await sql<{ total: number }>`select count(*)::int as total from device_erasures ${seen}`.execute(db)
    return { erasures: rows.map(fromRow), total: counted.rows[0]!.total }
  },

  async find(db: Executor, orgId: string | null, id: string): Promise<StoredErasure | null> {
    const { rows } = await sql<Selectable<DeviceErasureRow>>`
      select * from device_erasures where id = ${id} and (${orgId}::text is null or org_id = ${orgId})`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  async adopt(tx: Executor, orgId: string): Promise<void> {
    await tx.updateTable('device_erasures').set({ org_id: orgId }).where('org_id', 'is', null).execute()
  },
}

const fromRow = (row: Selectable<DeviceErasureRow>): StoredErasure => ({
  id: row.id,
  erasedAt: row.erased_at,
  document: row.document,
  signature: row.signature,
})
