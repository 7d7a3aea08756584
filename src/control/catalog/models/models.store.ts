import { type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import type { Framework, VersionFormat } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelRow, ModelVersionRow } from '../../../platform/db/rows.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredModel {
  readonly id: string
  readonly orgId: string | null
  readonly name: string | null
  readonly roundId: string | null
  readonly framework: Framework
  readonly frameworkVersion: string
  readonly accuracy: number | null
  readonly loss: number | null
  readonly isBaseline: boolean
  readonly description: string
  readonly createdAt: Date
}

export interface StoredVersion {
  readonly modelId: string
  readonly version: number
  readonly format: VersionFormat
  /** The semantic version the upload carried; null when it carried none and answers to `n.0.0`. */
  readonly ownLabel: string | null
  readonly fileName: string
  readonly sha256: string
  readonly size: number
  readonly description: string
  readonly warnings: readonly string[]
  readonly uploadedAt: Date
}

/** A model with the file of its highest version; null until weights exist. */
export interface ListedModel {
  readonly model: StoredModel
  readonly newest: { readonly sha256: string; readonly size: number } | null
}

export interface ModelFilter {
  /** null: an unbound key, which sees every organization's models. */
  readonly orgId: string | null
  readonly framework: Framework | undefined
  readonly isBaseline: boolean | undefined
}

type ListedRow = Selectable<ModelRow> & { newest_sha256: string | null; newest_size: number | null }

export const createModelsStore = () => ({
  async insert(db: Executor, model: StoredModel): Promise<void> {
    await db
      .insertInto('models')
      .values({
        id: model.id,
        org_id: model.orgId,
        name: model.name,
        round_id: model.roundId,
        framework: model.framework,
        framework_version: model.frameworkVersion,
        accuracy: model.accuracy,
        loss: model.loss,
        is_baseline: model.isBaseline,
        description: model.description,
        created_at: model.createdAt,
      })
      .execute()
      .catch((error: unknown) => {
        if (isUniqueViolation(error) && model.name !== null) {
          throw conflict(
            `A model named '${model.name}' exists already. Upload a version to it, or choose another name.`,
          )
        }
        throw error
      })
  },

  /** By id when the text is a uuid, else by name. */
  async find(
    db: Executor,
    wanted: { id: string } | { name: string; orgId: string | null },
  ): Promise<ListedModel | null> {
    const condition =
      'id' in wanted
        ? sql<boolean>`m.id = ${wanted.id}`
        : sql<boolean>`m.name = ${wanted.name} and ${visible(wanted.orgId)}`
    const { rows } = await sql<ListedRow>`${select} where ${condition} order by m.created_at limit 1`.execute(db)
    return rows[0] === undefined ? null : fromListedRow(rows[0])
  },

  async list(
    db: Executor,
    filter: ModelFilter,
    page: { limit: number; offset: number },
  ): Promise<{ models: ListedModel[]; total: number }> {
    const conditions = [visible(filter.orgId)]
    if (filter.framework !== undefined) conditions.push(sql<boolean>`m.framework = ${filter.framework}`)
    if (filter.isBaseline !== undefined) conditions.push(sql<boolean>`m.is_baseline = ${filter.isBaseline}`)
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

  /** Adds a version under the next number. The model's row is the lock that hands out numbers one by one. */
  async insertVersion(db: Executor, version: Omit<StoredVersion, 'version'>): Promise<StoredVersion> {
    const { rows } = await sql<Selectable<ModelVersionRow>>`
      with numbered as (
        update models set version_count = version_count + 1 where id = ${version.modelId} returning version_count
      )
      insert into model_versions
        (model_id, version, format, version_label, file_name, sha256, size, description, warnings, uploaded_at)
      select ${version.modelId}, version_count, ${version.format}, ${version.ownLabel}, ${version.fileName},
        ${version.sha256}, ${version.size}, ${version.description}, ${[...version.warnings]}::text[],
        ${version.uploadedAt}::timestamptz
      from numbered returning *`
      .execute(db)
      .catch((error: unknown) => {
        if (isUniqueViolation(error) && version.ownLabel !== null) {
          throw conflict(`This model has a version ${version.ownLabel} already. Give the upload another version_label.`)
        }
        throw error
      })
    return fromVersionRow(rows[0]!)
  },

  async versions(db: Executor, modelId: string): Promise<StoredVersion[]> {
    const rows = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('model_id', '=', modelId)
      .orderBy('version')
      .execute()
    return rows.map(fromVersionRow)
  },

  /** A version by number; the highest one when no number is given. */
  async findVersion(db: Executor, modelId: string, version: number | 'latest'): Promise<StoredVersion | null> {
    let query = db.selectFrom('model_versions').selectAll().where('model_id', '=', modelId)
    if (version !== 'latest') query = query.where('version', '=', version)
    const row = await query.orderBy('version', 'desc').limit(1).executeTakeFirst()
    return row === undefined ? null : fromVersionRow(row)
  },

  /** A version by its own label, or by `n.0.0` where version n has none of its own. */
  async findVersionByLabel(db: Executor, modelId: string, label: string): Promise<StoredVersion | null> {
    const row = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('model_id', '=', modelId)
      .where(sql<boolean>`version_label = ${label} or (version_label is null and version || '.0.0' = ${label})`)
      .orderBy(sql`version_label is null`)
      .limit(1)
      .executeTakeFirst()
    return row === undefined ? null : fromVersionRow(row)
  },
})

const select = sql`
  select m.*, newest.sha256 as newest_sha256, newest.size as newest_size
  from models m left join model_versions newest on newest.model_id = m.id and newest.version = m.version_count`

const visible = (orgId: string | null) => (orgId === null ? sql<boolean>`true` : sql<boolean>`m.org_id = ${orgId}`)

const fromListedRow = (row: ListedRow): ListedModel => ({
  model: {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    roundId: row.round_id,
    framework: row.framework as Framework,
    frameworkVersion: row.framework_version,
    accuracy: row.accuracy,
    loss: row.loss,
    isBaseline: row.is_baseline,
    description: row.description,
    createdAt: row.created_at,
  },
  newest: row.newest_sha256 === null ? null : { sha256: row.newest_sha256, size: row.newest_size! },
})

const fromVersionRow = (row: Selectable<ModelVersionRow>): StoredVersion => ({
  modelId: row.model_id,
  version: row.version,
  format: row.format as VersionFormat,
  ownLabel: row.version_label,
  fileName: row.file_name,
  sha256: row.sha256,
  size: row.size,
  description: row.description,
  warnings: row.warnings,
  uploadedAt: row.uploaded_at,
})

export type ModelsStore = ReturnType<typeof createModelsStore>
