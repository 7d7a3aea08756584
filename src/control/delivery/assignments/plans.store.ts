import { type RawBuilder, sql } from 'kysely'
import type { PlanKind } from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** One entry of a plan's history. */
export interface PlanEvent {
  readonly at: Date
  readonly event: string
  /** The plan's status after the event. */
  readonly status: string
  readonly percentage: number | null
  readonly reason: string | null
  /** The id of the key that requested it; null if the service did it automatically. */
  readonly actor: string | null
}

/**
 * Waits for changes of plans that are being committed; later ones wait for this transaction, and then see what it has changed.
 * Returns false without a revision: there is nothing to wait for, and the first plan may be about to be committed.
 */
const lockRevision = async (tx: Executor): Promise<boolean> =>
  (await tx.selectFrom('delivery_revision').select('revision').forUpdate().executeTakeFirst()) !== undefined

const isUsed = async (tx: Executor, condition: RawBuilder<unknown>): Promise<boolean> => {
  if (!(await lockRevision(tx))) return true
  const { rows } = await sql<{ used: boolean }>`select ${condition} as used`.execute(tx)
  return rows[0]!.used
}

interface WaitingPlan {
  readonly kind: PlanKind
  readonly id: string
  readonly version: string
  readonly versionNumber: number | null
}

/** What all kinds of plans share: the revision and history. */
export const plansStore = {
  lockRevision,

  /** True if a plan's reach depends on the group. */
  isGroupUsed: (tx: Executor, groupId: string): Promise<boolean> =>
    isUsed(
      tx,
      sql`(exists (select from rollouts where group_id = ${groupId} and status <> 'rolled_back')
        or exists (select from experiments where ${groupId}::uuid = any(target_groups) and ended_at is null))`,
    ),

  /** True if a plan that is or may be in force delivers versions of the model. */
  isModelUsed: (tx: Executor, modelId: string): Promise<boolean> =>
    isUsed(
      tx,
      sql`(exists (select from rollouts where model_id = ${modelId} and status <> 'rolled_back')
        or exists (select from deployments where model_id = ${modelId} and status in ('started', 'completed'))
        or exists (select from experiment_variants v join experiments e on e.id = v.experiment_id
          where v.model_id = ${modelId} and e.ended_at is null))`,
    ),

  /** Returns the plans that may yet start to deliver versions of the model. */
  async waiting(tx: Executor, modelId: string): Promise<WaitingPlan[]> {
    const { rows } = await sql<WaitingPlan>`
      select 'rollout' as kind, id, version, version_number as "versionNumber" from rollouts
      where model_id = ${modelId} and status = 'pending'
      union all
      select 'deployment', id, model_version, version_number from deployments
      where model_id = ${modelId} and status = 'pending_approval'
      union all
      select 'experiment', e.id, v.version, v.version_number from experiments e
      join experiment_variants v on v.experiment_id = e.id
      where v.model_id = ${modelId} and e.status in ('draft', 'paused')`.execute(tx)
    return rows
  },

  /** Returns the last plan of this version that the service ended because of failures or a policy; null if there is none. */
  async lastFailed(
    db: Executor,
    modelId: string,
    version: number,
  ): Promise<{ readonly kind: PlanKind; readonly id: string; readonly reason: string } | null> {
    const { rows } = await sql<{ kind: PlanKind; id: string; reason: string }>`
      select kind, id, reason from (
        select 'rollout' as kind, id, reason, ended_at from rollouts
        where model_id = ${modelId} and version_number = ${version} and status = 'rolled_back' and ended_by = 'service'
        union all
        select 'deployment', id, reason, ended_at from deployments
        where model_id = ${modelId} and version_number = ${version} and status = 'failed') as failed
      where reason is not null order by ended_at desc limit 1`.execute(db)
    return rows[0] ?? null
  },

  async revision(db: Executor): Promise<number> {
    const row = await db.selectFrom('delivery_revision').select('revision').executeTakeFirst()
    return row?.revision ?? 0
  },

  /** Returns the new revision; its row stays locked until the transaction ends, so revisions come in order of commit. */
  async bump(tx: Executor): Promise<number> {
    const { rows } = await sql<{ revision: number }>`
      insert into delivery_revision as d (revision) values (1)
      on conflict (only_row) do update set revision = d.revision + 1 returning revision`.execute(tx)
    return rows[0]!.revision
  },

  async addEvent(tx: Executor, planId: string, event: PlanEvent): Promise<void> {
    await tx
      .insertInto('plan_events')
      .values({ plan_id: planId, ...event })
      .execute()
  },

  /** Oldest first. */
  async events(
    db: Executor,
    planId: string,
    page: { limit: number; offset: number },
  ): Promise<{ events: PlanEvent[]; total: number }> {
    const events = await db
      .selectFrom('plan_events')
      .select(['at', 'event', 'status', 'percentage', 'reason', 'actor'])
      .where('plan_id', '=', planId)
      .orderBy('ordinal')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { rows } = await sql<{ total: number }>`
      select count(*) as total from plan_events where plan_id = ${planId}`.execute(db)
    return { events, total: rows[0]!.total }
  },

  /** Returns the organization of a plan of any kind, even if it is over or deleted; null if it never existed. */
  async owner(db: Executor, planId: string): Promise<{ orgId: string | null; isDeleted: boolean } | null> {
    const { rows } = await sql<{ org_id: string | null; deleted: boolean }>`
      select org_id, false as deleted from rollouts where id = ${planId}
      union all select org_id, false from deployments where id = ${planId}
      union all select org_id, false from experiments where id = ${planId}
      union all (select null, true from plan_events where plan_id = ${planId} limit 1)
      limit 1`.execute(db)
    return rows[0] === undefined ? null : { orgId: rows[0].org_id, isDeleted: rows[0].deleted }
  },
}
