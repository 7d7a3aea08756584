import { type RawBuilder, type Selectable, sql } from 'kysely'
import { TOO_OLD } from '../../../domain/failure-reasons.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundParticipantRow } from '../../../platform/db/training-rows.ts'
import { selectionStore } from '../../fleet/selection/selection.service.ts'
import { isDueAt } from './stored-round.store.ts'

/**
 * `absent`: it did not fetch the plan in time, or stopped sending heartbeats while it trained; its place is open to others, and
 * its update is still accepted.
 */
export type ParticipantState = 'selected' | 'delivered' | 'failed' | 'absent'

export interface Participant {
  /** The round that counts its update; in an asynchronous job, perhaps a later one than it trains from. */
  readonly roundId: string
  /** The round whose model it trains from, if it is an earlier one. */
  readonly baseRoundId: string | null
  readonly state: ParticipantState
  readonly chosen: 'drawn' | 'starter' | 'joined'
  readonly fetchedAt: Date | null
  readonly failureReason: string | null
}

/** Identifies a device in a round. */
export interface ParticipantKey {
  readonly roundId: string
  /** Internal id. */
  readonly deviceId: string
}

/** Devices that take part in rounds. */
export const participantsStore = {
  async insertAll(
    db: Executor,
    roundId: string,
    chosen: { readonly starter: string | null; readonly drawn: readonly string[] },
    now: Date,
  ): Promise<void> {
    await sql`
      insert into round_participants (round_id, device_id, state, chosen, selected_at, acknowledged_at)
      select ${roundId}, id, 'selected', case when id = ${chosen.starter}::uuid then 'starter' else 'drawn' end, ${now},
        case when id = ${chosen.starter}::uuid then ${now}::timestamptz end
      from unnest(${[...(chosen.starter === null ? [] : [chosen.starter]), ...chosen.drawn]}::uuid[]) as c (id)
    `.execute(db)
  },

  /**
   * Records that devices have fetched the plans of open rounds, including devices that were carried over into a later round.
   * Schedules a review of rounds that lack devices: it may now be known that they cannot be completed.
   */
  async acknowledge(db: Executor, fetched: readonly ParticipantKey[], now: Date): Promise<void> {
    await sql`
      with asked as (
        select distinct round_id, device_id
        from unnest(${fetched.map(({ roundId }) => roundId)}::uuid[], ${fetched.map(({ deviceId }) => deviceId)}::uuid[])
          as asked (round_id, device_id)
      ), fetched as (
        select p.round_id, p.device_id from asked join round_participants p on p.device_id = asked.device_id
          and (p.round_id = asked.round_id or p.base_round_id = asked.round_id)
        where p.acknowledged_at is null and p.state in ('selected', 'absent')
      ), held as materialized (
        select id from rounds where id in (select round_id from fetched) and status = 'active'
        order by id for no key update
      ), marked as (
        update round_participants p set acknowledged_at = ${now}
        from held join fetched on fetched.round_id = held.id
        where p.round_id = fetched.round_id and p.device_id = fetched.device_id and p.acknowledged_at is null
        returning p.round_id
      )
      update rounds r set review_at = least(r.review_at, ${now}::timestamptz)
      where r.id in (select round_id from marked) and r.taking_part < r.min_devices`.execute(db)
  },

  /** The device's part in the round, or in the later round of an asynchronous job that has taken the device over. */
  async find(db: Executor, roundId: string, deviceId: string): Promise<Participant | null> {
    return (await this.findAll(db, [{ roundId, deviceId }]))[0]!
  },

  /** The same for many devices, in the given order. */
  async findAll(db: Executor, requested: readonly ParticipantKey[]): Promise<(Participant | null)[]> {
    if (requested.length === 0) return []
    const rounds = [...new Set(requested.map(({ roundId }) => roundId))]
    const devices = [...new Set(requested.map(({ deviceId }) => deviceId))]
    const { rows } = await sql<Selectable<RoundParticipantRow>>`
      select * from round_participants where device_id = any(${devices}::uuid[])
        and (round_id = any(${rounds}::uuid[]) or base_round_id = any(${rounds}::uuid[]))`.execute(db)
    const began = new Map(rows.map((row) => [`${row.base_round_id} ${row.device_id}`, fromRow(row)]))
    const taking = new Map(rows.map((row) => [`${row.round_id} ${row.device_id}`, fromRow(row)]))
    return requested.map(({ roundId, deviceId }) => {
      const key = `${roundId.toLowerCase()} ${deviceId}`
      return taking.get(key) ?? began.get(key) ?? null
    })
  },

  /**
   * Carries devices that still train in an asynchronous job's ended round over to its next one. Each keeps the model it has, if
   * that model is recent enough and its round has not timed out. Fails the others; returns how many were carried over.
   */
  async carryOver(
    db: Executor,
    move: { readonly from: string; readonly to: string; readonly oldestStep: number; readonly now: Date },
  ): Promise<number> {
    const { rows } = await sql`
      update round_participants p set round_id = ${move.to}, base_round_id = b.id
      from rounds b
      where p.round_id = ${move.from} and p.state = 'selected' and b.id = coalesce(p.base_round_id, p.round_id)
        and (b.plan->>'step')::int >= ${move.oldestStep} and b.timeout_at > ${move.now}
      returning p.device_id`.execute(db)
    await this.failTheRest(db, move.from, { reason: TOO_OLD, missed: true }, move.now)
    return rows.length
  },

  /**
   * Records that devices fetched the models of open rounds. Counts those that did so for the first time and were not yet
   * counted with an update. Locks rounds before their participants, as everywhere.
   */
  async markFetched(db: Executor, fetched: readonly ParticipantKey[], now: Date): Promise<void> {
    await sql`
      with asked as (
        select distinct round_id, device_id
        from unnest(${fetched.map(({ roundId }) => roundId)}::uuid[], ${fetched.map(({ deviceId }) => deviceId)}::uuid[])
          as asked (round_id, device_id)
      ), held as materialized (
        select id from rounds where id in (select round_id from asked) and status = 'active' and not ${isDueAt(now)}
        order by id for no key update
      ), marked as (
        update round_participants p set fetched_at = ${now}, acknowledged_at = coalesce(p.acknowledged_at, ${now})
        from held join asked on asked.round_id = held.id
        where p.round_id = asked.round_id and p.device_id = asked.device_id
          and p.fetched_at is null and p.state <> 'delivered'
        returning p.round_id
      )
      update rounds r set participated_devices = participated_devices + counted.devices
      from (select round_id, count(*) as devices from marked group by round_id) as counted
      where r.id = counted.round_id`.execute(db)
  },

  /**
   * Makes devices that were carried over into these rounds, and that now fetch the plan or model, train from these rounds
   * instead of the ones they began in. Devices that have delivered stay unchanged. Locks rounds before their participants, as
   * everywhere.
   */
  async rebase(db: Executor, fetched: readonly ParticipantKey[]): Promise<void> {
    const moves = sql`p.base_round_id is not null and p.state in ('selected', 'absent')`
    await sql`
      with asked as (
        select distinct round_id, device_id
        from unnest(${fetched.map(({ roundId }) => roundId)}::uuid[], ${fetched.map(({ deviceId }) => deviceId)}::uuid[])
          as asked (round_id, device_id)
      ), moving as (
        select p.round_id, p.device_id from asked join round_participants p using (round_id, device_id) where ${moves}
      ), held as materialized (
        select id from rounds where id in (select round_id from moving) order by id for no key update
      )
      update round_participants p set base_round_id = null
      from held join moving on moving.round_id = held.id
      where p.round_id = moving.round_id and p.device_id = moving.device_id and ${moves}`.execute(db)
  },

  /** Ends one device's part in a round. */
  async report(
    db: Executor,
    part: { roundId: string; deviceId: string; state: 'delivered' | 'failed'; reason: string | null },
    now: Date,
  ): Promise<void> {
    await db
      .updateTable('round_participants')
      .set((eb) => ({
        state: part.state,
        failure_reason: part.reason,
        reported_at: now,
        acknowledged_at: eb.fn.coalesce('acknowledged_at', eb.val(now)),
      }))
      .where('round_id', '=', part.roundId)
      .where('device_id', '=', part.deviceId)
      .execute()
  },

  /** Fails these devices unless they have delivered; returns how many had a place, and how many failed. */
  async failAll(
    db: Executor,
    roundId: string,
    { deviceIds, reason }: { readonly deviceIds: readonly string[]; readonly reason: string },
    now: Date,
  ): Promise<{ readonly places: number; readonly failed: number }> {
    const { rows } = await sql<{ had_place: boolean }>`
      update round_participants p set state = 'failed', failure_reason = ${reason}, reported_at = ${now}
      from round_participants before
      where p.round_id = ${roundId} and p.device_id = any(${[...deviceIds]}::uuid[]) and p.state in ('selected', 'absent')
        and before.round_id = p.round_id and before.device_id = p.device_id
      returning before.state = 'selected' as had_place`.execute(db)
    return { places: rows.filter(({ had_place }) => had_place).length, failed: rows.length }
  },

  /** Fails the devices that have not delivered; returns the round's total of failed devices. `missed`: they had enough time. */
  async failTheRest(
    db: Executor,
    roundId: string,
    why: { readonly reason: string; readonly missed: boolean },
    now: Date,
  ): Promise<number> {
    const { rows } = await sql<{ device_id: string }>`
      update round_participants set state = 'failed', failure_reason = coalesce(failure_reason, ${why.reason}),
        reported_at = coalesce(reported_at, ${now})
      where round_id = ${roundId} and state in ('selected', 'absent') returning device_id`.execute(db)
    if (why.missed && rows.length > 0) {
      await selectionStore.markMissing(
        db,
        rows.map((row) => row.device_id),
        now,
      )
    }
    const { failed } = await db
      .selectFrom('round_participants')
      .select((eb) => eb.fn.countAll<number>().as('failed'))
      .where('round_id', '=', roundId)
      .where('state', '=', 'failed')
      .executeTakeFirstOrThrow()
    return failed
  },
}

/** Device `d` has a part in the round. */
export const hasPartIn = (roundId: string): RawBuilder<boolean> => sql<boolean>`exists (
  select from round_participants p where p.round_id = ${roundId} and p.device_id = d.id)`

export const fromRow = (row: Selectable<RoundParticipantRow>): Participant => ({
  roundId: row.round_id,
  baseRoundId: row.base_round_id,
  state: row.state as ParticipantState,
  chosen: row.chosen as Participant['chosen'],
  fetchedAt: row.fetched_at,
  failureReason: row.failure_reason,
})
