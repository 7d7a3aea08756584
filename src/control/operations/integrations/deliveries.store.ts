import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { OutboxRow } from '../../../platform/db/operations-rows.ts'
import type { Position } from '../events/outbox.service.ts'
import { type Batch, fromRow, type IntegrationRecord, type StoredIntegration } from './integrations.store.ts'
import type { LogEvent } from './log-messages.ts'

/** One that this process has leased, by the database's clock; `lease` differs from any earlier or later one. */
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

/** The position of an event in its source. */
export type Place =
  | { readonly from: 'events'; readonly position: Position }
  | { readonly from: 'audit'; readonly orgId: string; readonly seq: number }

export interface PlacedEvent {
  readonly event: LogEvent
  readonly place: Place
}

/** What a training integration has delivered of a job, or of a round without one. */
export interface StoredRun {
  readonly runId: string | null
  readonly sent: string | null
}

const batchOf = (places: readonly Place[]): Batch => ({
  event: places.findLast((place) => place.from === 'events')?.position ?? null,
  audit: Object.fromEntries(
    places.flatMap((place) => (place.from === 'audit' ? [[place.orgId, place.seq] as const] : [])),
  ),
})

/** Sets the cursors to the last of these delivered places. */
const movedTo = (places: readonly Place[]) => {
  const { event, audit } = batchOf(places)
  return sql`cursor_tx = coalesce(${event?.tx ?? null}::xid8, cursor_tx),
    cursor_id = coalesce(${event?.id ?? null}, cursor_id),
    audit_cursor = audit_cursor || ${JSON.stringify(audit)}::jsonb, batch = null`
}

/** A lease that has expired: any process may claim it, and its time is when it was last held, by the database's clock. */
const RELEASED = sql`now()`

/** Events after its cursor that it may see. */
const WAITING_EVENTS = sql`(i.org_id is null or e.org_id = i.org_id) and (i.topics is null or e.subject_kind = any(i.topics))
  and (i.cursor_id is null or (e.tx, e.id) > (i.cursor_tx, i.cursor_id))`

/** Those that can be delivered: events of an older transaction that is still open may yet appear before others. */
const DELIVERABLE_EVENTS = sql`e.tx < pg_snapshot_xmin(pg_current_snapshot()) and ${WAITING_EVENTS}`

/** Names in the audit log can be erased, so a dead letter does not keep a copy. */
const withoutNames = (event: LogEvent): LogEvent => {
  if (!event.type.startsWith('audit.')) return event
  return { ...event, payload: { ...event.payload, actor_name: null, object_name: null, address: null } }
}

/** What integrations have delivered, what is pending, and what was given up. */
export const deliveriesStore = {
  async backlog(db: Executor, id: string): Promise<Backlog> {
    const { rows } = await sql<{ pending: number; oldest: Date | null; dead_letters: number }>`
      select count(e.id) as pending, min(e.at) as oldest,
        (select count(*) from integration_dead_letters where integration_id = ${id}) as dead_letters
      from integrations i join events_outbox e on i.kind = 'logs' and ${WAITING_EVENTS} where i.id = ${id}`.execute(db)
    const [row] = rows
    return { pending: row?.pending ?? 0, oldest: row?.oldest ?? null, deadLetters: row?.dead_letters ?? 0 }
  },

  /**
   * Leases up to `limit` integrations that are due and have something to send: metrics, events, or work (`withWork`). At most
   * `first` of them have never delivered anything, and at most `retries` failed last time. Those due later than any delivery
   * schedules are due now, because the clock was set back, unless another process, whose clock may be ahead, has held them in
   * the last two minutes.
   */
  async claim(
    db: Executor,
    {
      now,
      limit,
      first,
      retries,
      withWork,
    }: { now: Date; limit: number; first: number; retries: number; withWork: readonly string[] },
  ): Promise<LeasedIntegration[]> {
    const due = (condition: RawBuilder<boolean>, most: number) => sql`(
      select i.id, i.next_at from integrations i
      where ${condition} and not i.paused and (i.next_at <= ${now}
          or i.next_at > ${now}::timestamptz + case when i.failures = 0 then interval '2 minutes' else interval '2 hours' end
            and (i.lease_until is null or i.lease_until <= now() - interval '2 minutes'))
        and (i.lease_until is null or i.lease_until <= now())
        and (i.kind = 'metrics' or i.id = any(${[...withWork]}::uuid[])
          or i.kind = 'logs' and exists (select 1 from events_outbox e where ${DELIVERABLE_EVENTS}))
      order by i.next_at limit ${most} for update skip locked)`
    const { rows } = await sql<IntegrationRecord & { lease: string }>`
      update integrations set lease_until = now() + interval '30 seconds' where id in (
        select id from (
          select * from ${due(sql`i.failures = 0 and i.delivered_at is not null`, limit)} as usual
          union all select * from ${due(sql`i.failures = 0 and i.delivered_at is null`, Math.min(first, limit))} as first
          union all select * from ${due(sql`i.failures > 0`, Math.min(retries, limit))} as retries) as due
        order by next_at limit ${limit})
      returning *, cursor_tx::text as cursor_tx, lease_until::text as lease`.execute(db)
    return rows.map((row) => ({ ...fromRow(row), lease: row.lease }))
  },

  /** The next events to deliver, in order, each with its place. */
  async pendingEvents(db: Executor, id: string, limit: number): Promise<PlacedEvent[]> {
    const { rows } = await sql<Omit<Selectable<OutboxRow>, 'federation_id'>>`
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

  /** Call this before a request, so that a repetition of it has the same events. */
  async sending(db: Executor, { id, lease }: LeasedIntegration, places: readonly Place[]): Promise<void> {
    await sql`
      update integrations set batch = ${JSON.stringify(batchOf(places))}::jsonb
      where id = ${id} and lease_until = ${lease}::timestamptz`.execute(db)
  },

  /** After a delivery: moves the cursors and releases the lease; does nothing if the lease is over. */
  async delivered(
    db: Executor,
    { id, lease }: LeasedIntegration,
    places: readonly Place[],
    now: Date,
    nextAt: Date,
  ): Promise<void> {
    await sql`
      update integrations set ${movedTo(places)}, delivered_at = ${now}, next_at = ${nextAt},
        lease_until = ${RELEASED}, failures = 0 where id = ${id} and lease_until = ${lease}::timestamptz`.execute(db)
  },

  /** Releases the lease without a result: the next to claim it tries again. */
  async release(db: Executor, { id, lease }: LeasedIntegration): Promise<void> {
    await sql`update integrations set lease_until = ${RELEASED} where id = ${id} and lease_until = ${lease}::timestamptz`.execute(
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
        next_at = ${why.nextAt}, lease_until = ${RELEASED} where id = ${id} and lease_until = ${lease}::timestamptz`.execute(
      db,
    )
  },

  /**
   * Gives up on one event: stores it with the reason, and moves on. The 10,000 latest are kept. Returns false, and does
   * nothing, if the lease is over.
   */
  async setAside(
    tx: Executor,
    { id, lease }: LeasedIntegration,
    letter: { event: LogEvent; place: Place | null; reason: string; now: Date },
  ): Promise<boolean> {
    const { rows } = await sql`
      update integrations set ${movedTo(letter.place === null ? [] : [letter.place])},
        last_error = ${letter.reason}, last_error_at = ${letter.now}, next_at = ${letter.now}, lease_until = ${RELEASED}
      where id = ${id} and lease_until = ${lease}::timestamptz returning id`.execute(tx)
    if (rows.length === 0) return false
    // A run that is refused repeatedly is one letter.
    await sql`
      delete from integration_dead_letters where integration_id = ${id} and event ->> 'id' = ${letter.event.id}`.execute(
      tx,
    )
    await sql`
      insert into integration_dead_letters (integration_id, event, reason, at)
      values (${id}, ${JSON.stringify(withoutNames(letter.event))}::jsonb, ${letter.reason}, ${letter.now})`.execute(tx)
    await sql`
      delete from integration_dead_letters where integration_id = ${id} and id in (
        select id from integration_dead_letters where integration_id = ${id} order by id desc offset ${MAX_DEAD_LETTERS})`.execute(
      tx,
    )
    return true
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

  /** Absent fields stay unchanged. */
  async setRun(db: Executor, id: string, subjectId: string, run: Partial<StoredRun>): Promise<void> {
    const row = { ...('runId' in run && { run_id: run.runId }), ...('sent' in run && { sent: run.sent }) }
    await db
      .insertInto('integration_runs')
      .values({ integration_id: id, subject_id: subjectId, run_id: null, sent: null, ...row })
      .onConflict((conflict) => conflict.columns(['integration_id', 'subject_id']).doUpdateSet(row))
      .execute()
  },
}
