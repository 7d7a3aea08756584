import { type RawBuilder, sql } from 'kysely'
import type { DeviceStatus, Platform } from '../../../domain/device.ts'
import type { DeviceFilter } from '../../../domain/device-filter.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { filterSql } from './device-filter.store.ts'
import { fromRow, LISTED_COLUMNS, type ListedRow, type StoredDevice } from './devices.store.ts'

const SORTS = ['device_id', 'last_seen', 'created'] as const
export type DeviceSort = (typeof SORTS)[number]

export interface DeviceSearch {
  /** null for all organizations. */
  readonly orgId: string | null
  /** With those of an organization, also devices without one. */
  readonly withUnbound: boolean
  /** A part of the device_id, in any case. */
  readonly text: string
  /** The whole device_id. */
  readonly deviceId: string | undefined
  readonly platform?: Platform | undefined
  readonly status?: DeviceStatus | undefined
  /** May be empty. */
  readonly filter: DeviceFilter
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
  /** For each minute, the number of devices last heard from in it, the current minute first. */
  readonly lastHeard: readonly number[]
}

const COLUMNS = { device_id: sql`device_id`, last_seen: sql`last_heartbeat`, created: sql`created_at` } as const
const MAX_COUNTED = 100_000
/** The number of matches that a search by part of a name can find, count, and sort quickly. */
const MAX_FOUND = 10_000
/** The number of names that are read in order, in a few milliseconds, to find a page of matches. */
const NEAR = 5000
const HEARD_MINUTES = 60

interface Order {
  readonly sort: DeviceSort
  readonly descending: boolean
  readonly limit: number
}

const directionOf = ({ descending }: Order): RawBuilder<unknown> => (descending ? sql`desc` : sql`asc`)

/** Returns the first devices of `source`, in order. Without an index, sorting whole rows would take twice as long. */
const pageOf = async (db: Executor, source: RawBuilder<unknown>, order: Order): Promise<StoredDevice[]> => {
  const column = COLUMNS[order.sort]
  const direction = directionOf(order)
  const { rows } = await sql<ListedRow>`
    with page as materialized (select id, ${column} as value from ${source} order by ${column} ${direction}, id ${direction} limit ${order.limit})
    select ${LISTED_COLUMNS} from page join devices using (id) order by page.value ${direction}, id ${direction}`.execute(
    db,
  )
  return rows.map(fromRow)
}

export const deviceSearchStore = {
  /** Returns the page after `after` in the order of `sort`. Each page costs the same, however far down it is. */
  async page(db: Executor, search: DeviceSearch, { after, ...order }: Order & { after: Position | null }) {
    const { sort, descending } = order
    const column = COLUMNS[sort]
    if (after === null) return pageOf(db, sql`devices where ${matching(search)}`, order)
    const value = sort === 'device_id' ? sql`${after.value}::text` : sql`${after.value}::timestamptz`
    const behind = sql`(${column}, id) ${descending ? sql`<` : sql`>`} (${value}, ${after.id}::uuid)`
    return pageOf(db, sql`devices where ${matching(search)} and ${behind}`, order)
  },

  /**
   * Returns the first page, and the number of matches, at most 10,000. Most parts of names occur in few names: those are
   * found and counted in one pass, over every device if no index covers parts of names. If a part occurs in many names, a
   * page is often found near the beginning of the names; otherwise all matches are found, and only the first are kept.
   */
  async firstFound(
    db: Executor,
    search: DeviceSearch,
    order: Order,
  ): Promise<{ devices: StoredDevice[]; total: number }> {
    const column = COLUMNS[order.sort]
    const direction = directionOf(order)
    // With the limit in `matching`, PostgreSQL would prefer a scan of all devices to the index of parts.
    const { rows } = await sql<ListedRow & { total: number }>`
      with matching as materialized (select id, ${column} as value from devices where ${matching(search)}),
        found as materialized (select * from matching limit ${MAX_FOUND + 1}),
        first as (select id, value from found order by value ${direction}, id ${direction} limit ${order.limit})
      select ${LISTED_COLUMNS}, (select count(*) from found) as total from first join devices using (id)
      order by first.value ${direction}, id ${direction}`.execute(db)
    const total = rows[0]?.total ?? 0
    if (total <= MAX_FOUND) return { devices: rows.map(fromRow), total }

    if (order.sort === 'device_id') {
      const near = sql`(select * from devices order by device_id ${direction}, id ${direction} limit ${NEAR}) as devices`
      const devices = await pageOf(db, sql`${near} where ${matching(search)}`, order)
      if (devices.length === order.limit) return { devices, total: MAX_FOUND }
    }
    // `offset 0` keeps PostgreSQL from walking an index in this order from its beginning to the matching devices.
    const all =
      order.sort === 'last_seen'
        ? sql`devices where ${matching(search)}`
        : sql`(select * from devices where ${matching(search)} offset 0) as devices`
    return { devices: await pageOf(db, all, order), total: MAX_FOUND }
  },

  /** Counts the matches, up to 100,000. */
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
}

const escaped = (text: string): string => text.replace(/[\\%_]/g, (sign) => `\\${sign}`)

/** ASCII letters match the same ones in every collation, and a third faster in that of bytes. */
const nameFor = (text: string): RawBuilder<unknown> =>
  /^[\x20-\x7e]*$/.test(text) ? sql`device_id collate "C"` : sql`device_id`

const matching = (search: DeviceSearch): RawBuilder<unknown> => {
  const conditions: RawBuilder<unknown>[] = []
  if (search.orgId === null) conditions.push(sql`true`)
  else conditions.push(sql`(org_id = ${search.orgId} ${search.withUnbound ? sql`or org_id is null` : sql``})`)
  if (search.text !== '') conditions.push(sql`${nameFor(search.text)} ilike ${`%${escaped(search.text)}%`}`)
  if (search.deviceId !== undefined) conditions.push(sql`device_id = ${search.deviceId}`)
  if (search.platform !== undefined) conditions.push(sql`platform = ${search.platform}`)
  if (search.status === 'active') conditions.push(sql`status = 'active' and last_heartbeat >= ${search.activeSince}`)
  if (search.status === 'inactive') {
    conditions.push(sql`(status <> 'active' or last_heartbeat < ${search.activeSince})`)
  }
  if (search.filter.length > 0) conditions.push(filterSql(search.filter))
  return sql.join(conditions, sql` and `)
}
