import type { ColumnType, Generated } from 'kysely'
import type { Metadata } from '../../domain/version-metadata.ts'
import type { Json } from './json-column.ts'

// Rows of the catalog module's tables; see rows.ts.

export interface BlobRow {
  sha256: string
  size: number
  touched_at: Date
  /** This and the next two columns were added by 0031-backups. */
  checked_at: Generated<Date>
  damaged_at: Date | null
  damage: string | null
}

export interface PartialUploadRow {
  name: string
  size: Generated<number>
  writer: string | null
  writer_until: Date | null
  touched_at: Date
}

export interface UploadPartRow {
  upload: string
  start: number
  size: Generated<number>
}

export interface ModelRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  name: string | null
  round_id: string | null
  framework: string
  framework_version: string
  accuracy: number | null
  loss: number | null
  is_baseline: boolean
  description: string
  version_count: Generated<number>
  round_name: string | null
  created_at: Date
  /** Added by 0021-conversions. */
  architecture_model_id: Generated<string | null>
}

export interface ModelVersionRow {
  model_id: string
  version: number
  format: string
  version_label: string | null
  file_name: string
  sha256: string
  size: number
  description: string
  warnings: string[]
  uploaded_at: Date
  round_id: string | null
  round_number: number | null
  job_id: string | null
  metrics: Json<Record<string, number>> | null
  /** Added by 0052-version-metadata. */
  metadata: ColumnType<Metadata, string | undefined, string>
}

/** Added by 0054-deleted-versions. */
export interface DeletedVersionRow {
  model_id: string
  version: number
  label: string
  sha256: string
  deleted_at: Date
}

export interface ConversionRow {
  model_id: string
  version: number
  format: string
  state: string
  reason: string | null
  sha256: string | null
  size: number | null
  requested_at: Date
  ended_at: Date | null
  lease_owner: string | null
  lease_until: Date | null
  attempts: Generated<number>
}

export interface ModelAliasRow {
  model_id: string
  alias: string
  version: number
  moved_at: Date
  moved_by: string | null
}

export interface ModelAliasMoveRow {
  ordinal: Generated<number>
  model_id: string
  alias: string
  from_version: number | null
  to_version: number | null
  moved_at: Date
  moved_by: string | null
}

/** An anonymous benchmark result: no column identifies the sender. */
export interface BenchmarkRow {
  id: string
  ordinal: Generated<number>
  engine: string
  /** As received, with the field names of the API. */
  report: ColumnType<object, string, never>
  /** Only the day is stored. */
  reported_on: ColumnType<Date, string, never>
}

export interface CatalogTables {
  blobs: BlobRow
  partial_uploads: PartialUploadRow
  upload_parts: UploadPartRow
  models: ModelRow
  model_versions: ModelVersionRow
  deleted_versions: DeletedVersionRow
  conversions: ConversionRow
  model_aliases: ModelAliasRow
  model_alias_moves: ModelAliasMoveRow
  benchmarks: BenchmarkRow
}
