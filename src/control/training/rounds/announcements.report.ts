import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { Announcements, JoinableRound, OpenDemand } from '../../fleet/heartbeats/heartbeats.service.ts'
import { HAS_FREE_PLACE } from './places.store.ts'

/** After a round ends, the next one may begin within this time. */
const NEXT_ROUND_MS = 60_000

/** Devices of an asynchronous round keep training during its aggregation, until the next round has taken them over. */
const BETWEEN_ROUNDS_MS = 30_000

interface AnnouncedRow {
  evaluating: { deviceId: string; roundId: string }[] | null
  pending: { deviceId: string; roundId: string; isPrivate: boolean }[] | null
  open: JoinableRound[] | null
  demands: OpenDemand[] | null
}

/** What announced rounds and jobs mean for devices. */
export const announcementsReport = {
  /** Which round awaits each of these devices, which rounds have free places, and which devices may soon train. */
  async announcedTo(db: Executor, deviceIds: readonly string[], now: Date): Promise<Announcements> {
    const { rows } = await sql<AnnouncedRow>`
      with announced as materialized (
        select id, org_id, group_id, federation_id, started_at, status, ended_at,
          privacy is not null as is_private, status = 'active' and timeout_at > ${now} as is_running,
          ${HAS_FREE_PLACE} as has_places, plan ? 'asynchronous' as goes_on, updates_deleted_at
        from rounds where id in (select subject_id from announcements)
      ), pending as (
        select distinct on (p.device_id) p.device_id, coalesce(p.base_round_id, p.round_id) as round_id,
          a.is_private and a.is_running as is_private
        from announced a join round_participants p on p.round_id = a.id and p.device_id = any(${deviceIds}::uuid[])
        where p.state = 'selected' and (a.is_running or (a.goes_on and (a.status = 'aggregating'
          or (a.ended_at > ${new Date(now.getTime() - BETWEEN_ROUNDS_MS)} and a.updates_deleted_at is null))))
        order by p.device_id, a.started_at
      ), evaluating as (
        select distinct on (e.device_id) e.device_id, e.round_id from evaluations e join rounds r on r.id = e.round_id
        where e.device_id = any(${deviceIds}::uuid[]) and e.state = 'asked' and r.evaluation_until > ${now}
        order by e.device_id, r.evaluation_until
      ), demands as (
        select org_id, group_id, federation_id from training_jobs
          where id in (select subject_id from announcements) and ended_at is null
        union select org_id, group_id, federation_id from announced where status in ('pending', 'active', 'aggregating')
          or (ended_at > ${new Date(now.getTime() - NEXT_ROUND_MS)} and updates_deleted_at is null)
      )
      select
        (select json_agg(json_build_object('deviceId', device_id, 'roundId', round_id, 'isPrivate', is_private))
          from pending) as pending,
        (select json_agg(json_build_object('deviceId', device_id, 'roundId', round_id)) from evaluating) as evaluating,
        -- The privacy cost of a private round assumes that its devices are drawn at random: none may join by itself.
        (select json_agg(json_build_object('id', id, 'orgId', org_id, 'groupId', group_id, 'memberOrgs',
          ${memberOrgsOf(sql`a.federation_id`)}) order by started_at, id)
          from announced a where is_running and has_places and not is_private) as open,
        (select json_agg(json_build_object('orgId', org_id, 'groupId', group_id, 'memberOrgs',
          ${memberOrgsOf(sql`w.federation_id`)})) from demands w) as demands`.execute(db)
    const { pending, evaluating, open, demands } = rows[0]!
    return {
      pending: new Map(pending?.map(({ deviceId, ...round }) => [deviceId, round])),
      evaluating: new Map(evaluating?.map(({ deviceId, roundId }) => [deviceId, roundId])),
      open: open ?? [],
      demands: demands ?? [],
    }
  },

  /**
   * Returns the announced jobs and rounds that no longer concern any device. Locks those jobs until the transaction ends, so
   * that none is resumed in the meantime; skips jobs that another transaction has locked.
   */
  async over(tx: Executor, now: Date): Promise<string[]> {
    const { rows: ended } = await sql<{ id: string }>`
      select id from training_jobs where ended_at is not null and id in (select subject_id from announcements)
      for share skip locked`.execute(tx)
    const { rows } = await sql<{ subject_id: string }>`
      select subject_id from announcements
      where not exists (select from training_jobs j where j.id = subject_id and j.id <> all(${ended.map(({ id }) => id)}::uuid[]))
        and not exists (select from rounds r where r.id = subject_id
          and coalesce(r.ended_at, 'infinity') > ${new Date(now.getTime() - NEXT_ROUND_MS)})`.execute(tx)
    return rows.map((row) => row.subject_id)
  },
}

/** The active organizations of a federation; null without one. */
const memberOrgsOf = (federationId: RawBuilder<unknown>) => sql`case when ${federationId} is not null then (
  select coalesce(json_agg(m.org_id), '[]') from federation_members m
  where m.federation_id = ${federationId} and m.status = 'active') end`
