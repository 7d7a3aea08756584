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
  readonly latestVersion: number | null
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
  latest_version: number | null
  shared_at: Date
}

/** The models that a federation's active members may read, whichever organization owns them. */
export const sharedModelsReport = {
  async find(db: Executor, federationId: string, modelId: string): Promise<SharedModel | null> {
    const { rows } = await sql<SharedRow>`
      ${select} where s.federation_id = ${federationId} and s.model_id = ${modelId}`.execute(db)
    return rows[0] === undefined ? null : fromRow(rows[0])
  },

  /** Most recently shared first. */
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

  /** The id of a model with this name that is shared with the organization; if there are several, the one shared first. */
  async idByName(db: Executor, name: string, orgId: string): Promise<string | null> {
    const { rows } = await sql<{ id: string }>`
      select m.id from models m join federation_models s on s.model_id = m.id
      join federation_members b on b.federation_id = s.federation_id
      where m.name = ${name} and b.org_id = ${orgId} and b.status = 'active'
      order by s.shared_at, m.ordinal limit 1`.execute(db)
    return rows[0]?.id ?? null
  },
}

const select = sql`
  select s.model_id, s.shared_at, m.org_id, m.name, m.framework, m.description, m.accuracy, m.loss,
    (select max(version) from model_versions v where v.model_id = m.id) as latest_version
  from federation_models s join models m on m.id = s.model_id`

const fromRow = (row: SharedRow): SharedModel => ({
  modelId: row.model_id,
  orgId: row.org_id,
  name: row.name,
  framework: row.framework,
  description: row.description,
  accuracy: row.accuracy,
  loss: row.loss,
  latestVersion: row.latest_version,
  sharedAt: row.shared_at,
})
