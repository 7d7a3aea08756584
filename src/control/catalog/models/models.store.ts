import { type RawBuilder, type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import type { Framework } from '../../../domain/model.ts'
import type { ModelRow } from '../../../platform/db/catalog-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredModel {
  readonly id: string
  readonly orgId: string | null
  readonly name: string | null
  readonly roundId: string | null
  /** The name of a round's model, derived from the model that it trained. */
  readonly roundName: string | null
  readonly framework: Framework
  readonly frameworkVersion: string
  readonly accuracy: number | null
  readonly loss: number | null
  readonly isBaseline: boolean
  readonly description: string
  readonly createdAt: Date
  /** For a round's model: the model that was trained first, which has the graph in its versions; null for others. */
  readonly architectureModelId: string | null
}

/** A model with the file of its highest version, which is null until weights exist. */
export interface ListedModel {
  readonly model: StoredModel
  readonly newest: { readonly sha256: string; readonly size: number } | null
}

export interface ModelFilter {
  /** null for an unbound key, which sees the models of all organizations. */
  readonly orgId: string | null
  /** Part of the name, case-insensitive; empty for all. */
  readonly q: string
  readonly framework: Framework | undefined
  readonly isBaseline: boolean | undefined
  /** False leaves out the models of rounds. */
  readonly roundModels: boolean
}

/** An SQL condition that is true while something needs the model with this id. */
export type ModelUses = (modelId: RawBuilder<string>) => RawBuilder<boolean>

type ListedRow = Selectable<ModelRow> & { newest_sha256: string | null; newest_size: number | null }

export const modelsStore = {
  /** Moves models without an organization to this one, except those whose name is taken there. */
  async adopt(tx: Executor, orgId: string): Promise<void> {
    await sql`
      update models m set org_id = ${orgId} where m.org_id is null
        and not exists (select from models o where o.org_id = ${orgId} and o.name = m.name)`.execute(tx)
  },

  async insert(db: Executor, model: StoredModel): Promise<void> {
    await db
      .insertInto('models')
      .values({
        id: model.id,
        org_id: model.orgId,
        name: model.name,
        round_id: model.roundId,
        round_name: model.roundName,
        framework: model.framework,
        framework_version: model.frameworkVersion,
        accuracy: model.accuracy,
        loss: model.loss,
        is_baseline: model.isBaseline,
        description: model.description,
        created_at: model.createdAt,
        architecture_model_id: model.architectureModelId,
      })
      .execute()
      .catch((error: unknown) => {
        if (isUniqueViolation(error) && model.name !== null) {
          throw conflict(
            `A model named '${model.name}' already exists. Upload a version to it, or choose another name.`,
          )
        }
        throw error
      })
  },

  async describe(tx: Executor, id: string, description: string): Promise<void> {
    await tx.updateTable('models').set({ description }).where('id', '=', id).execute()
  },

  async find(db: Executor, id: string): Promise<ListedModel | null> {
    const { rows } = await sql<ListedRow>`${select} where m.id = ${id}`.execute(db)
    return rows[0] === undefined ? null : fromListedRow(rows[0])
  },

  /** Returns each organization's model with this name or round name: only of `orgId`, or if it is null, of at most two. */
  async named(db: Executor, name: string, orgId: string | null, home: string | null): Promise<ListedModel[]> {
    const { rows } = await sql<ListedRow>`
      select * from (
        select distinct on (m.org_id) ${columns} where (m.name = ${name} or m.round_name = ${name}) and ${visible(orgId)}
        order by m.org_id, m.name is null, m.created_at) as found
      order by org_id is not distinct from ${home} desc limit 2`.execute(db)
    return rows.map(fromListedRow)
  },

  async findAll(db: Executor, ids: readonly string[]): Promise<ListedModel[]> {
    const { rows } = await sql<ListedRow>`${select} where m.id = any(${[...ids]}::uuid[])`.execute(db)
    return rows.map(fromListedRow)
  },

  async list(
    db: Executor,
    filter: ModelFilter,
    page: { limit: number; offset: number },
  ): Promise<{ models: ListedModel[]; total: number }> {
    const conditions = [visible(filter.orgId)]
    if (filter.q !== '')
      conditions.push(sql<boolean>`strpos(lower(coalesce(m.name, m.round_name)), lower(${filter.q})) > 0`)
    if (filter.framework !== undefined) conditions.push(sql<boolean>`m.framework = ${filter.framework}`)
    if (filter.isBaseline !== undefined) conditions.push(sql<boolean>`m.is_baseline = ${filter.isBaseline}`)
    if (!filter.roundModels) conditions.push(sql<boolean>`m.round_id is null`)
    const where = sql.join(conditions, sql` and `)
    const { rows } = await sql<ListedRow>`
      ${select} where ${where} order by m.created_at desc, m.ordinal desc limit ${page.limit} offset ${page.offset}`.execute(
      db,
    )
    const { rows: totals } = await sql<{ total: number }>`
      select count(*) as total from models m where ${where}`.execute(db)
    return { models: rows.map(fromListedRow), total: totals[0]!.total }
  },

  async count(db: Executor, orgId: string | null): Promise<number> {
    const { rows } = await sql<{ total: number }>`
      select count(*) as total from models m where ${visible(orgId)}`.execute(db)
    return rows[0]!.total
  },

  /** The newest model of this organization that a round produced. */
  async latestAggregated(db: Executor, orgId: string | null): Promise<string | null> {
    const row = await db
      .selectFrom('models')
      .select('id')
      .where('org_id', 'is not distinct from', orgId)
      .where('round_id', 'is not', null)
      .where('version_count', '>', 0)
      .orderBy('created_at', 'desc')
      .orderBy('ordinal', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row?.id ?? null
  },

  /** Locks those of these models of rounds that exist until the transaction ends, so that nothing can start to refer to them; skips locked ones. */
  async lockRoundModels(tx: Executor, modelIds: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from models where id = any(${modelIds}::uuid[]) and round_id is not null
      order by id for update skip locked`.execute(tx)
    return rows.map(({ id }) => id)
  },

  /** Deletes the unneeded models of rounds with their only version; returns their ids. */
  async deleteUnusedRoundModels(
    tx: Executor,
    modelIds: readonly string[],
    uses: readonly ModelUses[],
  ): Promise<string[]> {
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

const columns = sql`
  m.*, newest.sha256 as newest_sha256, newest.size as newest_size
  from models m left join lateral (
    select sha256, size from model_versions v where v.model_id = m.id order by version desc limit 1) as newest on true`

const select = sql`select ${columns}`

const visible = (orgId: string | null) => (orgId === null ? sql<boolean>`true` : sql<boolean>`m.org_id = ${orgId}`)

const fromListedRow = (row: ListedRow): ListedModel => ({
  model: {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    roundId: row.round_id,
    roundName: row.round_name,
    framework: row.framework as Framework,
    frameworkVersion: row.framework_version,
    accuracy: row.accuracy,
    loss: row.loss,
    isBaseline: row.is_baseline,
    description: row.description,
    createdAt: row.created_at,
    architectureModelId: row.architecture_model_id,
  },
  newest: row.newest_sha256 === null ? null : { sha256: row.newest_sha256, size: row.newest_size! },
})
