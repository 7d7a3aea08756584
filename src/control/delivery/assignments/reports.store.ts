import { sql } from 'kysely'
import type { ReportState } from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'

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

export interface DeviceWithReport {
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly ordinal: number
  readonly report: Pick<StoredReport, 'state' | 'version' | 'reason' | 'reportedAt'> | null
}

/** Whose devices a plan reaches. */
interface Scope {
  readonly orgId: string | null
  readonly everyOrg: boolean
}

const ownedBy = ({ orgId, everyOrg }: Scope) => (everyOrg ? sql`true` : sql`d.org_id is not distinct from ${orgId}`)

export type ReportCounts = Readonly<Record<ReportState, number>>

/** What devices said of the plans that reached them. */
export const createReportsStore = () => ({
  /** Writes many reports, one for each plan and device. They come sorted, so that two processes lock in one order. */
  async save(db: Executor, reports: readonly StoredReport[]): Promise<void> {
    await sql`
      insert into plan_reports (plan_id, device_id, state, version, reason, metrics, reported_at)
      select plan_id, device_id, state, version, reason, metrics::jsonb, reported_at from unnest(
        ${reports.map((r) => r.planId)}::uuid[], ${reports.map((r) => r.deviceId)}::uuid[],
        ${reports.map((r) => r.state)}::text[], ${reports.map((r) => r.version)}::text[],
        ${reports.map((r) => r.reason)}::text[],
        ${reports.map((r) => (r.metrics === null ? null : JSON.stringify(r.metrics)))}::text[],
        ${reports.map((r) => r.reportedAt)}::timestamptz[]
      ) as r (plan_id, device_id, state, version, reason, metrics, reported_at)
      on conflict (plan_id, device_id) do update set
        state = excluded.state, version = excluded.version, reason = excluded.reason,
        metrics = coalesce(excluded.metrics, plan_reports.metrics), reported_at = excluded.reported_at`.execute(db)
  },

  /** How many devices are in each state, of those that reported at `since` or later. */
  async counts(db: Executor, planId: string, since: Date | null): Promise<ReportCounts> {
    const { rows } = await sql<{ state: ReportState; devices: number }>`
      select state, count(*) as devices from plan_reports
      where plan_id = ${planId} and ${since === null ? sql`true` : sql`reported_at >= ${since}`}
      group by state`.execute(db)
    const counts: Record<ReportState, number> = { downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 }
    for (const { state, devices } of rows) counts[state] = devices
    return counts
  },

  /** How many devices failed since, and the reason that most of them gave. Reads the failures alone. */
  async failures(
    db: Executor,
    planId: string,
    since: Date | null,
  ): Promise<{ failed: number; commonReason: string | null }> {
    const { rows } = await sql<{ reason: string | null; devices: number }>`
      select reason, count(*) as devices from plan_reports
      where plan_id = ${planId} and state = 'failed' and ${since === null ? sql`true` : sql`reported_at >= ${since}`}
      group by reason order by count(*) desc, reason`.execute(db)
    return {
      failed: rows.reduce((sum, row) => sum + row.devices, 0),
      commonReason: rows.find(({ reason }) => reason !== null)?.reason ?? null,
    }
  },

  /**
   * Whether some device runs the plan's version, and no other was heard from since or reports anything else. While many are
   * missing, the first is found at once.
   */
  async allRun(
    db: Executor,
    plan: { readonly id: string; readonly groupId: string | null },
    scope: Scope,
    heardSince: Date,
  ): Promise<boolean> {
    const inGroup =
      plan.groupId === null
        ? sql`true`
        : sql`exists (select 1 from device_group_members m where m.group_id = ${plan.groupId} and m.device_id = d.id)`
    const { rows } = await sql<{ all_run: boolean }>`
      select exists (select 1 from plan_reports where plan_id = ${plan.id} and state = 'active') and not exists (
        select 1 from devices d left join plan_reports p on p.plan_id = ${plan.id} and p.device_id = d.id
        where ${ownedBy(scope)} and ${inGroup} and p.state is distinct from 'active'
          and (p.state is not null or d.last_heartbeat >= ${heardSince})
      ) as all_run`.execute(db)
    return rows[0]!.all_run
  },

  /** A slice of the fleet in the order of registration, each device with its report on the plan. */
  async devices(db: Executor, planId: string, scope: Scope, after: number, limit: number): Promise<DeviceWithReport[]> {
    const { rows } = await sql<{
      id: string
      device_id: string
      org_id: string | null
      ordinal: number
      state: ReportState | null
      version: string | null
      reason: string | null
      reported_at: Date | null
    }>`
      select d.id, d.device_id, d.org_id, d.ordinal, p.state, p.version, p.reason, p.reported_at
      from devices d left join plan_reports p on p.plan_id = ${planId} and p.device_id = d.id
      where d.ordinal > ${after} and ${ownedBy(scope)} order by d.ordinal limit ${limit}`.execute(db)
    return rows.map((row) => ({
      id: row.id,
      deviceId: row.device_id,
      orgId: row.org_id,
      ordinal: row.ordinal,
      report:
        row.state === null
          ? null
          : { state: row.state, version: row.version!, reason: row.reason, reportedAt: row.reported_at! },
    }))
  },

  async forget(tx: Executor, planId: string): Promise<void> {
    await tx.deleteFrom('plan_reports').where('plan_id', '=', planId).execute()
  },
})

export type ReportsStore = ReturnType<typeof createReportsStore>
