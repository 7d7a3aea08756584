import { type RawBuilder, sql } from 'kysely'
import type { ReportState } from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { redactPlanReasons } from '../ownership.store.ts'

export interface StoredReport {
  readonly planId: string
  /** Internal id. */
  readonly deviceId: string
  readonly state: ReportState
  readonly version: string
  readonly reason: string | null
  readonly metrics: Readonly<Record<string, number | null>> | null
  readonly reportedAt: Date
}

/** A report to store: current ones name the version by its label, and by its number if it is in the catalog. */
export type ReportToStore = StoredReport & { readonly current: boolean; readonly versionNumber: number | null }

export interface FailureReason {
  readonly reason: string | null
  readonly devices: number
}

export type ReportCounts = Readonly<Record<ReportState, number>>

/** A device may name a version by its label or its number. */
const isSameVersion = sql`(plan_reports.version in (excluded.version, excluded.version_number::text)
  or plan_reports.version_number::text = excluded.version)`

/** A running plan with reports that it has not been checked for yet. A plan may have several, each with its own ordinal. */
export interface ReportedPlan {
  readonly ordinal: number
  readonly planId: string
  readonly kind: 'rollout' | 'deployment'
}

/** Marks those of these plans that are running. Rows are only added, so that no report waits for a plan's lock. */
const mark = (planIds: RawBuilder<unknown>) => sql`
  insert into reported_plans (plan_id, kind)
  select id, 'rollout' from rollouts where status = 'active' and id in (${planIds})
  union all select id, 'deployment' from deployments where status = 'started' and id in (${planIds})`

/** What devices reported about the plans that reached them. */
export const reportsStore = {
  /**
   * Writes reports, one for each plan and device, sorted so that two processes lock in one order, and marks their plans. A
   * report that is not current counts only if it follows an earlier one of the same version: a version that a plan never gave
   * to a device must not influence it. A report without metrics keeps those that the device measured of the same version, and
   * their time.
   */
  async save(db: Executor, reports: readonly ReportToStore[]): Promise<void> {
    await sql`
      with saved as (
      insert into plan_reports
        (plan_id, device_id, state, version, reason, metrics, reported_at, measured_at, version_number)
      select plan_id, device_id, state, version, reason, metrics, reported_at,
        case when metrics is not null then reported_at end, version_number
      from unnest(
        ${reports.map((r) => r.planId)}::uuid[], ${reports.map((r) => r.deviceId)}::uuid[],
        ${reports.map((r) => r.state)}::text[], ${reports.map((r) => r.version)}::text[],
        ${reports.map((r) => r.reason)}::text[],
        ${reports.map((r) => (r.metrics === null ? null : JSON.stringify(r.metrics)))}::jsonb[],
        ${reports.map((r) => r.reportedAt)}::timestamptz[], ${reports.map((r) => r.current)}::boolean[],
        ${reports.map((r) => r.versionNumber)}::integer[]
      ) as r (plan_id, device_id, state, version, reason, metrics, reported_at, current, version_number)
      where r.current or exists (
        select from plan_reports p where p.plan_id = r.plan_id and p.device_id = r.device_id
          and r.version in (p.version, p.version_number::text))
      on conflict (plan_id, device_id) do update set
        state = excluded.state, reason = excluded.reason,
        version = case when excluded.version = plan_reports.version_number::text then plan_reports.version
          else excluded.version end,
        version_number = case when excluded.version_number is null and ${isSameVersion} then plan_reports.version_number
          else excluded.version_number end,
        metrics = case when excluded.metrics is null and ${isSameVersion} then plan_reports.metrics else excluded.metrics end,
        measured_at = case when excluded.metrics is null and ${isSameVersion} and plan_reports.metrics is not null
          then coalesce(plan_reports.measured_at, plan_reports.reported_at) else excluded.measured_at end,
        reported_at = excluded.reported_at
      returning plan_id, state)
      ${mark(sql`select plan_id from saved where state not in ('downloading', 'verifying')`)}`.execute(db)
  },

  /** Marks those of these plans that are running as if devices had reported on them. */
  async markReported(tx: Executor, planIds: readonly string[]): Promise<void> {
    await mark(sql`select unnest(${[...planIds]}::uuid[])`).execute(tx)
  },

  /** Returns the marks of these plans, or of all. */
  async reported(db: Executor, planIds: ReadonlySet<string> | null): Promise<ReportedPlan[]> {
    const { rows } = await sql<{ ordinal: number; plan_id: string; kind: ReportedPlan['kind'] }>`
      select ordinal, plan_id, kind from reported_plans
      where ${planIds === null ? sql`true` : sql`plan_id = any(${[...planIds]}::uuid[])`} order by ordinal`.execute(db)
    return rows.map(({ ordinal, plan_id: planId, kind }) => ({ ordinal, planId, kind }))
  },

  /** Removes these marks, and none that were added since they were read. */
  async unmark(db: Executor, ordinals: readonly number[]): Promise<void> {
    await sql`delete from reported_plans where ordinal = any(${[...ordinals]}::bigint[])`.execute(db)
  },

  /** Counts the devices in each state, of those that reported at `since` or later. */
  async counts(db: Executor, planId: string, since: Date | null): Promise<ReportCounts> {
    const { rows } = await sql<{ state: ReportState; devices: number }>`
      select state, count(*) as devices from plan_reports
      where plan_id = ${planId} and ${since === null ? sql`true` : sql`reported_at >= ${since}`}
      group by state`.execute(db)
    const counts: Record<ReportState, number> = { downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 }
    for (const { state, devices } of rows) counts[state] = devices
    return counts
  },

  /** Counts the devices that failed since, with their reasons, most frequent first. Reads only the failures. */
  async failures(
    db: Executor,
    planId: string,
    since: Date | null,
  ): Promise<{ failed: number; commonReason: string | null; reasons: readonly FailureReason[] }> {
    const { rows } = await sql<FailureReason>`
      select reason, count(*) as devices from plan_reports
      where plan_id = ${planId} and state = 'failed' and ${since === null ? sql`true` : sql`reported_at >= ${since}`}
      group by reason order by count(*) desc, reason`.execute(db)
    return {
      failed: rows.reduce((sum, row) => sum + row.devices, 0),
      commonReason: rows.find(({ reason }) => reason !== null)?.reason ?? null,
      reasons: rows,
    }
  },

  /** Deletes a plan's reports, and what devices wrote from its reasons: without the reports, the authors are unknown. */
  async forget(tx: Executor, planId: string): Promise<void> {
    await redactPlanReasons(tx, sql`${planId}::uuid`, '...')
    await tx.deleteFrom('plan_reports').where('plan_id', '=', planId).execute()
  },
}
