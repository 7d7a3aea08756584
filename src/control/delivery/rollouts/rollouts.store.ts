import { type Selectable, sql } from 'kysely'
import type { RolloutPlan } from '../../../domain/delivery-plan.ts'
import type { EndedBy, RolloutState, RolloutStatus } from '../../../domain/rollout.ts'
import type { RolloutRow } from '../../../platform/db/delivery-rows.ts'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { PlansReport } from '../assignments/delivery-plans.service.ts'

export interface StoredRollout extends RolloutState {
  readonly id: string
  readonly orgId: string | null
  readonly modelId: string
  readonly version: string
  /** The version's number when the rollout was created or its start was requested; null if it was not uploaded. */
  readonly versionNumber: number | null
  readonly initialPercentage: number
  readonly groupId: string | null
  /** True if failing health rolls it back, instead of pausing it. */
  readonly autoRollback: boolean
  /** Null until it is started. */
  readonly startedRevision: number | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface RolloutFilter {
  readonly modelId?: string
  readonly orgId?: string
  readonly status?: RolloutStatus | undefined
  readonly endedBy?: EndedBy | undefined
  readonly endedSince?: Date | undefined
}

export const rolloutsStore = {
  /** A `PlanSource`: started rollouts that were not rolled back, unless a newer one has replaced them on all devices. */
  async load(db: Executor, { lastToAll }: Pick<PlansReport, 'lastToAll'>): Promise<RolloutPlan[]> {
    type Columns =
      | 'id'
      | 'org_id'
      | 'model_id'
      | 'version'
      | 'version_number'
      | 'status'
      | 'percentage'
      | 'group_id'
      | 'started_revision'
    const { rows } = await sql<Pick<Selectable<RolloutRow>, Columns>>`
      select r.id, r.org_id, r.model_id, r.version, r.version_number, r.status, r.percentage, r.group_id, r.started_revision
      from rollouts r
      left join ${lastToAll} as l on l.model_id = r.model_id and l.org_id is not distinct from r.org_id
      where r.started_revision is not null and (r.status in ('active', 'paused')
        or (r.status = 'completed' and r.started_revision >= coalesce(l.started_revision, 0)))`.execute(db)
    return rows.map((row) => ({
      id: row.id,
      kind: 'rollout',
      orgId: row.org_id,
      startedRevision: row.started_revision!,
      settled: row.status === 'completed',
      target: { modelId: row.model_id, modelName: null, version: row.version, versionNumber: row.version_number },
      percentage: row.percentage,
      groupId: row.group_id,
    }))
  },

  async insert(tx: Executor, rollout: StoredRollout): Promise<void> {
    await tx
      .insertInto('rollouts')
      .values({
        id: rollout.id,
        org_id: rollout.orgId,
        model_id: rollout.modelId,
        version: rollout.version,
        initial_percentage: rollout.initialPercentage,
        group_id: rollout.groupId,
        auto_rollback: rollout.autoRollback,
        created_at: rollout.createdAt,
        ...stateColumns(rollout),
      })
      .execute()
  },

  async update(tx: Executor, rollout: StoredRollout): Promise<void> {
    await tx.updateTable('rollouts').set(stateColumns(rollout)).where('id', '=', rollout.id).execute()
  },

  async find(db: Executor, id: string): Promise<StoredRollout | null> {
    const row = await db.selectFrom('rollouts').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Returns the rollout, locked until the transaction ends. */
  async lock(tx: Executor, id: string): Promise<StoredRollout | null> {
    const row = await tx.selectFrom('rollouts').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  async delete(tx: Executor, id: string): Promise<void> {
    await tx.deleteFrom('rollouts').where('id', '=', id).execute()
  },

  /** Returns the rollouts with a due step, longest due first. */
  async due(db: Executor, now: Date): Promise<string[]> {
    const rows = await db
      .selectFrom('rollouts')
      .select('id')
      .where('status', '=', 'active')
      .where('next_step_at', '<=', now)
      .orderBy('next_step_at')
      .execute()
    return rows.map((row) => row.id)
  },

  /** Has rollouts that stepped or started while the clock was ahead step an interval from now, and count reports from now. */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    const latest = latestTrusted(now)
    const interval = sql`step_interval_seconds * interval '1 second'`
    await sql`
      update rollouts set next_step_at = least(next_step_at, ${now}::timestamptz + ${interval}),
        health_since = case when health_since > ${latest} then ${now} else health_since end
      where status = 'active' and (next_step_at > ${latest} + ${interval} or health_since > ${latest})`.execute(db)
  },

  /** Newest first; of all organizations if `orgId` is null. */
  async active(db: Executor, orgId: string | null): Promise<StoredRollout[]> {
    let query = db.selectFrom('rollouts').selectAll().where('status', '=', 'active')
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.orderBy('ordinal', 'desc').execute()).map(fromRow)
  },

  /** Newest first. Fields that the filter omits match everything. */
  async list(
    db: Executor,
    filter: RolloutFilter,
    page: { limit: number; offset: number },
  ): Promise<{ rollouts: StoredRollout[]; total: number }> {
    const conditions = [sql<boolean>`true`]
    if (filter.modelId !== undefined) conditions.push(sql<boolean>`model_id = ${filter.modelId}`)
    if (filter.orgId !== undefined) conditions.push(sql<boolean>`org_id = ${filter.orgId}`)
    if (filter.status !== undefined) conditions.push(sql<boolean>`status = ${filter.status}`)
    if (filter.endedBy !== undefined) conditions.push(sql<boolean>`ended_by = ${filter.endedBy}`)
    if (filter.endedSince !== undefined) conditions.push(sql<boolean>`ended_at >= ${filter.endedSince}`)
    const where = sql<boolean>`${sql.join(conditions, sql` and `)}`
    const rows = await db
      .selectFrom('rollouts')
      .selectAll()
      .where(where)
      .orderBy('ordinal', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from rollouts where ${where}`.execute(db)
    return { rollouts: rows.map(fromRow), total: totals[0]!.total }
  },
}

const stateColumns = (rollout: StoredRollout) => ({
  version_number: rollout.versionNumber,
  status: rollout.status,
  percentage: rollout.percentage,
  target_percentage: rollout.targetPercentage,
  increment_step: rollout.incrementStep,
  step_interval_seconds: rollout.stepIntervalSeconds,
  reason: rollout.reason,
  next_step_at: rollout.nextStepAt,
  health_since: rollout.healthSince,
  started_revision: rollout.startedRevision,
  started_at: rollout.startedAt,
  ended_at: rollout.endedAt,
  ended_by: rollout.endedBy,
  updated_at: rollout.updatedAt,
})

const fromRow = (row: Selectable<RolloutRow>): StoredRollout => ({
  id: row.id,
  orgId: row.org_id,
  modelId: row.model_id,
  version: row.version,
  versionNumber: row.version_number,
  status: row.status as RolloutStatus,
  percentage: row.percentage,
  initialPercentage: row.initial_percentage,
  targetPercentage: row.target_percentage,
  incrementStep: row.increment_step,
  stepIntervalSeconds: row.step_interval_seconds,
  groupId: row.group_id,
  autoRollback: row.auto_rollback,
  reason: row.reason,
  nextStepAt: row.next_step_at,
  healthSince: row.health_since,
  startedRevision: row.started_revision,
  createdAt: row.created_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  endedBy: row.ended_by as EndedBy | null,
  updatedAt: row.updated_at,
})
