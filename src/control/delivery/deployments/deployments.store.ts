import { type Selectable, sql } from 'kysely'
import { type DeploymentStatus, MIN_PHASE_SECONDS, type Reported, type Strategy } from '../../../domain/deployment.ts'
import { conflict } from '../../../domain/errors.ts'
import type { DeploymentRow } from '../../../platform/db/delivery-rows.ts'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredDeployment {
  readonly id: string
  readonly orgId: string | null
  readonly modelName: string
  readonly modelVersion: string
  /** Null if the catalog does not contain the name. */
  readonly modelId: string | null
  /** The version's number when it was created or approved; null if it was not uploaded. */
  readonly versionNumber: number | null
  readonly status: DeploymentStatus
  readonly strategy: Strategy
  readonly percentage: number
  readonly targetCount: number
  readonly activatedCount: number
  readonly reason: string | null
  readonly switchedAt: Date | null
  readonly deadlineAt: Date | null
  /** Null without a deadline. */
  readonly phaseSeconds: number | null
  readonly startedRevision: number | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

/** Fields that are undefined match everything. */
export interface DeploymentFilter {
  /** Null: of all organizations. */
  readonly orgId: string | null
  readonly modelName: string | undefined
  readonly status: DeploymentStatus | undefined
  readonly endedSince: Date | undefined
}

/** Deployments, their target devices, and counts of what these reported. */
export const deploymentsStore = {
  async insert(tx: Executor, deployment: StoredDeployment): Promise<void> {
    await tx
      .insertInto('deployments')
      .values({
        id: deployment.id,
        org_id: deployment.orgId,
        model_name: deployment.modelName,
        model_version: deployment.modelVersion,
        model_id: deployment.modelId,
        strategy: deployment.strategy,
        target_count: deployment.targetCount,
        created_at: deployment.createdAt,
        ...stateColumns(deployment),
      })
      .execute()
      .catch((error: unknown) => {
        throw isUniqueViolation(error) ? conflict(`Deployment ${deployment.id} already exists.`) : error
      })
  },

  async update(tx: Executor, deployment: StoredDeployment): Promise<void> {
    await tx.updateTable('deployments').set(stateColumns(deployment)).where('id', '=', deployment.id).execute()
  },

  async find(db: Executor, id: string): Promise<StoredDeployment | null> {
    const row = await db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Returns the row, locked until the transaction ends. */
  async lock(tx: Executor, id: string): Promise<StoredDeployment | null> {
    const row = await tx.selectFrom('deployments').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async due(db: Executor, now: Date): Promise<string[]> {
    const rows = await db
      .selectFrom('deployments')
      .select('id')
      .where('status', '=', 'started')
      .where('deadline_at', '<=', now)
      .orderBy('deadline_at')
      .execute()
    return rows.map((row) => row.id)
  },

  /** Has deployments whose phase began while the clock was ahead begin it now. */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    const phase = sql`greatest(phase_seconds, ${MIN_PHASE_SECONDS}) * interval '1 second'`
    await sql`
      update deployments set deadline_at = ${now}::timestamptz + ${phase}
      where status = 'started' and phase_seconds is not null
        and deadline_at > ${latestTrusted(now)} + ${phase}`.execute(db)
  },

  /** Newest first. */
  async list(
    db: Executor,
    filter: DeploymentFilter,
    page: { limit: number; offset: number },
  ): Promise<{ deployments: StoredDeployment[]; total: number }> {
    const { orgId, modelName, status, endedSince } = filter
    const conditions = [ofOrg(orgId)]
    if (modelName !== undefined) conditions.push(sql`model_name = ${modelName}`)
    if (status !== undefined) conditions.push(sql`status = ${status}`)
    if (endedSince !== undefined) conditions.push(sql`ended_at >= ${endedSince}`)
    const where = sql.join(conditions, sql` and `)
    const { rows } = await sql<Selectable<DeploymentRow>>`
      select * from deployments where ${where} order by ordinal desc limit ${page.limit} offset ${page.offset}`.execute(
      db,
    )
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from deployments where ${where}`.execute(db)
    return { deployments: rows.map(fromRow), total: totals[0]!.total }
  },

  async insertTargets(tx: Executor, id: string, targets: readonly { id: string; activated: boolean }[]): Promise<void> {
    await sql`
      insert into deployment_targets (deployment_id, device_id, activated)
      select ${id}, device_id, activated from unnest(
        ${targets.map((target) => target.id)}::uuid[], ${targets.map((target) => target.activated)}::boolean[]
      ) as t (device_id, activated)`.execute(tx)
  },

  async activate(tx: Executor, id: string, deviceIds: readonly string[]): Promise<void> {
    await sql`
      update deployment_targets set activated = true
      where deployment_id = ${id} and not activated and device_id = any(${deviceIds}::uuid[])`.execute(tx)
  },

  /** Counts what the activated devices last reported on it. */
  async reported(db: Executor, id: string): Promise<Reported & { readonly counts: Readonly<Record<string, number>> }> {
    const { rows } = await sql<{ state: string | null; reason: string | null; devices: number }>`
      select r.state, case when r.state = 'failed' then r.reason end as reason, count(*) as devices
      from deployment_targets t left join plan_reports r on r.plan_id = t.deployment_id and r.device_id = t.device_id
      where t.deployment_id = ${id} and t.activated
      group by 1, 2 order by count(*) desc, 2`.execute(db)
    const counts: Record<string, number> = { assigned: 0, downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 }
    for (const { state, devices } of rows) counts[state ?? 'assigned'] = (counts[state ?? 'assigned'] ?? 0) + devices
    return {
      counts,
      activated: rows.reduce((sum, row) => sum + row.devices, 0),
      ready: counts.ready ?? 0,
      active: counts.active ?? 0,
      failed: counts.failed ?? 0,
      commonReason: rows.find(({ reason }) => reason !== null)?.reason ?? null,
    }
  },
}

/** Matches the rows of an organization, or all rows if it is null. */
export const ofOrg = (orgId: string | null) => (orgId === null ? sql<boolean>`true` : sql<boolean>`org_id = ${orgId}`)

const stateColumns = (deployment: StoredDeployment) => ({
  version_number: deployment.versionNumber,
  status: deployment.status,
  percentage: deployment.percentage,
  activated_count: deployment.activatedCount,
  reason: deployment.reason,
  switched_at: deployment.switchedAt,
  deadline_at: deployment.deadlineAt,
  phase_seconds: deployment.phaseSeconds,
  started_revision: deployment.startedRevision,
  ended_at: deployment.endedAt,
})

/** For deployments that a process of an earlier release created, until the next change stores how long a phase lasts. */
const secondsUntilFirstDeadline = ({ created_at, deadline_at }: Selectable<DeploymentRow>): number | null =>
  deadline_at === null ? null : (deadline_at.getTime() - created_at.getTime()) / 1000

const fromRow = (row: Selectable<DeploymentRow>): StoredDeployment => ({
  id: row.id,
  orgId: row.org_id,
  modelName: row.model_name,
  modelVersion: row.model_version,
  modelId: row.model_id,
  versionNumber: row.version_number,
  status: row.status as DeploymentStatus,
  strategy: row.strategy as Strategy,
  percentage: row.percentage,
  targetCount: row.target_count,
  activatedCount: row.activated_count,
  reason: row.reason,
  switchedAt: row.switched_at,
  deadlineAt: row.deadline_at,
  phaseSeconds: row.phase_seconds ?? secondsUntilFirstDeadline(row),
  startedRevision: row.started_revision,
  createdAt: row.created_at,
  endedAt: row.ended_at,
})
