import { sql } from 'kysely'
import type { ReportState } from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { StoredReport } from './reports.store.ts'

export interface DeviceWithReport {
  readonly id: string
  readonly deviceId: string
  readonly orgId: string | null
  readonly ordinal: number
  readonly report: Pick<StoredReport, 'state' | 'version' | 'reason' | 'reportedAt'> | null
}

/** The devices that a plan reaches. */
interface Scope {
  readonly orgId: string | null
  readonly everyOrg: boolean
}

const ownedBy = ({ orgId, everyOrg }: Scope) => (everyOrg ? sql`true` : sql`d.org_id is not distinct from ${orgId}`)

/** A device's newest report on one plan. */
export interface ReportOfDevice extends Omit<StoredReport, 'deviceId'> {
  readonly kind: 'rollout' | 'deployment' | 'experiment'
  /** Null if the model was deleted, or two variants of an experiment have this version. */
  readonly modelId: string | null
  readonly modelName: string | null
}

/** The devices that a plan reaches, with their reports on it. */
export const reportedDevicesReport = {
  /**
   * True if some device runs the plan's version, and so does every device that has reported or was heard from since. Stops
   * at the first one that does not, so it is fast while many do not.
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

  /** Returns a device's reports on all plans, newest first. */
  async ofDevice(db: Executor, deviceId: string, limit: number): Promise<ReportOfDevice[]> {
    const { rows } = await sql<{
      plan_id: string
      kind: ReportOfDevice['kind']
      model_id: string | null
      model_name: string | null
      state: ReportState
      version: string
      reason: string | null
      metrics: Record<string, number | null> | null
      reported_at: Date
    }>`
      select p.plan_id, p.state, p.version, p.reason, p.metrics, p.reported_at, m.id as model_id,
        coalesce(m.name, m.round_name, d.model_name) as model_name,
        case when r.id is not null then 'rollout' when d.id is not null then 'deployment' else 'experiment' end as kind
      from plan_reports p
        left join rollouts r on r.id = p.plan_id
        left join deployments d on d.id = p.plan_id
        left join lateral (
          select min(v.model_id::text)::uuid as model_id from experiment_variants v
          where v.experiment_id = p.plan_id
            and (v.version in (p.version, p.version_number::text) or v.version_number = p.version_number)
          having count(distinct v.model_id) = 1
        ) e on true
        left join models m on m.id = coalesce(r.model_id, d.model_id, e.model_id)
      where p.device_id = ${deviceId} order by p.reported_at desc, p.plan_id limit ${limit}`.execute(db)
    return rows.map((row) => ({
      planId: row.plan_id,
      kind: row.kind,
      modelId: row.model_id,
      modelName: row.model_name,
      state: row.state,
      version: row.version,
      reason: row.reason,
      metrics: row.metrics,
      reportedAt: row.reported_at,
    }))
  },

  /** Returns a slice of the fleet in order of registration, each device with its report on the plan. */
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
}
