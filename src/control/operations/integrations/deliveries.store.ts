import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { Position } from '../events/outbox.service.ts'
import { fromRow, type IntegrationRecord, type StoredIntegration } from './integrations.store.ts'
import type { LogEvent } from './log-messages.ts'

/** One that this process has for a while, by the database's clock; `lease` is unlike any earlier or later one. */
export interface LeasedIntegration extends StoredIntegration {
  readonly lease: string
}

const MAX_DEAD_LETTERS = 10_000

/** How far an integration is behind. */
export interface Backlog {
  readonly pending: number
  readonly oldest: Date | null
  readonly deadLetters: number
}

/** Where an event stands in what it was read from. */
export type Place =
  | { readonly from: 'events'; readonly position: Position }
  | { readonly from: 'audit'; readonly orgId: string; readonly seq: number }

export interface PlacedEvent {
  readonly event: LogEvent
  readonly place: Place
}

/** What an integration of training has delivered of a job, or of a round without one. */
export interface StoredRun {
  readonly runId: string | null
  readonly sent: string | null
}

export interface DeadLetter {
  readonly id: number
  readonly event: LogEvent
  readonly reason: string
  readonly at: Date
}

/** Where these places are the last that were delivered. */
const movedTo = (places: readonly Place[]) => {
  const event = places.findLast((place) => place.from === 'events')
  const entries = Object.fromEntries(
    places.flatMap((place) => (place.from === 'audit' ? [[place.orgId, place.seq] as const] : [])),
  )
  return sql`cursor_tx = coalesce(${event?.position.tx ?? null}::xid8, cursor_tx),
    cursor_id = coalesce(${event?.position.id ?? null}, cursor_id),
    audit_cursor = audit_cursor || ${JSON.stringify(entries)}::jsonb`
}

/** Events after its cursor that it may see. */
const WAITING_EVENTS = sql`(i.org_id is null or e.org_id = i.org_id) and (i.topics is null or e.subject_kind = any(i.topics))
  and (i.cursor_id is null or (e.tx, e.id) > (i.cursor_tx, i.cursor_id))`

/** Those that can be delivered: of an older transaction that is still open, events may yet appear before them. */
const DELIVERABLE_EVENTS = sql`e.tx < pg_snapshot_xmin(pg_current_snapshot()) and ${WAITING_EVENTS}`

/** What integrations have delivered, what waits for them, and what was given up. */
export const createDeliveriesStore = () => ({
  async backlog(db: Executor, id: string): Promise<Backlog> {
    const { rows } = await sql<{ pending: number; oldest: Date | null; dead_letters: number }>`
      select count(e.id) as pending, min(e.at) as oldest,
        (select count(*) from integration_dead_letters where integration_id = ${id}) as dead_letters
      from integrations i join events_outbox e on i.kind = 'logs' and ${WAITING_EVENTS} where i.id = ${id}`.execute(db)
    const [row] = rows
    return { pending: row?.pending ?? 0, oldest: row?.oldest ?? null, deadLetters: row?.dead_letters ?? 0 }
  },

  /** Takes those that are due and have something to send, `withWork` or in events, for this process, until the lease ends. */
  async claim(
    db: Executor,
    { now, limit, withWork }: { now: Date; limit: number; withWork: readonly string[] },
  ): Promise<LeasedIntegration[]> {
    const { rows } = await sql<IntegrationRecord & { lease: string }>`
      update integrations set lease_until = now() + interval '30 seconds' where id in (
        select i.id from integrations i
        where not i.paused and i.next_at <= ${now} and (i.lease_until is null or i.lease_until <= now())
          and (i.kind = 'metrics' or i.id = any(${[...withWork]}::uuid[])
            or i.kind = 'logs' and exists (select 1 from events_outbox e where ${DELIVERABLE_EVENTS}))
        order by i.next_at limit ${limit} for update skip locked)
      returning *, cursor_tx::text as cursor_tx, lease_until::text as lease`.execute(db)
    return rows.map((row) => ({ ...fromRow(row), lease: row.lease }))
  },

  /** The next events to deliver, in order, each with its place. */
  async pendingEvents(db: Executor, id: string, limit: number): Promise<PlacedEvent[]> {
    const { rows } = await sql<EventRow>`
      select e.id, e.tx::text as tx, e.org_id, e.type, e.subject_kind, e.subject_id, e.payload, e.at
      from integrations i join events_outbox e on ${DELIVERABLE_EVENTS} where i.id = ${id} order by e.tx, e.id limit ${limit}`.execute(
      db,
    )
    return rows.map((row) => ({
      place: { from: 'events', position: { tx: row.tx, id: row.id } },
      event: {
        id: String(row.id),
        type: row.type,
        org_id: row.org_id,
        subject: { kind: row.subject_kind, id: row.subject_id },
        payload: row.payload,
        time: row.at.toISOString(),
      },
    }))
  },

  /** After a delivery: moves on to what was delivered, and gives the lease back; nothing where that is over. */
  async delivered(
    db: Executor,
    { id, lease }: LeasedIntegration,
    places: readonly Place[],
    now: Date,
    nextAt: Date,
  ): Promise<void> {
    await sql`
      update integrations set ${movedTo(places)}, delivered_at = ${now}, next_at = ${nextAt},
        lease_until = null, failures = 0 where id = ${id} and lease_until = ${lease}::timestamptz`.execute(db)
  },

  /** Nothing came of it: the next to claim it tries again. */
  async release(db: Executor, { id, lease }: LeasedIntegration): Promise<void> {
    await sql`update integrations set lease_until = null where id = ${id} and lease_until = ${lease}::timestamptz`.execute(
      db,
    )
  },

  async failed(
    db: Executor,
    { id, lease }: LeasedIntegration,
    why: { error: string; now: Date; nextAt: Date },
  ): Promise<void> {
    await sql`
      update integrations set failures = failures + 1, last_error = ${why.error}, last_error_at = ${why.now},
        next_at = ${why.nextAt}, lease_until = null where id = ${id} and lease_until = ${lease}::timestamptz`.execute(
      db,
    )
  },

  /**
   * Gives up on one event: keeps it aside, with the reason, and goes on behind it. The 10,000 latest are kept. False, and nothing
   * is done, where the lease is over.
   */
  async setAside(
    tx: Executor,
    { id, lease }: LeasedIntegration,
    letter: { event: LogEvent; place: Place | null; reason: string; now: Date },
  ): Promise<boolean> {
    const { rows } = await sql`
      update integrations set ${movedTo(letter.place === null ? [] : [letter.place])},
        last_error = ${letter.reason}, last_error_at = ${letter.now}, next_at = ${letter.now}, lease_until = null
      where id = ${id} and lease_until = ${lease}::timestamptz returning id`.execute(tx)
    if (rows.length === 0) return false
    // A run that is refused time and again is one letter.
    await sql`
      delete from integration_dead_letters where integration_id = ${id} and event ->> 'id' = ${letter.event.id}`.execute(
      tx,
    )
    await sql`
      insert into integration_dead_letters (integration_id, event, reason, at)
      values (${id}, ${JSON.stringify(letter.event)}, ${letter.reason}, ${letter.now})`.execute(tx)
    await sql`
      delete from integration_dead_letters where integration_id = ${id} and id in (
        select id from integration_dead_letters where integration_id = ${id} order by id desc offset ${MAX_DEAD_LETTERS})`.execute(
      tx,
    )
    return true
  },

  /** Oldest first. */
  async deadLetters(db: Executor, id: string, limit: number): Promise<DeadLetter[]> {
    const { rows } = await sql<{ id: number; event: LogEvent; reason: string; at: Date }>`
      select id, event, reason, at from integration_dead_letters where integration_id = ${id} order by id limit ${limit}`.execute(
      db,
    )
    return rows
  },

  async run(db: Executor, id: string, subjectId: string): Promise<StoredRun> {
    const row = await db
      .selectFrom('integration_runs')
      .select(['run_id as runId', 'sent'])
      .where('integration_id', '=', id)
      .where('subject_id', '=', subjectId)
      .executeTakeFirst()
    return row ?? { runId: null, sent: null }
  },

  /** Absent fields do not change. */
  async setRun(db: Executor, id: string, subjectId: string, run: Partial<StoredRun>): Promise<void> {
    const row = { ...('runId' in run && { run_id: run.runId }), ...('sent' in run && { sent: run.sent }) }
    await db
      .insertInto('integration_runs')
      .values({ integration_id: id, subject_id: subjectId, run_id: null, sent: null, ...row })
      .onConflict((conflict) => conflict.columns(['integration_id', 'subject_id']).doUpdateSet(row))
      .execute()
  },

  async deleteDeadLetter(db: Executor, id: number): Promise<void> {
    await sql`delete from integration_dead_letters where id = ${id}`.execute(db)
  },
})

interface EventRow {
  readonly id: number
  readonly tx: string
  readonly org_id: string | null
  readonly type: string
  readonly subject_kind: string
  readonly subject_id: string | null
  readonly payload: Record<string, unknown>
  readonly at: Date
}

export type DeliveriesStore = ReturnType<typeof createDeliveriesStore>
