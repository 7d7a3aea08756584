import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

type Members = ReadonlySet<string>

/**
 * Returns the changed groups by their row's `xmin`, the transaction that wrote it last: each change of members also updates the
 * count in the row. A deleted group has no row.
 */
const changesOf = async (db: Executor, groupIds: readonly string[]): Promise<Map<string, string>> => {
  const { rows } = await sql<{ id: string; changed: string }>`
    select id, xmin::text as changed from device_groups where id = any(${[...groupIds]}::uuid[])`.execute(db)
  return new Map(rows.map(({ id, changed }) => [id, changed]))
}

const read = async (db: Executor, groupIds: readonly string[]): Promise<Map<string, Members>> => {
  const { rows } = await sql<{ group_id: string; devices: string[] }>`
    select group_id, array_agg(device_id::text) as devices from device_group_members
    where group_id = any(${[...groupIds]}::uuid[]) group by group_id`.execute(db)
  return new Map(rows.map((row) => [row.group_id, new Set(row.devices)]))
}

/** Reads the internal ids of the devices in each of these groups; again only if the group has changed since. */
export const createGroupMembers = () => {
  let known: ReadonlyMap<string, { readonly changed: string; readonly members: Members }> = new Map()

  return async (db: Executor, groupIds: readonly string[]): Promise<ReadonlyMap<string, Members>> => {
    // Before the members: those that are added in between are read again next time.
    const changes = await changesOf(db, groupIds)
    // Read once: a call from a load that failed may still be running and replace `known`.
    const before = known
    const stale = [...changes].filter(([id, changed]) => before.get(id)?.changed !== changed).map(([id]) => id)
    const fresh = stale.length === 0 ? new Map<string, Members>() : await read(db, stale)
    const isStale = new Set(stale)
    const membersOf = (id: string): Members => (isStale.has(id) ? fresh.get(id) : before.get(id)?.members) ?? new Set()
    known = new Map([...changes].map(([id, changed]) => [id, { changed, members: membersOf(id) }]))
    return new Map([...known].map(([id, { members }]) => [id, members]))
  }
}
