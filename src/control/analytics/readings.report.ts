import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'
import type { Reading } from './reading.ts'
import type { Variable } from './variable.ts'

export interface Filters {
  readonly startTime: Date | undefined
  readonly endTime: Date | undefined
  readonly platforms: readonly string[] | undefined
}

export interface Requested {
  /** One or two. */
  readonly variables: readonly Variable[]
  /** Only devices of these organizations. */
  readonly orgIds: readonly string[]
  /** Only devices of these device groups, once for each group; null for every device once, grouped by its organization. */
  readonly deviceGroupIds: readonly string[] | null
  readonly filters: Filters
  /** Devices not heard from since then count as inactive. */
  readonly activeSince: Date
}

interface ReadingRow {
  at: number | string
  device: number
  group_id: string
  first: unknown
  second: unknown
}

const PAGE = 5000

export const createReadingsReport = (pageSize = PAGE) => ({
  /** Yields pages, so that a large fleet is never in memory at once. */
  async *readings(db: Executor, requested: Requested): AsyncGenerator<readonly Reading[]> {
    const { variables, orgIds, deviceGroupIds, filters } = requested
    const ofUpdates = variables.some(({ from }) => from === 'update')
    const [first, second] = variables.map((variable) => reportedValue(variable, requested.activeSince))
    const row = ofUpdates ? sql`u.id` : sql`d.ordinal`
    const group = deviceGroupIds === null ? sql`d.org_id` : sql`m.group_id`
    const heardAt = ofUpdates ? sql`u.created_at` : sql`d.last_heartbeat`
    const conditions = [sql`d.org_id = any(${[...orgIds]}::text[])`, sql`${first} is not null`]
    // Excludes updates of private rounds: no privacy budget covers what they reveal.
    if (ofUpdates) {
      conditions.push(sql`not exists (select from rounds r where r.id = u.round_id and r.privacy is not null)`)
    }
    if (second !== undefined) conditions.push(sql`${second} is not null`)
    if (deviceGroupIds !== null) conditions.push(sql`m.group_id = any(${[...deviceGroupIds]}::uuid[])`)
    if (filters.startTime !== undefined) conditions.push(sql`${heardAt} >= ${filters.startTime}::timestamptz`)
    if (filters.endTime !== undefined) conditions.push(sql`${heardAt} <= ${filters.endTime}::timestamptz`)
    if (filters.platforms !== undefined) conditions.push(sql`d.platform = any(${[...filters.platforms]}::text[])`)

    let after: ReadingRow | undefined
    for (;;) {
      const beyond =
        after === undefined ? [] : [beyondCursor(after, { row, group, ofUpdates, ofMembers: deviceGroupIds === null })]
      const { rows } = await sql<ReadingRow>`
        select ${row} as at, d.ordinal as device, ${group} as group_id, ${first} as first, ${second ?? sql`null`} as second
        from devices d
        ${ofUpdates ? sql`join updates u on u.device_id = d.id` : sql``}
        ${deviceGroupIds === null ? sql`` : sql`join device_group_members m on m.device_id = d.id`}
        where ${sql.join([...conditions, ...beyond], sql` and `)}
        order by ${row}, ${group} limit ${pageSize}`.execute(db)
      if (rows.length > 0) {
        yield rows.map(({ device, group_id, first, second }) => ({
          device,
          groupId: group_id,
          values: second === null ? [first] : [first, second],
        }))
      }
      if (rows.length < pageSize) return
      after = rows.at(-1)
    }
  },

  /** Device groups of these organizations, oldest first. */
  async deviceGroups(db: Executor, orgIds: readonly string[], limit: number): Promise<{ id: string; name: string }[]> {
    return db
      .selectFrom('device_groups')
      .select(['id', 'name'])
      .where('org_id', 'in', [...orgIds])
      .orderBy('ordinal')
      .limit(limit)
      .execute()
  },

  /** Device groups of these organizations with one of these ids or names, oldest first. */
  async deviceGroupsNamed(
    db: Executor,
    orgIds: readonly string[],
    idsOrNames: readonly string[],
  ): Promise<{ id: string; name: string }[]> {
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from device_groups where org_id = any(${[...orgIds]}::text[])
        and (id::text = any(${[...idsOrNames]}::text[]) or name = any(${[...idsOrNames]}::text[]))
      order by ordinal`.execute(db)
    return rows
  },
})

/** The first condition is redundant, but lets PostgreSQL use an index. */
const beyondCursor = (
  { at, group_id }: ReadingRow,
  {
    row,
    group,
    ofUpdates,
    ofMembers,
  }: {
    readonly row: RawBuilder<unknown>
    readonly group: RawBuilder<unknown>
    readonly ofUpdates: boolean
    readonly ofMembers: boolean
  },
): RawBuilder<unknown> => {
  const lastRow = ofUpdates ? sql`${at}::uuid` : sql`${at}::bigint`
  const lastGroup = ofMembers ? sql`${group_id}::text` : sql`${group_id}::uuid`
  return sql`${row} >= ${lastRow} and (${row}, ${group}) > (${lastRow}, ${lastGroup})`
}

/** Selects a value as JSON, so that numbers keep every digit and values their type; null if nothing is reported. */
const reportedValue = ({ from, name }: Variable, activeSince: Date): RawBuilder<unknown> => {
  const key = (column: RawBuilder<unknown>) => sql`nullif(${column} -> ${name}::text, 'null'::jsonb)`
  switch (from) {
    case 'update':
      return sql`to_jsonb(${sql.ref(`u.${name}`)})`
    case 'device':
      if (name === 'platform') return sql`to_jsonb(d.platform)`
      if (name === 'federation_member') return sql`to_jsonb(d.org_id)`
      return sql`to_jsonb(case when d.status = 'active' and d.last_heartbeat >= ${activeSince}::timestamptz
        then 'active'::text else 'inactive' end)`
    case 'metrics':
      return key(sql`d.metrics`)
    case 'capabilities':
      return key(sql`d.capabilities`)
    case 'either':
      return sql`coalesce(${key(sql`d.metrics`)}, ${key(sql`d.capabilities`)})`
  }
}

export type ReadingsReport = ReturnType<typeof createReadingsReport>
