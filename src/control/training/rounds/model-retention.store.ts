import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelUses } from '../../catalog/models/round-models.service.ts'

export interface RoundWithModel {
  readonly id: string
  readonly modelId: string
}

/** Models of rounds that are older than those that are kept anyway. */
export const createModelRetentionStore = () => ({
  /**
   * Completed rounds whose updates are gone, but for the `kept` latest of each job and, without a job, of each organization;
   * those after the round `after`, in the order of their ids.
   */
  async outdated(db: Executor, kept: number, after: string, limit: number): Promise<RoundWithModel[]> {
    const { rows } = await sql<{ id: string; model_id: string }>`
      select id, model_id from (
        select id, aggregated_model_id as model_id, updates_deleted_at,
          row_number() over (partition by job_id, coalesce(org_id, '') order by round_number desc) as place
        from rounds where status = 'completed' and aggregated_model_id is not null and model_deleted_at is null) as made
      where place > ${kept} and updates_deleted_at is not null and id > ${after}
      order by id limit ${limit}`.execute(db)
    return rows.map(({ id, model_id }) => ({ id, modelId: model_id }))
  },

  async markDeleted(tx: Executor, modelIds: readonly string[], at: Date): Promise<void> {
    await sql`
      update rounds set model_deleted_at = ${at} where aggregated_model_id = any(${modelIds}::uuid[])`.execute(tx)
  },

  /** Lets go of what strategies carry, of jobs that ended before `before`; returns how many. */
  async releaseStates(tx: Executor, before: Date, at: Date, limit: number): Promise<number> {
    const { rows } = await sql`
      update training_jobs set state_sha256 = null, control_sha256 = null, state_deleted_at = ${at} where id in (
        select id from training_jobs where ended_at < ${before}
          and (state_sha256 is not null or control_sha256 is not null) limit ${limit} for update skip locked)
      returning id`.execute(tx)
    return rows.length
  },
})

/** Jobs began from it or can go on from it, or a round distributes it whose aggregation can still be repeated. */
export const isTrained: ModelUses = (modelId) => sql<boolean>`(
  exists (select from training_jobs j where ${modelId} in (j.model_id, j.latest_model_id))
  or exists (select from rounds g where g.global_model_id = ${modelId} and g.updates_deleted_at is null))`

export type ModelRetentionStore = ReturnType<typeof createModelRetentionStore>
