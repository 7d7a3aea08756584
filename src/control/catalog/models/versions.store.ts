import { type Selectable, sql } from 'kysely'
import { conflict } from '../../../domain/errors.ts'
import { labelOf, type VersionFormat } from '../../../domain/model.ts'
import type { Metadata } from '../../../domain/version-metadata.ts'
import type { ModelVersionRow } from '../../../platform/db/catalog-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'

export interface StoredVersion {
  readonly modelId: string
  readonly version: number
  readonly format: VersionFormat
  /** The semantic version given with the upload; null if there was none: then the version is found as `n.0.0`. */
  readonly ownLabel: string | null
  readonly fileName: string
  readonly sha256: string
  readonly size: number
  readonly description: string
  readonly warnings: readonly string[]
  readonly metadata: Metadata
  readonly uploadedAt: Date
  /** Null for an upload. */
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

/** The versions of models, uploaded and from rounds. */
export const versionsStore = {
  /** Adds a version under the next number. Locking the model's row makes numbers unique. */
  async insert(db: Executor, version: Omit<StoredVersion, 'version'>): Promise<StoredVersion> {
    const { origin } = version
    const { rows } = await sql<Selectable<ModelVersionRow>>`
      with numbered as (
        update models set version_count = version_count + 1 where id = ${version.modelId} returning version_count
      )
      insert into model_versions
        (model_id, version, format, version_label, file_name, sha256, size, description, warnings, uploaded_at,
        round_id, round_number, job_id, metrics, metadata)
      select ${version.modelId}, version_count, ${version.format}, ${version.ownLabel}, ${version.fileName},
        ${version.sha256}, ${version.size}, ${version.description}, ${[...version.warnings]}::text[],
        ${version.uploadedAt}::timestamptz, ${origin?.roundId ?? null}::uuid, ${origin?.roundNumber ?? null}::integer,
        ${origin?.jobId ?? null}::uuid, ${origin === null ? null : JSON.stringify(origin.metrics)}::jsonb,
        ${JSON.stringify(version.metadata)}::jsonb
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

  async setMetadata(tx: Executor, { modelId, version, metadata }: StoredVersion): Promise<void> {
    await tx
      .updateTable('model_versions')
      .set({ metadata: JSON.stringify(metadata) })
      .where('model_id', '=', modelId)
      .where('version', '=', version)
      .execute()
  },

  async ofModel(db: Executor, modelId: string): Promise<StoredVersion[]> {
    const rows = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('model_id', '=', modelId)
      .orderBy('version')
      .execute()
    return rows.map(fromVersionRow)
  },

  /** Finds a version by number, or the highest one. */
  async find(db: Executor, modelId: string, version: number | 'latest'): Promise<StoredVersion | null> {
    let query = db.selectFrom('model_versions').selectAll().where('model_id', '=', modelId)
    if (version !== 'latest') query = query.where('version', '=', version)
    const row = await query.orderBy('version', 'desc').limit(1).executeTakeFirst()
    return row === undefined ? null : fromVersionRow(row)
  },

  /** Finds a version by its own label, or version n without a label by `n.0.0`. */
  async findByLabel(db: Executor, modelId: string, label: string): Promise<StoredVersion | null> {
    const row = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('model_id', '=', modelId)
      .where(sql<boolean>`(version_label = ${label} or (version_label is null and version || '.0.0' = ${label}))`)
      .orderBy(sql`version_label is null`)
      .limit(1)
      .executeTakeFirst()
    return row === undefined ? null : fromVersionRow(row)
  },

  /**
   * Returns the number of the model's next version, or null if the model is gone. Until the transaction ends, no other one
   * adds a version or changes its metadata.
   */
  async lockNext(tx: Executor, modelId: string): Promise<number | null> {
    const query = tx.selectFrom('models').select('version_count').where('id', '=', modelId)
    const row = await query.forNoKeyUpdate().executeTakeFirst()
    return row === undefined ? null : row.version_count + 1
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

  /** The versions that a job has published, oldest first. */
  async ofJob(db: Executor, jobId: string): Promise<StoredVersion[]> {
    const rows = await db
      .selectFrom('model_versions')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('version')
      .execute()
    return rows.map(fromVersionRow)
  },

  /** Deletes a version with its conversions, and keeps a record of it. */
  async delete(tx: Executor, version: StoredVersion, at: Date): Promise<void> {
    const { modelId: model_id, version: number, sha256 } = version
    const label = labelOf(number, version.ownLabel)
    await tx
      .insertInto('deleted_versions')
      .values({ model_id, version: number, label, sha256, deleted_at: at })
      .execute()
    await tx.deleteFrom('model_versions').where('model_id', '=', model_id).where('version', '=', number).execute()
  },

  /** Returns when the version with this label or number was deleted; null if there was none. */
  async deletedAt(db: Executor, modelId: string, labelOrNumber: string): Promise<Date | null> {
    const row = await db
      .selectFrom('deleted_versions')
      .select('deleted_at')
      .where('model_id', '=', modelId)
      .where(sql<boolean>`${labelOrNumber} in (label, version::text)`)
      .executeTakeFirst()
    return row?.deleted_at ?? null
  },

  /** Returns the label of the next major version: above every label that the model has had. */
  async nextMajorLabel(tx: Executor, modelId: string): Promise<string> {
    const { rows } = await sql<{ label: string | null }>`
      select (max(split_part(label, '.', 1)::numeric) + 1)::text || '.0.0' as label from ${labelsOf(modelId)}`.execute(
      tx,
    )
    return rows[0]?.label ?? '1.0.0'
  },

  /** Returns the label of the next minor version: above every label that the model has had. */
  async nextMinorLabel(tx: Executor, modelId: string): Promise<string> {
    const { rows } = await sql<{ label: string | null }>`
      select highest[1]::text || '.' || (highest[2] + 1)::text || '.0' as label from (
        select max(string_to_array(substring(label from '^[0-9]+[.][0-9]+[.][0-9]+'), '.')::numeric[]) as highest
        from ${labelsOf(modelId)}) as labels`.execute(tx)
    return rows[0]?.label ?? '1.0.0'
  },
}

/** For a query's `from`: the labels of the model's versions, including `n.0.0` of those without one, and of deleted ones. */
const labelsOf = (modelId: string) => sql`(
  select coalesce(version_label, version || '.0.0') as label from model_versions where model_id = ${modelId}
  union all select label from deleted_versions where model_id = ${modelId}) as labels`

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
  metadata: row.metadata,
  uploadedAt: row.uploaded_at,
  origin:
    row.round_id === null || row.round_number === null
      ? null
      : { roundId: row.round_id, roundNumber: row.round_number, jobId: row.job_id, metrics: row.metrics ?? {} },
})
