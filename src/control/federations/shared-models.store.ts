import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'
import type { ModelUses } from '../catalog/models/round-results.service.ts'

/** Models that a federation's active members may read, whichever organization owns them. */
export const sharedModelsStore = {
  /** `isResult`: a round's result, shared automatically. Once it is also shared by hand, retention keeps the model. */
  async add(tx: Executor, federationId: string, modelId: string, at: Date, isResult = false): Promise<void> {
    await sql`
      insert into federation_models (federation_id, model_id, shared_at, is_result)
      values (${federationId}, ${modelId}, ${at}, ${isResult})
      on conflict (federation_id, model_id) do update
        set is_result = federation_models.is_result and excluded.is_result`.execute(tx)
  },

  /** False if it was not shared. */
  async remove(tx: Executor, federationId: string, modelId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from federation_models where federation_id = ${federationId} and model_id = ${modelId}
      returning model_id`.execute(tx)
    return rows.length === 1
  },

  /** True if a federation that the organization is an active member of shares the model. */
  async isSharedWith(db: Executor, modelId: string, orgId: string): Promise<boolean> {
    return (await sharedWith(modelId, orgId).execute(db)).rows.length === 1
  },

  /** Like `isSharedWith`. If so, the model stays shared until the transaction ends. */
  async keepShared(tx: Executor, modelId: string, orgId: string): Promise<boolean> {
    return (await sql`${sharedWith(modelId, orgId)} for share`.execute(tx)).rows.length === 1
  },
}

const sharedWith = (modelId: string, orgId: string) => sql`
  select from federation_models s join federation_members m on m.federation_id = s.federation_id
  where s.model_id = ${modelId} and m.org_id = ${orgId} and m.status = 'active' limit 1`

/** True for models that were shared by hand. */
export const isSharedByHand: ModelUses = (modelId) =>
  sql<boolean>`exists (select from federation_models s where s.model_id = ${modelId} and not s.is_result)`
