import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** An SQL condition that is true while something needs the model with this id. */
export type ModelUses = (modelId: RawBuilder<string>) => RawBuilder<boolean>

/** Models made by rounds, most of which are not needed for long. */
export const roundModelsStore = {
  /** Locks those that exist until the transaction ends, so that nothing can start to refer to them; skips locked ones. */
  async lock(tx: Executor, modelIds: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from models where id = any(${modelIds}::uuid[]) and round_id is not null
      order by id for update skip locked`.execute(tx)
    return rows.map(({ id }) => id)
  },

  /** Deletes the unneeded ones with their only version; returns their ids. */
  async deleteUnused(tx: Executor, modelIds: readonly string[], uses: readonly ModelUses[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      delete from models m where m.id = any(${modelIds}::uuid[]) and m.round_id is not null
        and not (${sql.join(
          [...OWN_USES, ...uses].map((isUsed) => isUsed(sql<string>`m.id`)),
          sql` or `,
        )})
      returning m.id`.execute(tx)
    return rows.map(({ id }) => id)
  },
}

/** The model has an alias or further versions, is a baseline, or was published as a version of the trained model. */
const OWN_USES: readonly ModelUses[] = [
  (id) => sql<boolean>`exists (select from model_aliases a where a.model_id = ${id})`,
  (id) => sql<boolean>`exists (select from models o where o.id = ${id} and (o.version_count > 1 or o.is_baseline))`,
  (id) => sql<boolean>`exists (
    select from models o join model_versions v on v.round_id = o.round_id and v.model_id <> o.id where o.id = ${id})`,
]
