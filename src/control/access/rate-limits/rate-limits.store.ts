import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

const KEPT_MS = 5 * 60 * 1000

/** Request counts of busy keys, summed over the processes that share a database. */
export const rateLimitsStore = {
  /** Adds the counts of one process and returns the totals of all processes, by the same names. */
  async add(db: Executor, deltas: ReadonlyMap<string, number>, now: Date): Promise<Map<string, number>> {
    const names = [...deltas.keys()].sort()
    const { rows } = await sql<{ name: string; requests: number }>`
      insert into rate_counts as c (name, requests, counted_at)
      select name, requests, ${now}::timestamptz
      from unnest(${names}::text[], ${names.map((name) => deltas.get(name))}::bigint[]) as d (name, requests)
      on conflict (name) do update set requests = c.requests + excluded.requests, counted_at = excluded.counted_at
      returning name, requests`.execute(db)
    return new Map(rows.map((row) => [row.name, row.requests]))
  },

  async forgetOld(db: Executor, now: Date): Promise<void> {
    await db
      .deleteFrom('rate_counts')
      .where('counted_at', '<', new Date(now.getTime() - KEPT_MS))
      .execute()
  },
}
