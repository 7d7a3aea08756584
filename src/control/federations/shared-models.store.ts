import { sql } from 'kysely'
import type { Executor } from '../../platform/db/open.ts'

export interface SharedModel {
  readonly modelId: string
  readonly orgId: string | null
  readonly name: string | null
  readonly framework: string
  readonly description: string
  readonly accuracy: number | null
  readonly loss: number | null
  readonly versionCount: number
  readonly sharedAt: Date
}

interface SharedRow {
  model_id: string
  org_id: string | null
  name: string | null
  framework: string
  description: string
  accuracy: number | null
  loss: number | null
  version_count: number
  shared_at: Date
}

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

  async find(db: Executor, federationId: string, modelId: string): Promise<SharedModel | null> {
    const { rows } = await sql<SharedRow>`
      ${select} where s.federation_id = ${federationId} and s.model_id = ${modelId}`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** The latest first. */
  async list(
    db: Executor,
    federationId: string,
    page: { limit: number; offset: number },
  ): Promise<{ models: SharedModel[]; total: number }> {
    const { rows } = await sql<SharedRow>`
      ${select} where s.federation_id = ${federationId}
      order by s.shared_at desc, m.ordinal desc limit ${page.limit} offset ${page.offset}`.execute(db)
    const { total } = await db
      .selectFrom('federation_models')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('federation_id', '=', federationId)
      .executeTakeFirstOrThrow()
    return { models: rows.map(fromRow), total }
  },

  /** Whether a federation that the organisation is an active member of shares the model. */
  async isSharedWith(db: Executor, modelId: string, orgId: string): Promise<boolean> {
    const { rows } = await sql`
      select from federation_models s join federation_members m on m.federation_id = s.federation_id
      where s.model_id = ${modelId} and m.org_id = ${orgId} and m.status = 'active' limit 1`.execute(db)
    return rows.length === 1
  },

  /** The id of a model of this name that is shared with the organisation; the one shared first where there are several. */
  async idByName(db: Executor, name: string, orgId: string): Promise<string | null> {
    const { rows } = await sql<{ id: string }>`
      select m.id from models m join federation_models s on s.model_id = m.id
      join federation_members b on b.federation_id = s.federation_id
      where m.name = ${name} and b.org_id = ${orgId} and b.status = 'active'
      order by s.shared_at, m.ordinal limit 1`.execute(db)
    return rows[0]?.id ?? null
  },
})

const select = sql`
  select s.model_id, s.shared_at, m.org_id, m.name, m.framework, m.description, m.accuracy, m.loss, m.version_count
  from federation_models s join models m on m.id = s.model_id`

const fromRow = (row: SharedRow): SharedModel => ({
  modelId: row.model_id,
  orgId: row.org_id,
  name: row.name,
  framework: row.framework,
  description: row.description,
  accuracy: row.accuracy,
  loss: row.loss,
  versionCount: row.version_count,
  sharedAt: row.shared_at,
})

export type SharedModelsStore = ReturnType<typeof createSharedModelsStore>
