import { type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import type { Framework, VersionFormat } from '../../../domain/model.ts'
import type { ModelRow, ModelVersionRow } from '../../../platform/db/catalog-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredModel {
  readonly id: string
  readonly orgId: string | null
  readonly name: string | null
  readonly roundId: string | null
  /** What the model of a round is called after the one that it trained. */
  readonly roundName: string | null
  readonly framework: Framework
  readonly frameworkVersion: string
  readonly accuracy: number | null
  readonly loss: number | null
  readonly isBaseline: boolean
  readonly description: string
  readonly createdAt: Date
  /** Of what a round made: the model that was trained at first, whose versions have the graph; null for others. */
  readonly architectureModelId: string | null
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
  /** Null for what was uploaded. */
  readonly origin: VersionOrigin | null
}

/** The round that a version came from. */
export interface VersionOrigin {
  readonly roundId: string
  readonly roundNumber: number
  readonly jobId: string | null
  /** What the round measured, by name. */
  readonly metrics: Readonly<Record<string, number>>
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
  /** False leaves out what rounds have made. */
  readonly roundModels: boolean
}

type ListedRow = Selectable<ModelRow> & { newest_sha256: string | null; newest_size: number | null }

export const createModelsStore = () => ({
  ...publishedVersions,

  /** Models of no organization become the organization's; one whose name is taken there stays as it is. */
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

  /** By id when the text is a uuid, else by name. */
  async find(
    db: Executor,
    requested: { id: string } | { name: string; orgId: string | null },
  ): Promise<ListedModel | null> {
    const condition =
      'id' in requested
        ? sql<boolean>`m.id = ${requested.id}`
        : sql<boolean>`(m.name = ${requested.name} or m.round_name = ${requested.name}) and ${visible(requested.orgId)}`
    const { rows } =
      await sql<ListedRow>`${select} where ${condition} order by m.name is null, m.created_at limit 1`.execute(db)
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

  /** Adds a version under the next number. The model's row is the lock that hands out numbers one by one. */
  async insertVersion(db: Executor, version: Omit<StoredVersion, 'version'>): Promise<StoredVersion> {
    const { origin } = version
    const { rows } = await sql<Selectable<ModelVersionRow>>`
      with numbered as (
        update models set version_count = version_count + 1 where id = ${version.modelId} returning version_count
      )
      insert into model_versions
        (model_id, version, format, version_label, file_name, sha256, size, description, warnings, uploaded_at,
        round_id, round_number, job_id, metrics)
      select ${version.modelId}, version_count, ${version.format}, ${version.ownLabel}, ${version.fileName},
        ${version.sha256}, ${version.size}, ${version.description}, ${[...version.warnings]}::text[],
        ${version.uploadedAt}::timestamptz, ${origin?.roundId ?? null}::uuid, ${origin?.roundNumber ?? null}::integer,
        ${origin?.jobId ?? null}::uuid, ${origin === null ? null : JSON.stringify(origin.metrics)}::jsonb
      from numbered returning *`
      .execute(db)
      .catch((error: unknown) => {
        if (isUniqueViolation(error) && version.ownLabel !== null) {
          throw conflict(`This model already has a version ${version.ownLabel}. Choose another version_label.`)
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

/** Versions that came from rounds. */
const publishedVersions = {
  /** Until the transaction ends, nobody else adds a version to the model; false when it is gone. */
  async lock(tx: Executor, modelId: string): Promise<boolean> {
    const row = await tx.selectFrom('models').select('id').where('id', '=', modelId).forNoKeyUpdate().executeTakeFirst()
    return row !== undefined
  },

  /** The version that a round was published as. */
  async ofRound(db: Executor, modelId: string, roundId: string): Promise<StoredVersion | null> {
    const row = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('model_id', '=', modelId)
      .where('round_id', '=', roundId)
      .executeTakeFirst()
    return row === undefined ? null : fromVersionRow(row)
  },

  /** What a job has published, oldest first. */
  async ofJob(db: Executor, jobId: string): Promise<StoredVersion[]> {
    const rows = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('version')
      .execute()
    return rows.map(fromVersionRow)
  },

  /** The label of the next minor version: above every label that the model has, `n.0.0` of versions without one included. */
  async nextMinorLabel(tx: Executor, modelId: string): Promise<string> {
    const { rows } = await sql<{ label: string | null }>`
      select highest[1]::text || '.' || (highest[2] + 1)::text || '.0' as label from (
        select max(string_to_array(
          substring(coalesce(version_label, version || '.0.0') from '^[0-9]+[.][0-9]+[.][0-9]+'), '.')::numeric[]) as highest
        from model_versions where model_id = ${modelId}) as labels`.execute(tx)
    return rows[0]?.label ?? '1.0.0'
  },
}

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
  origin:
    row.round_id === null || row.round_number === null
      ? null
      : { roundId: row.round_id, roundNumber: row.round_number, jobId: row.job_id, metrics: row.metrics ?? {} },
})

export type ModelsStore = ReturnType<typeof createModelsStore>
