import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../db/open.ts'
import { drawOrdinals, type Random, sample } from '../../domain/sampling.ts'

/** Whose devices a round may select. */
export interface Scope {
  /** Null is the devices without an organisation; with a group and no federation, its members of any. */
  readonly orgIds: readonly (string | null)[] | 'any'
  readonly groupId: string | null
}

export interface Draw {
  readonly scope: Scope
  readonly count: number
  readonly activeSince: Date
  /** The device that started the round and takes part anyway. */
  readonly except: string | null
  /** Devices that still train in this round are left out. */
  readonly busyIn: string | null
  readonly random: Random
}

/** Where fewer numbers than this belong to a device that may be drawn, reading the organisation's devices costs less. */
const WORTH_DRAWING = 1 / 16

/** Which devices a round may select, and which it does. */
export const createSelectionStore = () => ({
  /**
   * Active devices of the scope, drawn uniformly without replacement: first among those that were heard from since they
   * registered, and only where these are too few among the others, of which some may never come. Numbers are drawn at
   * random and looked up, so that a draw among one organisation's devices does not scan the fleet; where few devices are
   * active, all of them are read instead.
   */
  async drawActive(db: Executor, draw: Draw): Promise<string[]> {
    if (draw.count <= 0) return []
    const eligible = eligibleFor(draw)
    const { scope } = draw
    const orgId =
      scope.groupId === null && scope.orgIds !== 'any' && scope.orgIds.length === 1 ? scope.orgIds[0] : undefined
    if (orgId !== undefined) {
      const { rows: sizes } = await sql<{ max: number | null; own: number | null }>`
        select (select max(ordinal) from devices) as max,
          (select devices from device_counts where org_id = ${orgId ?? ''}) as own`.execute(db)
      const [max, own] = [sizes[0]!.max ?? 0, sizes[0]!.own ?? 0]
      if (draw.count * 8 < own) {
        const drawn = new Set<string>()
        let share = own / max
        for (let attempt = 0; attempt < 3 && drawn.size < draw.count && share >= WORTH_DRAWING; attempt++) {
          const missing = draw.count - drawn.size
          // A quarter more than should do, because a number that has to be looked up costs a page read in a large fleet.
          const ordinals = drawOrdinals(max, Math.ceil((1.25 * missing) / share) + 8, draw.random)
          const { rows } = await sql<{ id: string }>`
            select id from devices d where ordinal = any(${ordinals}::bigint[]) and org_id is not distinct from ${orgId}
              and ${eligible} and ${WAS_HEARD}`.execute(db)
          for (const id of sample(rows, rows.length, draw.random)) if (drawn.size < draw.count) drawn.add(id.id)
          share = rows.length / ordinals.length
        }
        if (drawn.size === draw.count) return [...drawn]
      }
    }
    const { rows } = await sql<{ id: string }>`
      select id from devices d where ${within(scope)} and ${eligible} order by ${WAS_HEARD} desc, random()
      limit ${draw.count}`.execute(db)
    return rows.map((row) => row.id)
  },

  /** How many devices of the scope are active, and how many of these were heard from since they registered. */
  async countHeard(db: Executor, scope: Scope, activeSince: Date): Promise<{ active: number; heard: number }> {
    const { rows } = await sql<{ active: number; heard: number }>`
      select count(*)::int as active, (count(*) filter (where ${WAS_HEARD}))::int as heard from devices d
      where ${within(scope)} and d.status = 'active' and d.last_heartbeat >= ${activeSince}`.execute(db)
    return rows[0]!
  },

  /** How many devices of the scope are active; counting stops at `enough`. */
  async countActive(db: Executor, scope: Scope, activeSince: Date, enough: number | null = null): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (
        select from devices d where ${within(scope)} and d.status = 'active' and d.last_heartbeat >= ${activeSince}
        limit ${enough}) as active`.execute(db)
    return rows[0]!.count
  },
})

/** Registration counts as the first sign of life; a heartbeat came later. */
const WAS_HEARD = sql<boolean>`(d.last_heartbeat > d.created_at)`

const eligibleFor = (draw: Draw): RawBuilder<boolean> => sql<boolean>`
  d.status = 'active' and d.last_heartbeat >= ${draw.activeSince} and d.id is distinct from ${draw.except}
  and (${draw.busyIn}::uuid is null or not exists (
    select from round_participants p where p.round_id = ${draw.busyIn}::uuid and p.device_id = d.id))`

/** Said in words that the indexes on org_id and on members serve: a small scope in a large fleet reads only its own. */
const within = ({ orgIds, groupId }: Scope): RawBuilder<boolean> => {
  const ofGroup =
    groupId === null
      ? sql<boolean>`true`
      : sql<boolean>`d.id in (select m.device_id from device_group_members m where m.group_id = ${groupId})`
  if (orgIds === 'any') return ofGroup
  if (orgIds.length === 1 && orgIds[0] === null) return sql<boolean>`${ofGroup} and d.org_id is null`
  if (orgIds.length === 1) return sql<boolean>`${ofGroup} and d.org_id = ${orgIds[0]}`
  return sql<boolean>`${ofGroup} and d.org_id = any(${orgIds.filter((id) => id !== null)}::text[])`
}

export type SelectionStore = ReturnType<typeof createSelectionStore>
