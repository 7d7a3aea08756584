import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import { selectionStore } from '../../fleet/selection/selection.service.ts'

/** A round's failed and absent devices, and the reasons, most frequent first. */
export interface Failures {
  readonly selected: number
  readonly failed: number
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
}

/**
 * The time in which one device must fetch the plan: a tenth of the timeout, at least two of its own heartbeat intervals, at
 * most half of the timeout.
 */
const allowance = (timeoutSeconds: number) => sql<string>`least(${timeoutSeconds / 2}::float8,
  greatest(${timeoutSeconds / 10}::float8, 2 * ${selectionStore.heartbeatSecondsOf(sql`p.device_id`)})) * interval '1 second'`

/** Selected devices that do not fetch the plan, and their effect on the round. */
export const absentDevicesStore = {
  /** Marks devices of the locked round as absent if their time ran out without fetching the plan; returns how many. */
  async giveUp(
    db: Executor,
    round: { readonly id: string; readonly timeoutSeconds: number },
    now: Date,
  ): Promise<number> {
    const { rows } = await sql<{ device_id: string }>`
    update round_participants p set state = 'absent', reported_at = ${now},
      failure_reason = 'Did not fetch the plan within '
        || round(extract(epoch from ${now}::timestamptz - p.selected_at))::text || ' s.'
    where p.round_id = ${round.id} and p.state = 'selected' and p.acknowledged_at is null
      and p.selected_at + ${allowance(round.timeoutSeconds)} <= ${now}
      and not exists (select from secure_rounds s where s.round_id = p.round_id and s.status <> 'advertising')
    returning p.device_id`.execute(db)
    await selectionStore.markMissing(
      db,
      rows.map((row) => row.device_id),
      now,
    )
    return rows.length
  },

  /** When the time of the next selected device to fetch the plan runs out; null if all have fetched it. */
  async nextTurnEnds(
    db: Executor,
    round: { readonly id: string; readonly timeoutSeconds: number },
  ): Promise<Date | null> {
    const { rows } = await sql<{ at: Date | null }>`
    select min(p.selected_at + ${allowance(round.timeoutSeconds)}) as at
    from round_participants p
    where p.round_id = ${round.id} and p.state = 'selected' and p.acknowledged_at is null`.execute(db)
    return rows[0]?.at ?? null
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
    and (p.state = 'absent' and (d.last_heartbeat > p.reported_at or p.acknowledged_at is not null)) is not true)`
