import { type RawBuilder, sql } from 'kysely'
import { activeSince } from '../../../domain/device.ts'
import type { Executor } from '../../../platform/db/open.ts'

type Row = { readonly value: number } & Readonly<Record<string, string | number>>

/** A gauge of `GET /metrics` that is read from the database: the same in every process on it. */
export interface StateMetric {
  readonly name: string
  readonly help: string
  /** Columns of its rows beside `value`. */
  readonly labels: readonly string[]
  readonly rows: (now: Date) => RawBuilder<Row>
}

/** Rows of one metric, at most: labels that users choose must not fill a monitoring system. */
export const MAX_SERIES = 50
/** Rounds that durations and failures are taken from. */
const LATEST = 200

/** Why a round failed, in few words: reasons are text for people. */
const failureKind = sql`case
  when failure_reason like 'Timed out%' then 'timed_out'
  when failure_reason like 'All devices have reported%' or failure_reason like '% failed: %' then 'devices'
  when failure_reason is null then '' else 'other' end`

const latestRounds = sql`(select * from rounds order by created_at desc limit ${sql.lit(LATEST)}) as r`

export const STATE_METRICS: readonly StateMetric[] = [
  {
    name: 'tributary_devices',
    help: 'Registered devices; active ones sent a heartbeat in the last five minutes',
    labels: ['platform', 'state'],
    rows: (now) => sql<Row>`
      select platform, case when status = 'active' and last_heartbeat >= ${activeSince(now)} then 'active'
        else 'inactive' end as state, count(*) as value from devices group by 1, 2`,
  },
  {
    name: 'tributary_rounds',
    help: 'Rounds by status; failed ones by the kind of reason (timed_out, devices, other)',
    labels: ['status', 'reason'],
    rows: () => sql<Row>`select status, ${failureKind} as reason, count(*) as value from rounds group by 1, 2`,
  },
  {
    name: 'tributary_round_overdue_seconds',
    help: 'How long the round that is most overdue should have ended; 0 when none is',
    labels: [],
    rows: (now) => sql<Row>`
      select coalesce(max(greatest(extract(epoch from ${now}::timestamptz - timeout_at), 0)), 0)::float8 as value
      from rounds where status = 'active'`,
  },
  {
    name: 'tributary_aggregation_oldest_seconds',
    help: 'Age of the oldest round whose updates have arrived and are not aggregated; 0 when there is none',
    labels: [],
    rows: (now) => sql<Row>`
      select coalesce(max(extract(epoch from ${now}::timestamptz - last_update)), 0)::float8 as value
      from rounds r cross join lateral (
        select max(created_at) as last_update from updates where round_id = r.id) u where r.status = 'aggregating'`,
  },
  {
    name: 'tributary_round_duration_seconds',
    help: `Duration of the latest ${LATEST} completed rounds, by phase: collecting updates, aggregating them`,
    labels: ['phase', 'quantile'],
    rows: () => sql<Row>`
      with phases as (
        select phase, seconds from ${latestRounds}
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
    help: `Devices selected in the latest ${LATEST} rounds, by what became of them`,
    labels: ['state'],
    rows: () => sql<Row>`
      select p.state, count(*) as value from ${latestRounds} join round_participants p on p.round_id = r.id group by 1`,
  },
  {
    name: 'tributary_updates',
    help: 'Accepted updates whose records are kept',
    labels: [],
    rows: () => sql<Row>`select count(*) as value from updates`,
  },
  {
    name: 'tributary_update_bytes',
    help: 'Bytes of the accepted updates whose records are kept',
    labels: [],
    rows: () => sql<Row>`select coalesce(sum(size), 0)::float8 as value from updates`,
  },
  {
    name: 'tributary_jobs',
    help: 'Training jobs by status; ended ones by what ended them',
    labels: ['status', 'ended_by'],
    rows: () => sql<Row>`
      select status, coalesce(ended_by, '') as ended_by, count(*) as value from training_jobs group by 1, 2`,
  },
  {
    name: 'tributary_rollouts',
    help: 'Rollouts by status',
    labels: ['status'],
    rows: () => sql<Row>`select status, count(*) as value from rollouts group by 1`,
  },
  {
    name: 'tributary_rollout_percentage',
    help: `Percentage that an unfinished rollout has reached; the ${MAX_SERIES} latest`,
    labels: ['rollout_id', 'version'],
    rows: () => sql<Row>`
      select id as rollout_id, version, percentage::float8 as value from rollouts
      where status in ('active', 'paused') order by created_at desc limit ${sql.lit(MAX_SERIES)}`,
  },
  {
    name: 'tributary_rollout_reports',
    help: 'Devices in unfinished rollouts by their last report',
    labels: ['state'],
    rows: () => sql<Row>`
      select p.state, count(*) as value from plan_reports p
      join rollouts on rollouts.id = p.plan_id and rollouts.status in ('active', 'paused') group by 1`,
  },
  {
    name: 'tributary_deployments',
    help: 'Deployments by status',
    labels: ['status'],
    rows: () => sql<Row>`select status, count(*) as value from deployments group by 1`,
  },
  {
    name: 'tributary_privacy_epsilon_spent',
    help: `Epsilon that a federation has spent or reserved; the ${MAX_SERIES} with the latest charges`,
    labels: ['federation_id', 'federation'],
    rows: () => sql<Row>`
      select f.id as federation_id, f.name as federation, coalesce(max(l.epsilon_after), 0)::float8 as value
      from federations f join privacy_ledger l on l.federation_id = f.id and l.status <> 'released'
      group by 1, 2 order by max(l.ordinal) desc limit ${sql.lit(MAX_SERIES)}`,
  },
  {
    name: 'tributary_privacy_epsilon_budget',
    help: `Epsilon that a federation may spend; ${MAX_SERIES} of them`,
    labels: ['federation_id', 'federation'],
    rows: () => sql<Row>`
      select f.id as federation_id, f.name as federation, b.total_epsilon as value
      from privacy_budgets b join federations f on f.id = b.federation_id
      order by b.updated_at desc limit ${sql.lit(MAX_SERIES)}`,
  },
  {
    name: 'tributary_models',
    help: 'Models of the catalog; round models are those that a round made',
    labels: ['kind'],
    rows: () => sql<Row>`
      select case when round_id is null then 'model' else 'round_model' end as kind, count(*) as value
      from models group by 1`,
  },
  {
    name: 'tributary_stored_bytes',
    help: 'Bytes of stored files, each counted once',
    labels: [],
    rows: () => sql<Row>`select coalesce(sum(size), 0)::float8 as value from blobs`,
  },
]

/** The metric's rows now, no more than `MAX_SERIES`. */
export const readStateMetric = async (db: Executor, metric: StateMetric, now: Date): Promise<readonly Row[]> =>
  (await metric.rows(now).execute(db)).rows.slice(0, MAX_SERIES)
