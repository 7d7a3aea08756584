import { type Selectable, sql } from 'kysely'
import type { PolicySettings } from '../../../domain/policy.ts'
import type { DeliveryPolicyRow } from '../../../platform/db/delivery-rows.ts'
import { latestTrusted } from '../../../platform/db/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'

export interface StoredPolicy {
  readonly id: string
  readonly orgId: string | null
  readonly modelId: string
  readonly enabled: boolean
  readonly settings: PolicySettings
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const policiesStore = {
  async find(db: Executor, modelId: string): Promise<StoredPolicy | null> {
    const row = await db.selectFrom('delivery_policies').selectAll().where('model_id', '=', modelId).executeTakeFirst()
    return row === undefined ? null : policyFrom(row)
  },

  /** A model has one policy: a new one replaces it. */
  async save(db: Executor, policy: StoredPolicy): Promise<StoredPolicy> {
    const row = await db
      .insertInto('delivery_policies')
      .values({
        id: policy.id,
        org_id: policy.orgId,
        model_id: policy.modelId,
        enabled: policy.enabled,
        settings: JSON.stringify(policy.settings),
        created_at: policy.createdAt,
        updated_at: policy.updatedAt,
      })
      .onConflict((conflict) =>
        conflict.column('model_id').doUpdateSet({
          enabled: policy.enabled,
          settings: JSON.stringify(policy.settings),
          updated_at: policy.updatedAt,
        }),
      )
      .returningAll()
      .executeTakeFirstOrThrow()
    return policyFrom(row)
  },

  /** Returns false if it was deleted meanwhile. */
  async delete(db: Executor, id: string): Promise<boolean> {
    return (await db.deleteFrom('delivery_policies').where('id', '=', id).executeTakeFirst()).numDeletedRows > 0n
  },

  /** Newest first; of all organizations if `orgId` is null. */
  async list(db: Executor, orgId: string | null): Promise<StoredPolicy[]> {
    let query = db.selectFrom('delivery_policies').selectAll().orderBy('created_at', 'desc').orderBy('id')
    if (orgId !== null) query = query.where('org_id', '=', orgId)
    return (await query.execute()).map(policyFrom)
  },

  /** Has policies that were set, and canaries that began, while the clock was ahead start now. */
  async resetTimesAhead(db: Executor, now: Date): Promise<void> {
    const latest = latestTrusted(now)
    await sql`update delivery_policies set updated_at = ${now} where updated_at > ${latest}`.execute(db)
    await sql`
      update delivery_decisions set created_at = ${now}
      where status = 'observing' and created_at > ${latest}`.execute(db)
  },

  async enabled(db: Executor): Promise<StoredPolicy[]> {
    const rows = await db.selectFrom('delivery_policies').selectAll().where('enabled', '=', true).execute()
    return rows.map(policyFrom)
  },

  /** Returns the policy if it is enabled, locked until the transaction ends: one process at a time acts for a policy. */
  async lockEnabled(tx: Executor, id: string): Promise<StoredPolicy | null> {
    const row = await tx
      .selectFrom('delivery_policies')
      .selectAll()
      .where('id', '=', id)
      .where('enabled', '=', true)
      .forUpdate()
      .executeTakeFirst()
    return row === undefined ? null : policyFrom(row)
  },
}

export const policyFrom = (row: Selectable<DeliveryPolicyRow>): StoredPolicy => ({
  id: row.id,
  orgId: row.org_id,
  modelId: row.model_id,
  enabled: row.enabled,
  settings: row.settings as unknown as PolicySettings,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
