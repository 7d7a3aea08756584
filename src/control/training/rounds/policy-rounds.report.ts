import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { FinishedRound, FinishedRounds, StoredPolicy } from '../../delivery/policies/policies.service.ts'

/** Excludes rounds of other organizations, which may read a shared model but must not decide what the owner's devices run. */
export const policyRoundsReport: FinishedRounds = {
  newest: async (db: Executor, { orgId }: StoredPolicy): Promise<number | null> => {
    const { rows } = await sql<{ round_number: number }>`
      select round_number from rounds where coalesce(org_id, '') = ${orgId ?? ''} and status = 'completed'
      order by round_number desc limit 1`.execute(db)
    return rows[0]?.round_number ?? null
  },

  undecided: async (db: Executor, policy: StoredPolicy): Promise<FinishedRound | null> => {
    const { rows } = await sql<{ id: string; round_number: number; aggregated_model_id: string }>`
      with recursive lineage (id) as (
        select ${policy.modelId}::uuid
        union select r.aggregated_model_id from rounds r join lineage l on r.global_model_id = l.id
        where r.status = 'completed' and r.aggregated_model_id is not null and r.org_id is not distinct from ${policy.orgId}
      )
      select r.id, r.round_number, r.aggregated_model_id from rounds r join lineage l on r.global_model_id = l.id
      where r.status = 'completed' and r.aggregated_model_id is not null and r.ended_at >= ${policy.updatedAt}
        and r.org_id is not distinct from ${policy.orgId}
        and r.round_number > coalesce((
          select max(d.round_number) from delivery_decisions e join rounds d on d.id = e.round_id
          where e.policy_id = ${policy.id} and d.org_id is not distinct from r.org_id), 0)
      order by r.ended_at desc, r.round_number desc limit 1`.execute(db)
    const row = rows[0]
    return row === undefined
      ? null
      : { id: row.id, roundNumber: row.round_number, aggregatedModelId: row.aggregated_model_id }
  },
}
