import { type Selectable, sql } from 'kysely'
import type { Comparison, Measured } from '../../../domain/policy.ts'
import { MAX_REPORTED } from '../../../domain/reported-number.ts'
import type { DeliveryDecisionRow } from '../../../platform/db/delivery-rows.ts'
import { meanOf, squaredDeviationsOf } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { policyFrom, type StoredPolicy } from './policies.store.ts'

export type DecisionStatus = 'observing' | 'promoted' | 'rolled_back'

interface DecisionRecord {
  readonly roundNumber: number
  readonly aggregateModelId: string
  /** The rollout to all devices, which may be the canary's own; null unless promoted. */
  readonly promotionRolloutId: string | null
  /** The explanation; null while observing. */
  readonly reason: string | null
  readonly comparisons: readonly Comparison[]
}

export interface StoredDecision {
  readonly id: string
  readonly policyId: string
  readonly roundId: string
  /** The canary's rollout. */
  readonly rolloutId: string | null
  readonly version: string
  readonly status: DecisionStatus
  readonly record: DecisionRecord
  readonly createdAt: Date
  readonly decidedAt: Date | null
}

/** A disabled policy decides nothing; its canary stays as it is until the policy is enabled again or an operator ends it. */
const isObserved = sql<boolean>`status = 'observing' and exists (
  select from delivery_policies p where p.id = policy_id and p.enabled)`

/** The decisions of policies, and what devices measured until then. */
export const decisionsStore = {
  async addDecision(tx: Executor, decision: StoredDecision): Promise<void> {
    await tx
      .insertInto('delivery_decisions')
      .values({
        id: decision.id,
        policy_id: decision.policyId,
        round_id: decision.roundId,
        rollout_id: decision.rolloutId,
        version: decision.version,
        status: decision.status,
        record: JSON.stringify(decision.record),
        created_at: decision.createdAt,
        decided_at: decision.decidedAt,
      })
      .execute()
  },

  async observing(db: Executor, policyId?: string): Promise<{ decision: StoredDecision; policy: StoredPolicy }[]> {
    let query = db.selectFrom('delivery_decisions').selectAll().where(isObserved)
    if (policyId !== undefined) query = query.where('policy_id', '=', policyId)
    const decisions = (await query.execute()).map(decisionFrom)
    if (decisions.length === 0) return []
    const rows = await db
      .selectFrom('delivery_policies')
      .selectAll()
      .where('id', 'in', [...new Set(decisions.map((decision) => decision.policyId))])
      .execute()
    const policies = new Map(rows.map((row) => [row.id, policyFrom(row)]))
    return decisions.map((decision) => ({ decision, policy: policies.get(decision.policyId)! }))
  },

  async lockObserving(tx: Executor, id: string): Promise<boolean> {
    const row = await tx
      .selectFrom('delivery_decisions')
      .select('id')
      .where('id', '=', id)
      .where(isObserved)
      .forUpdate()
      .executeTakeFirst()
    return row !== undefined
  },

  async decide(tx: Executor, decision: StoredDecision): Promise<void> {
    await tx
      .updateTable('delivery_decisions')
      .set({ status: decision.status, record: JSON.stringify(decision.record), decided_at: decision.decidedAt })
      .where('id', '=', decision.id)
      .execute()
  },

  /** Newest first. */
  async decisions(
    db: Executor,
    policyId: string,
    page: { limit: number; offset: number },
  ): Promise<{ decisions: StoredDecision[]; total: number }> {
    const rows = await db
      .selectFrom('delivery_decisions')
      .selectAll()
      .where('policy_id', '=', policyId)
      .orderBy('ordinal', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from delivery_decisions where policy_id = ${policyId}`.execute(db)
    return { decisions: rows.map(decisionFrom), total: totals[0]!.total }
  },

  /**
   * Returns what devices measured of these metrics since `since`: under the canary, and of other versions under other rollouts
   * and deployments of the model. A device counts once, with its last measurement.
   */
  async measured(
    db: Executor,
    canary: { readonly rolloutId: string; readonly modelId: string; readonly since: Date },
    metrics: readonly string[],
  ): Promise<{ canary: Measured; current: Measured }> {
    // Numbers outside of the accepted range count as absent: reports from before the range was checked may have them.
    const { rows } = await sql<{ own: boolean; metric: string; count: number; mean: number; m2: number }>`
      with reported as (
        select distinct on (p.device_id) p.device_id, p.plan_id = ${canary.rolloutId} as own, p.metrics
        from plan_reports p
        where p.state = 'active' and p.metrics is not null
          and coalesce(p.measured_at, p.reported_at) >= ${canary.since} and p.plan_id in (
          select id from rollouts where model_id = ${canary.modelId}
          union all select id from deployments where model_id = ${canary.modelId})
          and (p.plan_id = ${canary.rolloutId} or p.version_number is distinct from (
            select version_number from rollouts where id = ${canary.rolloutId}))
        order by p.device_id, coalesce(p.measured_at, p.reported_at) desc, p.plan_id = ${canary.rolloutId} desc
      ), measured as (
        select own, name as metric, (metrics ->> name)::float8 as value
        from reported cross join unnest(${[...metrics]}::text[]) as name
      )
      select own, metric, count(*) as count, ${meanOf(sql`value`)} as mean, ${squaredDeviationsOf(sql`value`)} as m2
      from measured where abs(value) <= ${MAX_REPORTED} group by own, metric`.execute(db)
    const of = (own: boolean): Measured =>
      Object.fromEntries(
        rows.filter((row) => row.own === own).map(({ metric, count, mean, m2 }) => [metric, { count, mean, m2 }]),
      )
    return { canary: of(true), current: of(false) }
  },
}

const decisionFrom = (row: Selectable<DeliveryDecisionRow>): StoredDecision => ({
  id: row.id,
  policyId: row.policy_id,
  roundId: row.round_id,
  rolloutId: row.rollout_id,
  version: row.version,
  status: row.status as DecisionStatus,
  record: row.record as unknown as DecisionRecord,
  createdAt: row.created_at,
  decidedAt: row.decided_at,
})
