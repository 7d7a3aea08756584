import { sql } from 'kysely'
import { REPORT_STATES } from '../../../domain/delivery-plan.ts'
import { DEPLOYMENT_STATUSES } from '../../../domain/deployment.ts'
import { activeSince } from '../../../domain/device.ts'
import { ROLLOUT_TRANSITIONS as ROLLOUT_NEXT } from '../../../domain/rollout.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { eachOf, isOf, MAX_SERIES, type Row, type StateMetric } from './state-metric.report.ts'
import { TRAINING_METRICS } from './training-metrics.report.ts'

export type { StateMetric } from './state-metric.report.ts'

export const STATE_METRICS: readonly StateMetric[] = [
  {
    name: 'tributary_devices',
    help: 'Registered devices; active ones registered or sent a heartbeat in the last five minutes',
    labels: ['platform', 'state'],
    rows: (now, orgId) => sql<Row>`
      select platform, state, value from (
        select platform, count(*) as total, count(*) filter (
          where status = 'active' and last_heartbeat >= ${activeSince(now)}) as active
        from devices where ${isOf('org_id', orgId)} group by 1) as counts
      cross join lateral (values ('active', active), ('inactive', total - active)) as states (state, value)`,
  },
  ...TRAINING_METRICS,
  {
    name: 'tributary_rollouts',
    help: 'Rollouts by status',
    labels: ['status'],
    always: eachOf('status', Object.keys(ROLLOUT_NEXT)),
    rows: (_now, orgId) => sql<Row>`select status, count(*) as value from rollouts
      where ${isOf('org_id', orgId)} group by 1`,
  },
  {
    name: 'tributary_rollout_percentage',
    help: `Percentage that an unfinished rollout has reached; the ${MAX_SERIES} latest`,
    labels: ['rollout_id', 'version'],
    rows: (_now, orgId) => sql<Row>`
      select id as rollout_id, version, percentage::float8 as value from rollouts
      where status in ('active', 'paused') and ${isOf('org_id', orgId)} order by created_at desc limit ${sql.lit(MAX_SERIES)}`,
  },
  {
    name: 'tributary_rollout_reports',
    help: 'Devices in unfinished rollouts by their last report',
    labels: ['state'],
    always: eachOf('state', REPORT_STATES),
    rows: (_now, orgId) => sql<Row>`
      select p.state, count(*) as value from plan_reports p
      join rollouts on rollouts.id = p.plan_id and rollouts.status in ('active', 'paused')
        and ${isOf('rollouts.org_id', orgId)} group by 1`,
  },
  {
    name: 'tributary_deployments',
    help: 'Deployments by status',
    labels: ['status'],
    always: eachOf('status', DEPLOYMENT_STATUSES),
    rows: (_now, orgId) => sql<Row>`select status, count(*) as value from deployments
      where ${isOf('org_id', orgId)} group by 1`,
  },
  {
    name: 'tributary_integration_lag_seconds',
    help: `Age of the oldest event or audit entry that waits for an integration of logs; the ${MAX_SERIES} latest`,
    labels: ['integration_id', 'type'],
    rows: (now, orgId) => sql<Row>`
      select i.id as integration_id, i.type,
        coalesce(extract(epoch from ${now}::timestamptz - least(min(e.at), (
          select min(a.at) from audit_heads h join audit_entries a on a.org_id = h.org_id
            and a.seq > coalesce((i.audit_cursor ->> h.org_id)::bigint, 0)
          where i.audit_cursor is not null and (i.org_id is null or h.org_id = i.org_id)))), 0)::float8 as value
      from integrations i left join events_outbox e on (i.org_id is null or e.org_id = i.org_id)
        and (i.topics is null or e.subject_kind = any(i.topics))
        and (i.cursor_id is null or (e.tx, e.id) > (i.cursor_tx, i.cursor_id))
      where i.kind = 'logs' and ${isOf('i.org_id', orgId)}
      group by i.id order by i.ordinal desc limit ${sql.lit(MAX_SERIES)}`,
  },
  {
    name: 'tributary_integration_failures',
    help: `Consecutive failed deliveries of an integration; the ${MAX_SERIES} latest`,
    labels: ['integration_id', 'type'],
    rows: (_now, orgId) => sql<Row>`
      select id as integration_id, type, failures::float8 as value from integrations
      where ${isOf('org_id', orgId)} order by ordinal desc limit ${sql.lit(MAX_SERIES)}`,
  },
  {
    name: 'tributary_integration_dead_letters',
    help: 'Events that receivers rejected permanently and that are kept',
    labels: [],
    rows: (_now, orgId) => sql<Row>`
      select count(*) as value from integration_dead_letters d join integrations i on i.id = d.integration_id
      where ${isOf('i.org_id', orgId)}`,
  },
  {
    name: 'tributary_conversion_oldest_seconds',
    help: 'Age of the oldest pending or running conversion; 0 when there is none',
    labels: [],
    rows: (now, orgId) => sql<Row>`
      select coalesce(max(greatest(extract(epoch from ${now}::timestamptz - c.requested_at), 0)), 0)::float8 as value
      from conversions c join models m on m.id = c.model_id
      where c.state in ('pending', 'running') and ${isOf('m.org_id', orgId)}`,
  },
  {
    name: 'tributary_lease_expired_seconds',
    help: "Time since the oldest expired lease that no process has taken over, by the database's clock; 0 when there is none",
    labels: ['work'],
    rows: (_now, orgId) => sql<Row>`
      select work, coalesce(max(greatest(extract(epoch from now() - until), 0)), 0)::float8 as value
      from (values ('aggregation'), ('conversion')) as works (work) left join (
        select 'aggregation' as work, lease_until as until from rounds
        where status = 'aggregating' and ${isOf('org_id', orgId)}
        union all select 'conversion', c.lease_until from conversions c join models m on m.id = c.model_id
        where c.state = 'running' and ${isOf('m.org_id', orgId)}) as leases using (work) group by work`,
  },
  {
    name: 'tributary_models',
    help: 'Models in the catalog; round models are those that a round made',
    labels: ['kind'],
    always: eachOf('kind', ['model', 'round_model']),
    rows: (_now, orgId) => sql<Row>`
      select case when round_id is null then 'model' else 'round_model' end as kind, count(*) as value
      from models where ${isOf('org_id', orgId)} group by 1`,
  },
  {
    name: 'tributary_stored_bytes',
    help: 'Bytes of stored files, each counted once',
    labels: [],
    isShared: true,
    rows: () => sql<Row>`select coalesce(sum(size), 0)::float8 as value from blobs`,
  },
  {
    name: 'tributary_damaged_files',
    help: 'Stored files whose bytes have changed or cannot be read',
    labels: [],
    isShared: true,
    rows: () => sql<Row>`select count(*) as value from blobs where damaged_at is not null`,
  },
  {
    name: 'tributary_backup_age_seconds',
    help: 'Age of the latest complete backup; absent when there is none',
    labels: [],
    isShared: true,
    rows: (now) => sql<Row>`
      select abs(extract(epoch from ${now}::timestamptz - created_at))::float8 as value
      from backups where status = 'completed' order by ordinal desc limit 1`,
  },
  {
    name: 'tributary_backup_failures',
    help: 'Backups that failed since the latest complete one',
    labels: [],
    isShared: true,
    rows: () => sql<Row>`
      select count(*) as value from backups where status = 'failed'
        and ordinal > coalesce((select max(ordinal) from backups where status = 'completed'), 0)`,
  },
]

/** Returns the metric's current rows, at most `MAX_SERIES`, and zeros for the labels that it always has. */
export const readStateMetric = async (
  db: Executor,
  metric: StateMetric,
  now: Date,
  orgId: string | null = null,
): Promise<readonly Row[]> => {
  const rows = (await metric.rows(now, orgId).execute(db)).rows.slice(0, MAX_SERIES)
  const absent = (metric.always ?? []).filter(
    (series) => !rows.some((row) => metric.labels.every((label) => row[label] === series[label])),
  )
  return [...rows, ...absent.map((series) => ({ ...series, value: 0 }))]
}
