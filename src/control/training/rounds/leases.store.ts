import { type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundRow } from '../../../platform/db/rows.ts'
import { fromRow, ROUND_COLUMNS, type StoredRound } from './stored-round.store.ts'

/** A process that is silent for so long has lost the round it was adding up. */
const LEASE = sql<Date>`now() + interval '15 seconds'`

/**
 * Who is adding up which round. Many processes may ask; the database gives each round to one of them at a time, by its own
 * clock: theirs may differ, and jump.
 */
export const createLeasesStore = () => ({
  /** Takes one round that waits for its aggregation and that nobody holds, or whose holder has fallen silent. */
  async claim(db: Executor, owner: string): Promise<StoredRound | null> {
    const { rows } = await sql<Selectable<RoundRow>>`
      update rounds set lease_owner = ${owner}, lease_until = ${LEASE}, attempts = attempts + 1
      where id = (
        select id from rounds where status = 'aggregating' and (lease_until is null or lease_until < now())
        order by timeout_at, id limit 1 for update skip locked)
      returning *`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** True while the lease is still ours. */
  async renew(db: Executor, id: string, owner: string): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('rounds')
      .set({ lease_until: LEASE })
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .where('status', '=', 'aggregating')
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** The round, locked, if this owner still holds it; null when another process has taken over. */
  async lockHeld(db: Executor, id: string, owner: string): Promise<StoredRound | null> {
    const row = await db
      .selectFrom('rounds')
      .select(ROUND_COLUMNS)
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .where('status', '=', 'aggregating')
      .forUpdate()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** `counts`: whether the attempt is one of those after which a round is given up. */
  async release(db: Executor, id: string, owner: string, { counts }: { readonly counts: boolean }): Promise<void> {
    await db
      .updateTable('rounds')
      .set(({ eb }) => ({ lease_owner: null, lease_until: null, attempts: eb('attempts', '-', counts ? 0 : 1) }))
      .where('id', '=', id)
      .where('lease_owner', '=', owner)
      .execute()
  },

  /** For a database that only one process can open: whoever held a lease before this start is dead. */
  async clearAll(db: Executor): Promise<void> {
    await db
      .updateTable('rounds')
      .set({ lease_owner: null, lease_until: null })
      .where('lease_owner', 'is not', null)
      .execute()
  },
})

export type LeasesStore = ReturnType<typeof createLeasesStore>
