import { sql } from 'kysely'
import type { Evaluation, MetricReport } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { StoredRound } from './stored-round.store.ts'

/** What devices found of the models that rounds distribute and make. */
export const createEvaluationsStore = () => ({
  /** What devices found of the model that this round distributed, whichever rounds took their updates; by device. */
  async broughtTo(db: Executor, roundId: string): Promise<MetricReport[]> {
    const { rows } = await sql<{ evaluation: MetricReport }>`
      select evaluation from updates
      where ((round_id = ${roundId} and base_round_id is null) or base_round_id = ${roundId}) and evaluation is not null
      order by device_id`.execute(db)
    return rows.map(({ evaluation }) => evaluation)
  },

  /** What devices found of the model that this round distributed; told of the round that made it, too. */
  async keep(tx: Executor, round: StoredRound, evaluation: Evaluation): Promise<void> {
    const found = JSON.stringify(evaluation)
    await tx.updateTable('rounds').set({ global_evaluation: found }).where('id', '=', round.id).execute()
    if (round.globalModelId === null) return
    await tx
      .updateTable('rounds')
      .set({ evaluation: found })
      .where('aggregated_model_id', '=', round.globalModelId)
      .where('org_id', 'is not distinct from', round.orgId)
      .where('privacy', 'is', null)
      .execute()
  },
})

export type EvaluationsStore = ReturnType<typeof createEvaluationsStore>
