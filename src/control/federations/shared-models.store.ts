import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'

/** Models that a federation's active members may read, whoever owns them. */
export const createSharedModelsStore = () => ({
  async add(tx: Executor, federationId: string, modelId: string, at: Date): Promise<void> {
    await tx
      .insertInto('federation_models')
      .values({ federation_id: federationId, model_id: modelId, shared_at: at })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  /** False when it was not shared. */
  async remove(tx: Executor, federationId: string, modelId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from federation_models where federation_id = ${federationId} and model_id = ${modelId}
      returning model_id`.execute(tx)
    return rows.length === 1
  },

  /** Whether a federation that the organization is an active member of shares the model. */
  async isSharedWith(db: Executor, modelId: string, orgId: string): Promise<boolean> {
    const { rows } = await sql`
      select from federation_models s join federation_members m on m.federation_id = s.federation_id
      where s.model_id = ${modelId} and m.org_id = ${orgId} and m.status = 'active' limit 1`.execute(db)
    return rows.length === 1
  },
})

export type SharedModelsStore = ReturnType<typeof createSharedModelsStore>
