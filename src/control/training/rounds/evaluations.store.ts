import { sql } from 'kysely'
import type { Evaluation, MetricReport } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { StoredRound } from './rounds.store.ts'

/** `missed`: no answer before the evaluation ended, or no longer awaited. */
type EvaluationState = 'asked' | 'reported' | 'failed' | 'missed'

/** Devices' evaluations of the models that rounds distribute and make. */
export const evaluationsStore = {
  /** Evaluations of the model that this round distributed, from the updates of any round; ordered by device. */
  async broughtTo(db: Executor, roundId: string): Promise<MetricReport[]> {
    const { rows } = await sql<{ evaluation: MetricReport }>`
      select evaluation from updates
      where ((round_id = ${roundId} and base_round_id is null) or base_round_id = ${roundId}) and evaluation is not null
      order by device_id`.execute(db)
    return rows.map(({ evaluation }) => evaluation)
  },

  /**
   * Stores the devices' evaluation of the model that this round distributed. It also becomes the evaluation of the round that
   * made the model if both belong to the same job and it has no final evaluation. For standalone rounds, the first one counts.
   */
  async keep(tx: Executor, round: StoredRound, evaluation: Evaluation): Promise<void> {
    const found = JSON.stringify(evaluation)
    await tx.updateTable('rounds').set({ global_evaluation: found }).where('id', '=', round.id).execute()
    if (round.globalModelId === null) return
    await tx
      .updateTable('rounds')
      .set({ evaluation: found })
      .where('aggregated_model_id', '=', round.globalModelId)
      .where('org_id', 'is not distinct from', round.orgId)
      .where('job_id', 'is not distinct from', round.jobId)
      .where(sql<boolean>`(job_id is not null or evaluation is null)`)
      .where('privacy', 'is', null)
      .where(sql<boolean>`not exists (select from evaluations e where e.round_id = rounds.id and e.state = 'reported')`)
      .execute()
  },

  /** Asks the devices that offered it with their updates to evaluate the round's new model; returns how many. */
  async ask(tx: Executor, roundId: string, now: Date, until: Date): Promise<number> {
    const { rows } = await sql`
      insert into evaluations (round_id, device_id, state, asked_at)
      select round_id, device_id, 'asked', ${now}::timestamptz from updates
      where round_id = ${roundId} and evaluation->>'finalModel' = 'true' returning device_id`.execute(tx)
    if (rows.length > 0) {
      await tx.updateTable('rounds').set({ evaluation_until: until }).where('id', '=', roundId).execute()
    }
    return rows.length
  },

  async stateOf(db: Executor, roundId: string, deviceId: string): Promise<EvaluationState | null> {
    const row = await db
      .selectFrom('evaluations')
      .select('state')
      .where('round_id', '=', roundId)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
    return (row?.state ?? null) as EvaluationState | null
  },

  /** Records a device's evaluation or failure, once; false if none is expected from it. */
  async record(
    db: Executor,
    { roundId, deviceId }: { readonly roundId: string; readonly deviceId: string },
    outcome: { readonly report: MetricReport } | { readonly reason: string },
    now: Date,
  ): Promise<boolean> {
    const values =
      'report' in outcome
        ? {
            state: 'reported',
            num_samples: outcome.report.numSamples,
            metrics: JSON.stringify(outcome.report.metrics),
          }
        : { state: 'failed', reason: outcome.reason }
    const { numUpdatedRows } = await db
      .updateTable('evaluations')
      .set({ ...values, reported_at: now })
      .where('round_id', '=', roundId)
      .where('device_id', '=', deviceId)
      .where('state', '=', 'asked')
      .executeTakeFirst()
    return numUpdatedRows > 0
  },

  /** Stops waiting for these devices. */
  async excuse(tx: Executor, roundId: string, deviceIds: readonly string[]): Promise<void> {
    await sql`
      update evaluations set state = 'missed'
      where round_id = ${roundId} and device_id = any(${[...deviceIds]}::uuid[]) and state = 'asked'`.execute(tx)
  },

  /** The reported evaluations, ordered by device. */
  async reports(db: Executor, roundId: string): Promise<MetricReport[]> {
    const rows = await db
      .selectFrom('evaluations')
      .select(['num_samples', 'metrics'])
      .where('round_id', '=', roundId)
      .where('state', '=', 'reported')
      .orderBy('device_id')
      .execute()
    return rows.map(({ num_samples, metrics }) => ({ numSamples: num_samples!, metrics: metrics! }))
  },

  /** Ends the evaluation; its result, if any, becomes the round's evaluation. */
  async close(tx: Executor, roundId: string, evaluation: Evaluation | null): Promise<void> {
    await tx
      .updateTable('evaluations')
      .set({ state: 'missed' })
      .where('round_id', '=', roundId)
      .where('state', '=', 'asked')
      .execute()
    await tx
      .updateTable('rounds')
      .set({ evaluation_until: null, ...(evaluation !== null && { evaluation: JSON.stringify(evaluation) }) })
      .where('id', '=', roundId)
      .execute()
  },
}
