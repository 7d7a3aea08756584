import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { EventTopic } from '../../../domain/event-topics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { OutboxRow } from '../../../platform/db/operations-rows.ts'

export interface NewEvent {
  readonly orgId: string | null
  /** Active members of this federation see the event too; null for none. */
  readonly federationId: string | null
  readonly type: string
  /** Without an id it is about several of the kind. */
  readonly subject: { readonly kind: EventTopic; readonly id: string | null }
  readonly payload: Readonly<Record<string, unknown>>
}

/**
 * A position in the outbox. Events are ordered by the transaction that wrote them, then by number, so that a transaction
 * that commits late never adds an event before what was read.
 */
export interface Position {
  readonly tx: string
  readonly id: number
}

/** Compares transaction ids as bigints, because they may exceed the integers that a number represents exactly. */
export const isLater = (a: Position, b: Position): boolean => {
  const [txA, txB] = [BigInt(a.tx), BigInt(b.tx)]
  return txA === txB ? a.id > b.id : txA > txB
}

export interface StoredEvent extends NewEvent, Position {
  readonly at: Date
  /** Every transaction up to its own has ended, so that nothing can come before it anymore. */
  readonly isSettled: boolean
}

/** Selects events by organization and topics. */
export interface EventFilter {
  /** Null for every organization. */
  readonly orgId: string | null
  /** The federations in which it is an active member. */
  readonly federationIds: readonly string[]
  readonly topics: readonly EventTopic[]
}

export const outboxStore = {
  async insertAll(tx: Executor, events: readonly NewEvent[], at: Date): Promise<void> {
    await tx
      .insertInto('events_outbox')
      .values(
        events.map(({ orgId, federationId, type, subject, payload }) => ({
          org_id: orgId,
          federation_id: federationId,
          type,
          subject_kind: subject.kind,
          subject_id: subject.id,
          payload: JSON.stringify(payload),
          at,
        })),
      )
      .execute()
  },

  /** Returns the position of the newest event, or null if there is none. */
  async head(db: Executor): Promise<Position | null> {
    const { rows } = await sql<Position>`
      select tx::text as tx, id from events_outbox where ${isSettled} order by events_outbox.tx desc, id desc limit 1`.execute(
      db,
    )
    return rows[0] ?? null
  },

  /** Returns the position of this event, or null if it no longer exists. */
  async find(db: Executor, id: number): Promise<Position | null> {
    const { rows } = await sql<Position>`select tx::text as tx, id from events_outbox where id = ${id}`.execute(db)
    return rows[0] ?? null
  },

  /** In order. */
  async after(db: Executor, position: Position | null, limit: number): Promise<StoredEvent[]> {
    const { rows } = await sql<EventRow>`
      select *, tx::text as tx, ${isSettled} as settled from events_outbox
      where ${isAfter(position)} order by events_outbox.tx, id limit ${limit}`.execute(db)
    return rows.map(fromRow)
  },

  /** Returns the events after `from`, up to and including `to`, in order. */
  async between(
    db: Executor,
    { from, to }: { readonly from: Position; readonly to: Position },
    { orgId, federationIds, topics }: EventFilter,
    limit: number,
  ): Promise<StoredEvent[]> {
    const { rows } = await sql<EventRow>`
      select *, tx::text as tx, true as settled from events_outbox
      where ${isAfter(from)} and (events_outbox.tx, id) <= (${to.tx}::xid8, ${to.id})
        and (${orgId}::text is null or org_id = ${orgId} or federation_id = any(${[...federationIds]}::uuid[])) and subject_kind = any(${[...topics]}::text[])
      order by events_outbox.tx, id limit ${limit}`.execute(db)
    return rows.map(fromRow)
  },

  /** Deletes some older events; returns how many. The newest stays: it tells readers that they have missed nothing. */
  async retire(db: Executor, before: Date, limit: number): Promise<number> {
    const { rows } = await sql`
      delete from events_outbox where id in (
        select id from events_outbox where at < ${before} and id < (select max(id) from events_outbox)
        order by id limit ${limit})
      returning id`.execute(db)
    return rows.length
  },
}

type EventRow = Selectable<OutboxRow> & { readonly settled: boolean }

const isSettled = sql<boolean>`(events_outbox.tx < pg_snapshot_xmin(pg_current_snapshot()))`

const isAfter = (position: Position | null): RawBuilder<boolean> =>
  position === null ? sql<boolean>`true` : sql<boolean>`(events_outbox.tx, id) > (${position.tx}::xid8, ${position.id})`

const fromRow = (row: EventRow): StoredEvent => ({
  id: row.id,
  tx: row.tx,
  orgId: row.org_id,
  federationId: row.federation_id,
  type: row.type,
  subject: { kind: row.subject_kind as EventTopic, id: row.subject_id },
  payload: row.payload,
  at: row.at,
  isSettled: row.settled,
})
