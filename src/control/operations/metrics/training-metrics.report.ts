import { type RawBuilder, sql } from 'kysely'
import type { EndedBy } from '../../../domain/job-endings.ts'
import { ALL_REPORTED, ROUND_STATUSES, TIMED_OUT } from '../../../domain/round.ts'
import type { JobStatus } from '../../../domain/training-job.ts'
import { eachOf, isOf, MAX_SERIES, type Row, type StateMetric } from './state-metric.report.ts'

/** The number of latest rounds that durations and failures are taken from. */
const LATEST = 200

/** The kind of a round's failure: reasons are text for people. */
const failureKind = sql`case
  when failure_reason like ${sql.lit(`${TIMED_OUT}%`)} then 'timed_out'
  when failure_reason like ${sql.lit(`${ALL_REPORTED}%`)} or failure_reason like '% failed: %' then 'devices'
  when failure_reason is null then '' else 'other' end`

const JOB_ENDINGS = {
  pending: [''],
  running: [''],
  completed: ['rounds_done', 'converged', 'budget_spent'],
  failed: ['rounds_failed', 'no_devices', 'cannot_start'],
  stopped: ['stopped'],
} satisfies Record<JobStatus, readonly (EndedBy | '')[]>

/** The latest charges come first. */
const federationsWithBudget = (orgId: string | null) => sql`privacy_budgets b
  join federations f on f.id = b.federation_id and ${isOf('f.org_id', orgId)}
  order by (select max(ordinal) from privacy_ledger where federation_id = f.id) desc nulls last, f.id
  limit ${sql.lit(MAX_SERIES)}`

const ofOwnRounds = (orgId: string | null): RawBuilder<boolean> =>
  orgId === null ? sql<boolean>`true` : sql<boolean>`round_id in (select id from rounds where org_id = ${orgId})`

const latestRounds = (orgId: string | null) =>
  sql`(select * from rounds where ${isOf('org_id', orgId)} order by created_at desc limit ${sql.lit(LATEST)}) as r`

/** Rounds, jobs, and the privacy that they spend. */
export const TRAINING_METRICS: readonly StateMetric[] = [
  {
    name: 'tributary_rounds',
    help: 'Rounds by status; failed ones by the kind of reason (timed_out, devices, other)',
    labels: ['status', 'reason'],
    always: ROUND_STATUSES.flatMap((status) =>
      (status === 'failed' ? ['timed_out', 'devices', 'other'] : ['']).map((reason) => ({ status, reason })),
    ),
    // Without the reason, an index is enough.
    rows: (_now, orgId) => sql<Row>`
      select status, '' as reason, count(*) as value from rounds where status <> 'failed' and ${isOf('org_id', orgId)} group by 1
      union all
      select status, ${failureKind}, count(*) from rounds where status = 'failed' and ${isOf('org_id', orgId)} group by 1, 2`,
  },
  {
    name: 'tributary_round_overdue_seconds',
    help: 'How long the most overdue round has been overdue; 0 when none is',
    labels: [],
    rows: (now, orgId) => sql<Row>`
      select coalesce(max(greatest(extract(epoch from ${now}::timestamptz - timeout_at), 0)), 0)::float8 as value
      from rounds where status = 'active' and ${isOf('org_id', orgId)}`,
  },
  {
    name: 'tributary_aggregation_oldest_seconds',
    help: 'Age of the oldest round whose updates have arrived and are not aggregated; 0 when there is none',
    labels: [],
    rows: (now, orgId) => sql<Row>`
      select coalesce(max(extract(epoch from ${now}::timestamptz - last_update)), 0)::float8 as value
      from rounds r cross join lateral (
        select max(created_at) as last_update from updates where round_id = r.id) u
      where r.status = 'aggregating' and ${isOf('r.org_id', orgId)}`,
  },
  {
    name: 'tributary_round_duration_seconds',
    help: `Duration of the latest ${LATEST} completed rounds, by phase: collecting updates, aggregating them`,
    labels: ['phase', 'quantile'],
    rows: (_now, orgId) => sql<Row>`
      with phases as (
        select phase, seconds from ${latestRounds(orgId)}
        cross join lateral (select max(created_at) as at from updates where round_id = r.id) last_update
        cross join lateral (values ('collecting', extract(epoch from last_update.at - r.started_at)::float8),
          ('aggregating', extract(epoch from r.completed_at - last_update.at)::float8)) as p (phase, seconds)
        where r.status = 'completed')
      select phase, quantile::text as quantile,
        percentile_cont(quantile) within group (order by seconds) as value
      from phases cross join unnest(array[0.5, 0.9, 0.99]::float8[]) as quantile
      where seconds is not null group by phase, quantile`,
  },
  {
    name: 'tributary_round_participants',
    help: `Devices selected in the latest ${LATEST} rounds, by state`,
    labels: ['state'],
    always: eachOf('state', ['selected', 'delivered', 'failed', 'absent']),
    rows: (_now, orgId) => sql<Row>`
      select p.state, count(*) as value from ${latestRounds(orgId)} join round_participants p on p.round_id = r.id group by 1`,
  },
  {
    name: 'tributary_updates',
    help: 'Accepted updates whose records are kept',
    labels: [],
    rows: (_now, orgId) => sql<Row>`select count(*) as value from updates
      where ${ofOwnRounds(orgId)}`,
  },
  {
    name: 'tributary_update_bytes',
    help: 'Bytes of the accepted updates whose records are kept',
    labels: [],
    rows: (_now, orgId) => sql<Row>`select coalesce(sum(size), 0)::float8 as value from updates
      where ${ofOwnRounds(orgId)}`,
  },
  {
    name: 'tributary_jobs',
    help: 'Training jobs by status; ended ones by what ended them',
    labels: ['status', 'ended_by'],
    always: Object.entries(JOB_ENDINGS).flatMap(([status, endings]) =>
      endings.map((ended_by) => ({ status, ended_by })),
    ),
    rows: (_now, orgId) => sql<Row>`
      select status, coalesce(ended_by, '') as ended_by, count(*) as value from training_jobs
      where ${isOf('org_id', orgId)} group by 1, 2`,
  },
  {
    name: 'tributary_privacy_epsilon_spent',
    help: `Epsilon that a federation has spent or reserved; the ${MAX_SERIES} federations with the latest charges`,
    labels: ['federation_id', 'federation'],
    rows: (_now, orgId) => sql<Row>`
      select f.id as federation_id, f.name as federation, 0 as value from ${federationsWithBudget(orgId)}`,
    isAccounted: true,
  },
  {
    name: 'tributary_privacy_epsilon_budget',
    help: `Epsilon that a federation may spend in total; the ${MAX_SERIES} federations with the latest charges`,
    labels: ['federation_id', 'federation'],
    rows: (_now, orgId) => sql<Row>`
      select f.id as federation_id, f.name as federation, b.total_epsilon as value
      from ${federationsWithBudget(orgId)}`,
  },
]
