import { type RawBuilder, sql } from 'kysely'
import { STOPPED_HEARTBEATS } from '../../../domain/failure-reasons.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { selectionStore } from '../../fleet/selection/selection.service.ts'

/** A round's failed and absent devices, and the reasons, most frequent first. */
export interface Failures {
  readonly selected: number
  readonly failed: number
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
}

/** The most devices that one transaction gives up: less than a second of work. */
export const MAX_GIVEN_UP = 2000

/**
 * The time in which one device must fetch the plan: a tenth of the timeout, at least two of its own heartbeat intervals, at
 * most half of the timeout.
 */
const allowance = (timeoutSeconds: number) => sql<string>`least(${timeoutSeconds / 2}::float8,
  greatest(${timeoutSeconds / 10}::float8, 2 * ${selectionStore.heartbeatSecondsOf(sql`p.device_id`)})) * interval '1 second'`

export interface Reviewed {
  readonly id: string
  readonly timeoutSeconds: number
  /** Since when the service has been running; null if devices that train keep their places without heartbeats. */
  readonly upSince: Date | null
}

/** Those whose heartbeats show that they train, as `d` of participant `p`; none if that does not count. */
const training = ({ timeoutSeconds, upSince: up }: Reviewed): RawBuilder<unknown> => sql`
  ${selectionStore.training({ seconds: timeoutSeconds / 10, up: up ?? new Date(0) })} d
    on ${up !== null} and d.id = p.device_id and d.last_heartbeat > p.selected_at and p.acknowledged_at is not null`

/** Selected devices that do not fetch the plan, or stop sending heartbeats while they train, and their effect on the round. */
export const absentDevicesStore = {
  /** Marks up to `MAX_GIVEN_UP` devices of the locked round as absent whose time has run out; returns how many. */
  async giveUp(db: Executor, round: Reviewed, now: Date): Promise<number> {
    const { rows } = await sql<{ device_id: string }>`
    with silent as materialized (
      select p.device_id from round_participants p join ${training(round)}
      where p.round_id = ${round.id} and p.state = 'selected' and d.silent_at <= ${now}
    ), due as materialized (
      select p.device_id from round_participants p where p.round_id = ${round.id} and p.state = 'selected'
        and case when p.acknowledged_at is null then p.selected_at + ${allowance(round.timeoutSeconds)} <= ${now}
          else p.device_id in (select device_id from silent) end
        and not exists (select from secure_rounds s where s.round_id = p.round_id and s.status <> 'advertising')
      limit ${MAX_GIVEN_UP}
    )
    update round_participants p set state = 'absent', reported_at = ${now},
      failure_reason = case when p.acknowledged_at is null
        then 'Did not fetch the plan within ' || round(extract(epoch from ${now}::timestamptz - p.selected_at))::text || ' s.'
        else ${STOPPED_HEARTBEATS} end
    where p.round_id = ${round.id} and p.device_id in (select device_id from due)
    returning p.device_id`.execute(db)
    await selectionStore.markMissing(
      db,
      rows.map((row) => row.device_id),
      now,
    )
    return rows.length
  },

  /** When the time of the next selected device runs out, or `later` if that depends on heartbeats; null if it cannot. */
  async nextTurnEnds(db: Executor, round: Reviewed, later: Date): Promise<Date | null> {
    const { rows } = await sql<{ at: Date | null }>`
    select min(case when p.acknowledged_at is null then p.selected_at + ${allowance(round.timeoutSeconds)}
      else coalesce(d.silent_at, ${round.upSince === null ? null : later}::timestamptz) end) as at
    from round_participants p left join ${training(round)}
    where p.round_id = ${round.id} and p.state = 'selected'`.execute(db)
    return rows[0]?.at ?? null
  },

  /** How many devices stopped sending heartbeats while they trained. */
  async countSilent(db: Executor, roundId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from round_participants p
    where p.round_id = ${roundId} and p.state = 'absent' and p.acknowledged_at < p.reported_at`.execute(db)
    return rows[0]!.count
  },

  /** How many devices of a secure round continue and have not failed; null while it still accepts new devices. */
  async countCohort(db: Executor, roundId: string): Promise<number | null> {
    const { rows } = await sql<{ count: number }>`
    select (select count(*)::int from round_participants p
        where p.round_id = s.round_id and p.state <> 'failed' and s.cohort -> 'cohort' ? p.device_id::text) as count
    from secure_rounds s where s.round_id = ${roundId} and s.status <> 'advertising'`.execute(db)
    return rows[0]?.count ?? null
  },

  /** How many participants were heard from in this round, whatever became of them. */
  async countLive(db: Executor, roundId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from round_participants p where p.round_id = ${roundId}
      and (p.acknowledged_at is not null or p.chosen <> 'drawn' or p.state in ('delivered', 'failed'))`.execute(db)
    return rows[0]!.count
  },

  /** How many were selected, how many of these failed or are absent, and the most frequent reasons. */
  async failures(db: Executor, roundId: string): Promise<Failures> {
    const { rows } = await sql<{ selected: number; reason: string | null; count: number }>`
    select (select count(*)::int from round_participants where round_id = ${roundId}) as selected,
      failure_reason as reason, count(*)::int as count
    from round_participants where round_id = ${roundId} and state in ('failed', 'absent')
    group by failure_reason order by count(*) desc, failure_reason`.execute(db)
    return {
      selected: rows[0]?.selected ?? 0,
      failed: rows.reduce((sum, row) => sum + row.count, 0),
      reasons: rows.map(({ reason, count }) => ({ reason: reason ?? 'no reason given', count })),
    }
  },
}

/** Device `d` may still join the round: it has no part in it, or was absent and has been heard from since. */
export const canStillJoin = (roundId: string): RawBuilder<boolean> => sql<boolean>`not exists (
  select from round_participants p where p.round_id = ${roundId} and p.device_id = d.id
    and (p.state = 'absent' and (d.last_heartbeat > p.reported_at or p.acknowledged_at >= p.reported_at)) is not true)`
