import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { DeviceStatus, Platform } from '../../../domain/device.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { DeviceRow } from '../../../platform/db/rows.ts'
import { fromRow, type StoredDevice } from './devices.store.ts'

const SORTS = ['device_id', 'last_seen', 'created'] as const
export type DeviceSort = (typeof SORTS)[number]

export interface DeviceSearch {
  /** null: those of all organizations. */
  readonly orgId: string | null
  /** Part of the device_id, in any case. */
  readonly text: string
  readonly platform: Platform | undefined
  readonly status: DeviceStatus | undefined
  readonly activeSince: Date
}

export interface Position {
  /** The sorted column's value: a name, or an ISO time. */
  readonly value: string
  readonly id: string
}

export interface FleetSummary {
  readonly total: number
  readonly active: number
  readonly platforms: readonly { readonly platform: Platform; readonly total: number; readonly active: number }[]
  /** How many devices were heard from last within each minute, the current one first. */
  readonly lastHeard: readonly number[]
}

const COLUMNS = { device_id: sql`device_id`, last_seen: sql`last_heartbeat`, created: sql`created_at` } as const
const MAX_COUNTED = 100_000
const HEARD_MINUTES = 60

export const createDeviceSearchStore = () => ({
  /** One page in the order of `sort`, from behind `after`: each page costs the same, however far down it is. */
  async page(
    db: Executor,
    search: DeviceSearch,
    {
      sort,
      descending,
      after,
      limit,
    }: { sort: DeviceSort; descending: boolean; after: Position | null; limit: number },
  ): Promise<StoredDevice[]> {
    const column = COLUMNS[sort]
    const value = (position: Position) =>
      sort === 'device_id' ? sql`${position.value}::text` : sql`${position.value}::timestamptz`
    const behind =
      after === null
        ? sql`true`
        : sql`(${column}, id) ${descending ? sql`<` : sql`>`} (${value(after)}, ${after.id}::uuid)`
    const order = descending ? sql`desc` : sql`asc`
    // Where no index has this order, sorting whole rows takes twice as long.
    const { rows } = await sql<Selectable<DeviceRow>>`
      with page as materialized (select id, ${column} as value from devices where ${matching(search)} and ${behind}
        order by ${column} ${order}, id ${order} limit ${limit})
      select devices.* from page join devices using (id) order by page.value ${order}, id ${order}`.execute(db)
    return rows.map(fromRow)
  },

  /**
   * The first page and how many match, in one pass: no index finds a part of a name, so that looking for it reads every one.
   */
  async firstFound(
    db: Executor,
    search: DeviceSearch,
    { sort, descending, limit }: { sort: DeviceSort; descending: boolean; limit: number },
  ): Promise<{ devices: StoredDevice[]; total: number }> {
    const column = COLUMNS[sort]
    const order = descending ? sql`desc` : sql`asc`
    const { rows } = await sql<Selectable<DeviceRow> & { total: number }>`
      with found as materialized (select id, ${column} as value from devices where ${matching(search)}),
        first as (select id, value from found order by value ${order}, id ${order} limit ${limit})
      select devices.*, (select count(*) from found) as total from first join devices using (id)
      order by first.value ${order}, id ${order}`.execute(db)
    return { devices: rows.map(fromRow), total: Math.min(rows[0]?.total ?? 0, MAX_COUNTED) }
  },

  /** How many match; of more than 100,000, that many. */
  async count(db: Executor, search: DeviceSearch): Promise<number> {
    const { rows } = await sql<{ total: number }>`
      select count(*) as total from (select from devices where ${matching(search)} limit ${MAX_COUNTED}) as found`.execute(
      db,
    )
    return rows[0]!.total
  },

  async summary(db: Executor, orgId: string | null, activeSince: Date, now: Date): Promise<FleetSummary> {
    const own = orgId === null ? sql`true` : sql`org_id = ${orgId}`
    const { rows } = await sql<{ platform: Platform; minutes: number; total: number; active: number }>`
      select platform,
        least(greatest(floor(date_part('epoch', ${now}::timestamptz - last_heartbeat) / 60), 0), ${HEARD_MINUTES})::integer as minutes,
        count(*) as total,
        count(*) filter (where status = 'active' and last_heartbeat >= ${activeSince}) as active
      from devices where ${own} group by 1, 2`.execute(db)
    const sum = (field: 'total' | 'active', some = rows) => some.reduce((all, row) => all + row[field], 0)
    const platforms = [...new Set(rows.map((row) => row.platform))].map((platform) => {
      const own = rows.filter((row) => row.platform === platform)
      return { platform, total: sum('total', own), active: sum('active', own) }
    })
    return {
      total: sum('total'),
      active: sum('active'),
      platforms: platforms.sort((a, b) => b.total - a.total),
      lastHeard: Array.from({ length: HEARD_MINUTES }, (_, minute) =>
        sum(
          'total',
          rows.filter((row) => row.minutes === minute),
        ),
      ),
    }
  },
})

const escaped = (text: string): string => text.replace(/[\\%_]/g, (sign) => `\\${sign}`)

/** Letters of ASCII match the same ones in every collation, and in that of bytes a third faster. */
const nameFor = (text: string): RawBuilder<unknown> =>
  /^[\x20-\x7e]*$/.test(text) ? sql`device_id collate "C"` : sql`device_id`

const matching = (search: DeviceSearch): RawBuilder<unknown> => {
  const conditions: RawBuilder<unknown>[] = [search.orgId === null ? sql`true` : sql`org_id = ${search.orgId}`]
  if (search.text !== '') conditions.push(sql`${nameFor(search.text)} ilike ${`%${escaped(search.text)}%`}`)
  if (search.platform !== undefined) conditions.push(sql`platform = ${search.platform}`)
  if (search.status === 'active') conditions.push(sql`status = 'active' and last_heartbeat >= ${search.activeSince}`)
  if (search.status === 'inactive') {
    conditions.push(sql`(status <> 'active' or last_heartbeat < ${search.activeSince})`)
  }
  return sql.join(conditions, sql` and `)
}

export type DeviceSearchStore = ReturnType<typeof createDeviceSearchStore>
