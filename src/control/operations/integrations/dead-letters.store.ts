import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import { CURRENT_EVENT } from './integration-work.report.ts'
import type { LogEvent } from './log-messages.ts'

export interface DeadLetter {
  readonly id: number
  readonly event: LogEvent
  readonly reason: string
  readonly at: Date
}

/** One that a replay is sending; `lease` differs from any earlier or later one. */
export type LeasedLetter = DeadLetter & { readonly lease: string }

/** Events that were given up, until a replay delivers them; `deliveriesStore.setAside` adds them. */
export const deadLettersStore = {
  /** Oldest first. */
  async deadLetters(db: Executor, id: string, limit: number): Promise<DeadLetter[]> {
    const { rows } = await sql<{ id: number; event: LogEvent; reason: string; at: Date }>`
      select id, ${CURRENT_EVENT} as event, reason, at from integration_dead_letters
      where integration_id = ${id} order by id limit ${limit}`.execute(db)
    return rows
  },

  /** Leases the next letter after this one that no other replay holds; null if there is none. */
  async claimDeadLetter(db: Executor, id: string, after: number): Promise<LeasedLetter | null> {
    const { rows } = await sql<LeasedLetter>`
      update integration_dead_letters set lease_until = clock_timestamp() + interval '30 seconds' where id = (
        select id from integration_dead_letters
        where integration_id = ${id} and id > ${after} and (lease_until is null or lease_until <= now())
        order by id limit 1 for update skip locked)
      returning id, ${CURRENT_EVENT} as event, reason, at, lease_until::text as lease`.execute(db)
    return rows[0] ?? null
  },

  /** After a failed attempt: the next replay may try again at once. */
  async releaseDeadLetter(db: Executor, { id, lease }: LeasedLetter): Promise<void> {
    await sql`
      update integration_dead_letters set lease_until = null where id = ${id} and lease_until = ${lease}::timestamptz`.execute(
      db,
    )
  },

  /** False if another replay holds it by now, or it is gone. */
  async deleteDeadLetter(db: Executor, { id, lease }: LeasedLetter): Promise<boolean> {
    const { rows } = await sql`
      delete from integration_dead_letters where id = ${id} and lease_until = ${lease}::timestamptz returning id`.execute(
      db,
    )
    return rows.length > 0
  },
}
