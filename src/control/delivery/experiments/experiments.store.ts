import { type Selectable, sql } from 'kysely'
import type { ExperimentPlan } from '../../../domain/delivery-plan.ts'
import { conflict } from '../../../domain/errors.ts'
import type { ExperimentState, ExperimentStatus } from '../../../domain/experiment.ts'
import type { ExperimentRow, ExperimentVariantRow } from '../../../platform/db/delivery-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredVariant {
  readonly name: string
  readonly modelId: string
  readonly version: string
  /** The version's number when the experiment was created; null if it was not uploaded. */
  readonly versionNumber: number | null
  readonly allocation: number
}

export interface StoredExperiment extends ExperimentState {
  readonly id: string
  readonly orgId: string | null
  readonly name: string
  readonly variants: readonly StoredVariant[]
  /** Ids of device groups; if empty, every device of the organization. */
  readonly targetGroups: readonly string[]
  readonly primaryMetric: string
  readonly confidenceLevel: number
  /** Null until it is started. */
  readonly startedRevision: number | null
  readonly createdAt: Date
}

type Row = Selectable<ExperimentRow>

export const experimentsStore = {
  /** Implements `PlanSource`: the running experiments. */
  async load(db: Executor): Promise<ExperimentPlan[]> {
    const rows = await db.selectFrom('experiments').selectAll().where('status', '=', 'running').execute()
    return (await withVariants(db, rows)).map((experiment) => ({
      id: experiment.id,
      kind: 'experiment',
      orgId: experiment.orgId,
      startedRevision: experiment.startedRevision ?? 0,
      settled: false,
      groupIds: experiment.targetGroups.length === 0 ? null : experiment.targetGroups,
      variants: experiment.variants.map(({ name, allocation, modelId, version, versionNumber }) => ({
        name,
        allocation,
        target: { modelId, modelName: null, version, versionNumber },
      })),
    }))
  },

  async insert(tx: Executor, experiment: StoredExperiment): Promise<void> {
    const { id, name } = experiment
    await tx
      .insertInto('experiments')
      .values({
        id,
        name,
        org_id: experiment.orgId,
        primary_metric: experiment.primaryMetric,
        target_groups: [...experiment.targetGroups],
        confidence_level: experiment.confidenceLevel,
        created_at: experiment.createdAt,
        ...stateColumns(experiment),
      })
      .execute()
      .catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw conflict(`An experiment named '${name}' already exists. Choose another name.`)
      })
    await tx
      .insertInto('experiment_variants')
      .values(
        experiment.variants.map((variant, position) => ({
          experiment_id: id,
          position,
          name: variant.name,
          model_id: variant.modelId,
          version: variant.version,
          version_number: variant.versionNumber,
          allocation: variant.allocation,
        })),
      )
      .execute()
  },

  async update(tx: Executor, experiment: StoredExperiment): Promise<void> {
    await tx.updateTable('experiments').set(stateColumns(experiment)).where('id', '=', experiment.id).execute()
  },

  async find(db: Executor, id: string): Promise<StoredExperiment | null> {
    const rows = await db.selectFrom('experiments').selectAll().where('id', '=', id).execute()
    return (await withVariants(db, rows))[0] ?? null
  },

  /** Returns the experiment, locked until the transaction ends. */
  async lock(tx: Executor, id: string): Promise<StoredExperiment | null> {
    const rows = await tx.selectFrom('experiments').selectAll().where('id', '=', id).forUpdate().execute()
    return (await withVariants(tx, rows))[0] ?? null
  },

  /** Newest first; of all organizations if `orgId` is null. */
  async list(
    db: Executor,
    filter: { readonly orgId: string | null; readonly status: ExperimentStatus | undefined },
    page: { limit: number; offset: number },
  ): Promise<{ experiments: StoredExperiment[]; total: number }> {
    let requested = db.selectFrom('experiments')
    if (filter.orgId !== null) requested = requested.where('org_id', '=', filter.orgId)
    if (filter.status !== undefined) requested = requested.where('status', '=', filter.status)
    const rows = await requested.selectAll().orderBy('ordinal', 'desc').limit(page.limit).offset(page.offset).execute()
    const { total } = await requested.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow()
    return { experiments: await withVariants(db, rows), total }
  },
}

const withVariants = async (db: Executor, rows: readonly Row[]): Promise<StoredExperiment[]> => {
  if (rows.length === 0) return []
  const variants = await db
    .selectFrom('experiment_variants')
    .selectAll()
    .where(
      'experiment_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('position')
    .execute()
  const byExperiment = new Map<string, Selectable<ExperimentVariantRow>[]>(rows.map(({ id }) => [id, []]))
  for (const variant of variants) byExperiment.get(variant.experiment_id)?.push(variant)
  return rows.map((row) => fromRow(row, byExperiment.get(row.id) ?? []))
}

const stateColumns = (experiment: StoredExperiment) => ({
  status: experiment.status,
  reason: experiment.reason,
  started_revision: experiment.startedRevision,
  started_at: experiment.startedAt,
  ended_at: experiment.endedAt,
})

const fromRow = (row: Row, variants: readonly Selectable<ExperimentVariantRow>[]): StoredExperiment => ({
  id: row.id,
  orgId: row.org_id,
  name: row.name,
  status: row.status as ExperimentStatus,
  variants: variants.map(({ name, model_id, version, version_number, allocation }) => ({
    name,
    modelId: model_id,
    version,
    versionNumber: version_number,
    allocation,
  })),
  targetGroups: row.target_groups,
  primaryMetric: row.primary_metric,
  confidenceLevel: row.confidence_level,
  reason: row.reason,
  startedRevision: row.started_revision,
  createdAt: row.created_at,
  startedAt: row.started_at,
  endedAt: row.ended_at,
})
