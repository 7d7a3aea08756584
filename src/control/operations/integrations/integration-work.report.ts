import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { LogEvent } from './log-messages.ts'
import type { DueSubject, MeasuredRound, Subject } from './mlflow.ts'

/** Audit chains with entries that the integration has not reached. */
const GROWN_CHAINS = sql`integrations i join audit_heads h
  on i.audit_cursor is not null and (i.org_id is null or h.org_id = i.org_id)
  and h.seq > coalesce((i.audit_cursor ->> h.org_id)::bigint, 0)`

/** The progress of jobs, and of rounds without one; for ended ones, the time when they ended. */
const SUBJECTS = sql`(
  select 'job' as kind, j.id, j.created_at, j.ended_at, j.org_id,
    coalesce(j.ended_at::text, (select j.status || count(*) || ' ' || count(evaluation) from rounds r
      where r.job_id = j.id and r.status = 'completed')) as progress
  from training_jobs j
  union all
  select 'round', r.id, r.created_at, r.ended_at, r.org_id, coalesce(r.ended_at::text, r.status) from rounds r
  where r.job_id is null) as s`

/** Jobs and rounds since an integration's creation that it has not delivered completely; null: those that ended at any time. */
const behind = (endedAfter: Date | null) => sql`integrations i
  join ${SUBJECTS} on (i.org_id is null or s.org_id = i.org_id) and (s.ended_at is null or s.ended_at >= i.created_at)
    and ${endedAfter === null ? sql`true` : sql`(s.ended_at is null or s.ended_at >= ${endedAfter})`}
  left join integration_runs d on d.integration_id = i.id and d.subject_id = s.id
  where i.kind = 'training' and d.sent is distinct from s.progress`

/** Everything that is pending, one row each, with its time. */
const WAITING = sql`(
  select i.id, e.at from ${GROWN_CHAINS} join audit_entries e on e.org_id = h.org_id
    and e.seq > coalesce((i.audit_cursor ->> h.org_id)::bigint, 0)
  union all
  select i.id, coalesce(s.ended_at, s.created_at) from ${behind(null)}) as w (id, at)`

const nameOf = (kind: RawBuilder<unknown>, id: string) => sql`(
  select n.name from audit_names n where n.org_id = coalesce(event -> 'payload' ->> 'org_id', '')
    and n.kind = ${kind} and n.id = event -> 'payload' ->> ${id}::text)`

/** The event of a dead letter. An entry of the audit log has the names that the log has now: some may be erased since. */
export const CURRENT_EVENT = sql<LogEvent>`case when event ->> 'type' like 'audit.%' then
  jsonb_set(event, '{payload}', (event -> 'payload') || jsonb_build_object(
    'actor_name', ${nameOf(sql`event -> 'payload' ->> 'actor_kind'`, 'actor_id')},
    'object_name', ${nameOf(sql`event -> 'payload' ->> 'object_kind'`, 'object_id')},
    'address', ${nameOf(sql`'address'`, 'address_id')})) else event end`

/** Records of other modules that integrations deliver. */
export const integrationWork = {
  /** Returns the integrations that have audit log entries or runs to deliver, and when the first of the ended ones ended. */
  async withWork(db: Executor, endedAfter: Date | null): Promise<{ ids: string[]; firstEnded: Date | null }> {
    const { rows } = await sql<{ id: string; ended: Date | null }>`
      select i.id, null::timestamptz as ended from ${GROWN_CHAINS}
      union all select i.id, min(s.ended_at) from ${behind(endedAfter)} group by i.id`.execute(db)
    const ended = rows.flatMap((row) => (row.ended === null ? [] : [row.ended.getTime()]))
    return { ids: rows.map(({ id }) => id), firstEnded: ended.length === 0 ? null : new Date(Math.min(...ended)) }
  },

  /** Returns how much is pending for one, and since when. */
  async backlog(db: Executor, id: string): Promise<{ pending: number; oldest: Date | null }> {
    const { rows } = await sql<{ pending: number; oldest: Date | null }>`
      select count(*) as pending, min(at) as oldest from ${WAITING} where w.id = ${id}`.execute(db)
    return rows[0]!
  },

  /** Returns the oldest jobs and rounds that are behind. */
  async due(db: Executor, id: string, limit: number, endedAfter: Date | null): Promise<DueSubject[]> {
    const { rows } = await sql<DueSubject>`
      select s.kind, s.id, s.progress from ${behind(endedAfter)} and i.id = ${id}
      order by s.created_at, s.id limit ${limit}`.execute(db)
    return rows
  },

  /** Returns a job or round, behind or not; null if it is gone. */
  async dueOf(db: Executor, id: string): Promise<DueSubject | null> {
    const { rows } = await sql<DueSubject>`select kind, id, progress from ${SUBJECTS} where id = ${id}`.execute(db)
    return rows[0] ?? null
  },

  /** Returns what is sent about it; null if it no longer exists. */
  async subject(db: Executor, { kind, id }: Pick<DueSubject, 'kind' | 'id'>): Promise<Subject | null> {
    const { rows } = await sql<Subject>`${kind === 'job' ? JOB : ROUND} where s.id = ${id}`.execute(db)
    return rows[0] ?? null
  },

  /** Returns its completed rounds after a number, in order. They are numbered from 1. */
  async rounds(db: Executor, { kind, id }: DueSubject, after: number, limit: number): Promise<MeasuredRound[]> {
    const { rows } = await sql<MeasuredRound>`
      select * from (
        select id, row_number() over (order by round_number) as number, loss, accuracy, metrics, evaluation,
          completed_at as at, aggregated_model_id as "modelId", aggregated_sha256 as sha256
        from rounds where ${sql.ref(kind === 'job' ? 'job_id' : 'id')} = ${id} and status = 'completed') as completed
      where number > ${after} order by number limit ${limit}`.execute(db)
    return rows
  },
}

const JOB: RawBuilder<unknown> = sql`
  select s.org_id as "orgId", coalesce(s.name, 'job ' || left(s.id::text, 8)) as name, s.status, s.reason,
    s.settings, s.model_id as "modelId", s.created_at as "startedAt", s.ended_at as "endedAt"
  from training_jobs s`
const ROUND: RawBuilder<unknown> = sql`
  select s.org_id as "orgId", 'round ' || s.round_number as name, s.status, s.failure_reason as reason,
    s.plan as settings, s.global_model_id as "modelId", s.created_at as "startedAt", s.ended_at as "endedAt"
  from rounds s`
