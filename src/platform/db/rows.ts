import type { Generated } from 'kysely'
import type { AccessTables } from './access-rows.ts'
import type { AuditTables } from './audit-rows.ts'
import type { BenchmarkTables } from './benchmark-rows.ts'
import type { CatalogTables } from './catalog-rows.ts'
import type { DeliveryTables } from './delivery-rows.ts'
import type { IntegrationTables } from './integration-rows.ts'
import type { Json } from './json-column.ts'
import type { PeopleTables } from './people-rows.ts'
import type { RoundTrainingColumns, TrainingTables, UpdateTrainingColumns } from './training-rows.ts'

// Row types, one per table, as the driver returns them: bigint columns are read as numbers (all our sizes and sample
// counts fit 2^53), timestamps as Date, jsonb as parsed values. Written values of jsonb columns are JSON text.
export interface DeviceRow {
  id: string
  ordinal: Generated<number>
  device_id: string
  org_id: string | null
  platform: string
  capabilities: Json<Record<string, unknown>>
  status: string
  trains: Generated<boolean>
  heartbeat_seconds: number | null
  missed_at: Date | null
  /** Added by 0037-heartbeat-counts, with the next one. */
  heartbeat_counts: number[] | null
  heartbeat_slot: number | null
  metrics: Json<Record<string, unknown>> | null
  last_heartbeat: Date
  created_at: Date
  updated_at: Date
}

/** Added by 0039-device-erasures. */
export interface DeviceErasureRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  device_hash: string
  document: string
  signature: string
  erased_at: Date
}

/** Added by 0012-announcements. */
export interface AnnouncementRow {
  subject_id: string
}

export interface DeviceCountRow {
  org_id: string
  devices: number
}

export interface BlobRow {
  sha256: string
  size: number
  touched_at: Date
  /** The rest was added by 0031-backups. */
  checked_at: Generated<Date>
  damaged_at: Date | null
  damage: string | null
}

/** Added by 0031-backups. */
export interface BackupRow {
  id: string
  ordinal: Generated<number>
  name: string
  target: string
  scheduled: boolean
  status: string
  reason: string | null
  database: string | null
  files: number | null
  bytes: number | null
  copied_files: number | null
  copied_bytes: number | null
  unreadable_files: number | null
  verified_at: Date | null
  lease_until: Date | null
  created_at: Date
  ended_at: Date | null
}

export interface RoundRow extends RoundTrainingColumns {
  id: string
  org_id: string | null
  round_number: number
  status: string
  target_devices: number
  min_devices: number
  timeout_seconds: number
  grace_seconds: number
  plan: Json<Record<string, unknown>>
  taking_part: number
  participated_devices: Generated<number>
  completed_devices: Generated<number>
  failed_devices: Generated<number>
  global_model_id: string | null
  global_model_version: number | null
  global_sha256: string | null
  aggregated_model_id: string | null
  aggregated_sha256: string | null
  quorum_at: Date | null
  failure_reason: string | null
  receipt: Json<Record<string, unknown>> | null
  lease_owner: string | null
  lease_until: Date | null
  attempts: Generated<number>
  created_at: Date
  started_at: Date | null
  timeout_at: Date | null
  completed_at: Date | null
  ended_at: Date | null
  updates_deleted_at: Date | null
  review_at: Date | null
  /** Added by 0019-model-retention. */
  model_deleted_at: Date | null
}

export interface RoundParticipantRow {
  round_id: string
  device_id: string
  /** selected, delivered, failed, or absent: selected, did not come, and its place is open to others */
  state: string
  /** drawn, starter or joined */
  chosen: string
  selected_at: Date
  fetched_at: Date | null
  acknowledged_at: Date | null
  reported_at: Date | null
  failure_reason: string | null
  /** The earlier round whose model it still trains from (asynchronous jobs). */
  base_round_id: string | null
}

export interface UpdateRow extends UpdateTrainingColumns {
  id: string
  round_id: string
  device_id: string
  sha256: string | null
  file_hash: string
  size: number
  num_samples: number
  local_loss: number | null
  local_accuracy: number | null
  training_time_seconds: number | null
  created_at: Date
}

export interface OutboxRow {
  id: Generated<number>
  /** The transaction that wrote it, as text: it has 64 bits. */
  tx: Generated<string>
  org_id: string | null
  type: string
  subject_kind: string
  subject_id: string | null
  payload: Json<Record<string, unknown>>
  at: Date
  /** Added by 0019b-federation-events: its active members may see it too. */
  federation_id: string | null
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

export interface Tables
  extends AccessTables,
    CatalogTables,
    DeliveryTables,
    BenchmarkTables,
    TrainingTables,
    IntegrationTables,
    PeopleTables,
    AuditTables {
  events_outbox: OutboxRow
  devices: DeviceRow
  device_counts: DeviceCountRow
  blobs: BlobRow
  partial_uploads: PartialUploadRow
  upload_parts: UploadPartRow
  rounds: RoundRow
  round_participants: RoundParticipantRow
  updates: UpdateRow
  announcements: AnnouncementRow
  device_erasures: DeviceErasureRow
  backups: BackupRow
}
