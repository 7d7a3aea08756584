import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** How attempts slow down: `free` of them without delay, then 1 s, 2 s, 4 s … between two, at most `maxSeconds`. */
export interface Pace {
  readonly free: number
  readonly maxSeconds: number
}

const KIND = 'failures'
/** How long after the last attempt a count is reset. */
const FORGOTTEN_MS = 60 * 60 * 1000

/** Counts failed sign-in attempts in the database, and thus over all processes. */
export const throttleStore = {
  /**
   * Counts an attempt as failed before it is made, or returns the seconds to wait. All concurrent attempts count. A longer wait
   * than `maxSeconds` is from a clock that was ahead, and does not count.
   */
  async admit(db: Executor, hash: string, { free, maxSeconds }: Pace, now: Date): Promise<number | null> {
    const at = now.getTime()
    const seconds = sql`case when sign_in_steps.attempts < ${free}::integer then 0
      else least(${maxSeconds}::integer, power(2, least(sign_in_steps.attempts - ${free}::integer, 20))) end`
    const next = sql`(sign_in_steps.data->>'at')::double precision + 1000 * (${seconds})`
    const counted = await sql`
      insert into sign_in_steps (hash, kind, data, attempts, expires_at)
      values (${hash}, ${KIND}, ${JSON.stringify({ at })}::jsonb, 1, ${new Date(at + FORGOTTEN_MS)})
      on conflict (hash) do update set
        attempts = case when sign_in_steps.expires_at <= ${now} then 1 else sign_in_steps.attempts + 1 end,
        data = excluded.data, expires_at = excluded.expires_at
      where sign_in_steps.expires_at <= ${now} or ${next} not between ${at + 1} and ${at + 1000 * maxSeconds}
      returning hash`.execute(db)
    if (counted.rows.length > 0) return null
    const { rows } = await sql<{ next: number }>`
      select ${next} as next from sign_in_steps where hash = ${hash}`.execute(db)
    return Math.max(1, Math.ceil(((rows[0]?.next ?? at) - at) / 1000))
  },

  /** Uncounts one attempt of each; earlier ones still count. */
  async takeBack(db: Executor, hashes: readonly string[]): Promise<void> {
    await sql`
      update sign_in_steps set attempts = greatest(attempts - 1, 0)
      where kind = ${KIND} and hash = any(${[...hashes].sort()}::text[])`.execute(db)
  },

  /** Resets the counters after a success. */
  async forget(db: Executor, hashes: readonly string[]): Promise<void> {
    if (hashes.length === 0) return
    await db.deleteFrom('sign_in_steps').where('kind', '=', KIND).where('hash', 'in', hashes).execute()
  },
}
