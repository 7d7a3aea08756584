import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'

/** A condition that holds while something needs the model of this id, an expression of SQL. */
export type ModelUses = (modelId: RawBuilder<string>) => RawBuilder<boolean>

/** What rounds have made, of which most are not needed for long. */
export const createRoundModelsStore = () => ({
  /** Those of them that are there, locked until the transaction ends: nothing can begin to refer to them. */
  async lock(tx: Executor, modelIds: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from models where id = any(${modelIds}::uuid[]) and round_id is not null
      order by id for update skip locked`.execute(tx)
    return rows.map(({ id }) => id)
  },

  /** Deletes those that nothing needs, with their only version; returns their ids. */
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
})

/** Named, published as a version of the model that was trained, or made more of than a round makes. */
const OWN_USES: readonly ModelUses[] = [
  (id) => sql<boolean>`exists (select from model_aliases a where a.model_id = ${id})`,
  (id) => sql<boolean>`exists (select from models o where o.id = ${id} and (o.version_count > 1 or o.is_baseline))`,
  (id) => sql<boolean>`exists (
    select from models o join model_versions v on v.round_id = o.round_id and v.model_id <> o.id where o.id = ${id})`,
]

export type RoundModelsStore = ReturnType<typeof createRoundModelsStore>
