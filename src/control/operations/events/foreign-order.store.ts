import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/**
 * Events are ordered by transaction number. In a database restored from another server's dump, those numbers may be higher than
 * this server's: readers would wait for transactions that have not happened yet, and read newer events first. `renumber` then
 * gives all events new transaction numbers, from 1, in the same order; consecutive events share a number unless their ids
 * decrease, because within a number the ids decide the order. Returns whether it was necessary.
 */
export const foreignOrderStore = {
  async renumber(tx: Executor): Promise<boolean> {
    const { rows } = await sql<{ foreign: boolean }>`
      select exists (select from events_outbox where tx >= pg_snapshot_xmax(pg_current_snapshot()))
        or exists (select from integrations where cursor_tx >= pg_snapshot_xmax(pg_current_snapshot())) as foreign`.execute(
      tx,
    )
    if (!rows[0]!.foreign) return false
    await sql`lock table events_outbox, integrations in share row exclusive mode`.execute(tx)
    await sql`
      with positions as (
        select tx, id from events_outbox union select cursor_tx, cursor_id from integrations where cursor_tx is not null),
      ordered as (select tx, id, id < lag(id) over (order by tx, id) as back from positions),
      numbered as (
        select tx, id, (1 + count(*) filter (where back) over (order by tx, id))::text::xid8 as number from ordered),
      events as (
        update events_outbox e set tx = n.number from numbered n where n.tx = e.tx and n.id = e.id)
      update integrations i set cursor_tx = n.number from numbered n where n.tx = i.cursor_tx and n.id = i.cursor_id`.execute(
      tx,
    )
    return true
  },
}
