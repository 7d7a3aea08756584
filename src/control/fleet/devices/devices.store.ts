import { type Selectable, sql } from 'kysely'
import type { DeviceStatus, Platform } from '../../../domain/device.ts'
import type { DeviceRow } from '../../../platform/db/fleet-rows.ts'
import { LARGE, unlessLarge } from '../../../platform/db/large-values.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { KeysService, StoredKey } from '../../access/keys/keys.service.ts'

export interface StoredDevice {
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly platform: Platform
  readonly capabilities: Readonly<Record<string, unknown>>
  /** False if it only runs models: no round selects it. */
  readonly trains: boolean
  /** What the device last reported; whether it counts as active also depends on the time. */
  readonly reported: DeviceStatus
  readonly metrics: Readonly<Record<string, unknown>> | null
  /** In lists: which of the two were too large, and are empty. */
  readonly omitted?: readonly string[]
  readonly lastHeartbeat: Date
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What lists and groups show of a device. */
export type ListedDevice = Pick<StoredDevice, 'id' | 'deviceId' | 'orgId' | 'platform' | 'reported' | 'lastHeartbeat'>

const LARGE_COLUMNS = ['capabilities', 'metrics'] as const

export type ListedRow = Omit<Selectable<DeviceRow>, (typeof LARGE_COLUMNS)[number]> & {
  readonly capabilities: Record<string, unknown> | typeof LARGE
  readonly metrics: Record<string, unknown> | typeof LARGE | null
}

/** The columns of `ListedRow` that `fromRow` reads. */
export const LISTED_COLUMNS = sql`devices.id, devices.device_id, devices.org_id, devices.platform, devices.trains, devices.status,
  devices.last_heartbeat, devices.created_at, devices.updated_at,
  ${unlessLarge(sql`devices.capabilities`)} as capabilities, ${unlessLarge(sql`devices.metrics`)} as metrics`

export interface DeviceFilter {
  readonly orgId: string
  /** False for keys bound to an organization, which do not see devices without one. */
  readonly withUnbound: boolean
  readonly platform: Platform | undefined
  readonly status: DeviceStatus | undefined
  readonly activeSince: Date
}

/** Enough to report that a name is ambiguous, and to find the intended device. */
const MAX_NAMESAKES = 1000

export const createDevicesStore = (keys: Pick<KeysService, 'insertForDevices'>) => ({
  /**
   * Inserts devices and their keys in one statement, so that neither is ever visible without the other. Returns the inserted
   * internal ids; leaves out a device_id that its organization already has.
   */
  async insertAll(
    db: Executor,
    entries: readonly { readonly device: StoredDevice; readonly key: StoredKey }[],
  ): Promise<Set<string>> {
    const devices = entries.map((entry) => entry.device)
    const minted = entries.map((entry) => entry.key)
    const { rows } = await sql<{ id: string }>`
      with wanted as (
        select * from unnest(
          ${devices.map((d) => d.id)}::uuid[], ${devices.map((d) => d.deviceId)}::text[],
          ${devices.map((d) => d.orgId)}::text[], ${devices.map((d) => d.platform)}::text[],
          ${devices.map((d) => JSON.stringify(d.capabilities))}::jsonb[], ${devices.map((d) => d.createdAt)}::timestamptz[],
          ${devices.map((d) => d.trains)}::boolean[], ${minted.map((k) => k.id)}::uuid[], ${minted.map((k) => k.prefix)}::text[], ${minted.map((k) => k.hash)}::text[]
        ) as w (id, device_id, org_id, platform, capabilities, at, trains, key_id, prefix, hash)
      ), added as (
        insert into devices (id, device_id, org_id, platform, capabilities, trains, status, last_heartbeat, created_at,
          updated_at, groups_outdated)
        select id, device_id, org_id, platform, capabilities, trains, 'active', at, at, at,
          coalesce(org_id, 'default') in (select org_id from device_groups where filter is not null) from wanted
        on conflict do nothing
        returning id, org_id
      ), keyed as (
        ${keys.insertForDevices(sql`
          select w.key_id, w.prefix, w.hash, w.device_id, w.org_id, w.id, w.at from wanted w join added a on a.id = w.id`)}
      ), counted as (
        insert into device_counts as c (org_id, devices)
        select coalesce(org_id, ''), count(*) from added group by 1 order by 1
        on conflict (org_id) do update set devices = c.devices + excluded.devices
      )
      select id from added`.execute(db)
    return new Set(rows.map((row) => row.id))
  },

  /** Moves devices without an organization to this one. */
  async adopt(tx: Executor, orgId: string): Promise<void> {
    await sql`
      with moved as (update devices set org_id = ${orgId} where org_id is null returning id),
      uncounted as (update device_counts set devices = 0 where org_id = '')
      insert into device_counts as c (org_id, devices) select ${orgId}, count(*) from moved having count(*) > 0
      on conflict (org_id) do update set devices = c.devices + excluded.devices`.execute(tx)
  },

  /** Finds devices by name, in the organization or, if it is null, in any; devices without one count as `default`'s. */
  async findByName(db: Executor, deviceId: string, orgId: string | null): Promise<StoredDevice[]> {
    const { rows } = await sql<Selectable<DeviceRow>>`
      select * from devices where device_id = ${deviceId}
        ${orgId === null ? sql`` : sql`and coalesce(org_id, 'default') = ${orgId}`}
      order by org_id nulls first limit ${MAX_NAMESAKES}`.execute(db)
    return rows.map(fromRow)
  },

  async findById(db: Executor, id: string): Promise<StoredDevice | null> {
    const row = await db.selectFrom('devices').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Oldest first. Merges index reads of each organization, without a scan of the fleet; reads only the page's whole rows. */
  async list(db: Executor, filter: DeviceFilter, page: { limit: number; offset: number }): Promise<StoredDevice[]> {
    const part = (owner: ReturnType<typeof sql<boolean>>) => sql`
      (select id, created_at from devices where ${owner} and ${matches(filter)}
       order by created_at, id limit ${page.limit + page.offset})`
    const own = part(sql<boolean>`org_id = ${filter.orgId}`)
    const parts = filter.withUnbound ? sql`${own} union all ${part(sql<boolean>`org_id is null`)}` : own
    const { rows } = await sql<ListedRow>`
      with page as (select id from (${parts}) as d order by created_at, id limit ${page.limit} offset ${page.offset})
      select ${LISTED_COLUMNS} from page join devices using (id) order by created_at, id`.execute(db)
    return rows.map(fromRow)
  },

  /** Counts an organization's devices, by its counter. */
  async countAll(db: Executor, { orgId, withUnbound }: DeviceFilter): Promise<number> {
    const orgs = withUnbound ? [orgId, ''] : [orgId]
    const { rows } = await sql<{ total: number }>`
      select coalesce(sum(devices), 0)::bigint as total from device_counts
      where org_id = any(${orgs}::text[])`.execute(db)
    return rows[0]!.total
  },

  /** Counts the devices that match, and all that are read for it. */
  async countMatching(db: Executor, filter: DeviceFilter): Promise<{ total: number; read: number }> {
    const { rows } = await sql<{ total: number; read: number }>`
      select count(*) filter (where ${matches(filter)}) as total, count(*) as read from devices
      where (org_id = ${filter.orgId} ${filter.withUnbound ? sql`or org_id is null` : sql``})`.execute(db)
    return rows[0]!
  },

  /** Counts all devices that a key bound to `orgId` may see (null: an unbound key), and the active ones. */
  async census(db: Executor, orgId: string | null, activeSince: Date): Promise<{ total: number; active: number }> {
    const { rows } = await sql<{ total: number; active: number }>`
      select count(*) as total,
        count(*) filter (where status = 'active' and last_heartbeat >= ${activeSince}) as active
      from devices where ${orgId === null ? sql`true` : sql`org_id = ${orgId}`}`.execute(db)
    return rows[0]!
  },
})

const matches = (filter: DeviceFilter) => {
  const conditions = [sql<boolean>`true`]
  if (filter.platform !== undefined) conditions.push(sql<boolean>`platform = ${filter.platform}`)
  if (filter.status === 'active') {
    conditions.push(sql<boolean>`status = 'active' and last_heartbeat >= ${filter.activeSince}`)
  }
  if (filter.status === 'inactive') {
    conditions.push(sql<boolean>`(status <> 'active' or last_heartbeat < ${filter.activeSince})`)
  }
  return sql.join(conditions, sql` and `)
}

const smallOf = <Value>(value: Value | typeof LARGE): Value | Record<string, never> => (value === LARGE ? {} : value)

export const fromRow = (row: ListedRow): StoredDevice => {
  const omitted = LARGE_COLUMNS.filter((column) => row[column] === LARGE)
  return {
    id: row.id,
    deviceId: row.device_id,
    orgId: row.org_id,
    platform: row.platform as Platform,
    capabilities: smallOf(row.capabilities),
    trains: row.trains,
    reported: row.status as DeviceStatus,
    metrics: smallOf(row.metrics),
    ...(omitted.length > 0 && { omitted }),
    lastHeartbeat: row.last_heartbeat,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export type DevicesStore = ReturnType<typeof createDevicesStore>
