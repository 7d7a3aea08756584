import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { FileReferences } from '../../catalog/files/files.service.ts'
import type { ModelUses } from '../../catalog/models/round-results.service.ts'

interface RoundWithModel {
  readonly id: string
  readonly modelId: string
}

/** The data of rounds and jobs that is kept for a limited time. */
export const retentionStore = {
  /** Ended rounds whose updates are past their retention period: before `before`, or before their organization's own cutoff. */
  async expired(db: Executor, before: Date, ofOrgs: ReadonlyMap<string, Date>, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select rounds.id from rounds
      left join unnest(${[...ofOrgs.keys()]}::text[], ${[...ofOrgs.values()]}::timestamptz[]) as own (org_id, before)
        on own.org_id = rounds.org_id
      where ended_at <= coalesce(own.before, ${before}) and updates_deleted_at is null
      limit ${limit}`.execute(db)
    return rows.map((row) => row.id)
  },

  /** Unlinks the files of a round's updates and the inputs of its aggregation; keeps records and hashes. */
  async releaseUpdates(tx: Executor, roundId: string, at: Date): Promise<void> {
    const gone = { sha256: null, control_sha256: null }
    await tx.updateTable('updates').set(gone).where('round_id', '=', roundId).execute()
    await tx
      .updateTable('rounds')
      .set({ updates_deleted_at: at, noise_seed: null, state_sha256: null, control_sha256: null })
      .where('id', '=', roundId)
      .execute()
  },

  /**
   * Completed rounds whose updates are gone, except the `kept` latest of each job or, for standalone rounds, of each
   * organization. Sorted by id, starting after `after`.
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

  /** Releases the strategy states of jobs that ended before `before`; returns how many. */
  async releaseStates(tx: Executor, before: Date, at: Date, limit: number): Promise<number> {
    const { rows } = await sql`
      update training_jobs set state_sha256 = null, control_sha256 = null, state_deleted_at = ${at} where id in (
        select id from training_jobs where ended_at < ${before}
          and (state_sha256 is not null or control_sha256 is not null) limit ${limit} for update skip locked)
      returning id`.execute(tx)
    return rows.length
  },
}

/** Jobs began from the model or can continue from it, or a round distributed it and can still be replayed. */
export const isTrained: ModelUses = (modelId) => sql<boolean>`(
  exists (select from training_jobs j where ${modelId} in (j.model_id, j.latest_model_id))
  or exists (select from rounds g where g.global_model_id = ${modelId} and g.updates_deleted_at is null))`

/** True if a round under way distributes this version, or the first round of an unfinished job will. */
export const isBaseVersion = async (tx: Executor, modelId: string, version: number): Promise<boolean> => {
  const { rows } = await sql<{ used: boolean }>`
    select exists (select from rounds where global_model_id = ${modelId} and coalesce(global_model_version, 1) = ${version}
        and status in ('pending', 'active', 'aggregating'))
      or exists (select from training_jobs where model_id = ${modelId} and latest_model_id is null and ended_at is null
        and (settings ->> 'modelVersion')::integer = ${version}) as used`.execute(tx)
  return rows[0]!.used
}

/**
 * Files of updates, and the state that jobs hand on. A round's inputs and result are needed while its aggregation can be
 * repeated, which is as long as its updates are kept.
 */
export const trainingReferences: FileReferences = (sha256) => sql<boolean>`(
  exists (select from updates u where u.sha256 = ${sha256})
  or exists (select from updates u where u.control_sha256 = ${sha256})
  or exists (select from training_jobs j where j.state_sha256 = ${sha256})
  or exists (select from training_jobs j where j.control_sha256 = ${sha256})
  or exists (select from rounds r where r.updates_deleted_at is null
    and ${sha256} in (r.global_sha256, r.aggregated_sha256, r.state_sha256, r.control_sha256)))`
