import type { Generated } from 'kysely'
import type { Json } from './json-column.ts'

// Rows of the training module's tables; see rows.ts.

export interface RoundRow {
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
  job_id: string | null
  group_id: string | null
  federation_id: string | null
  wanted_updates: number | null
  state_sha256: string | null
  control_sha256: string | null
  privacy: Json<Record<string, unknown>> | null
  noise_seed: string | null
  /** Added by 0007-private-rounds. */
  closes_at: Date | null
  accuracy: number | null
  loss: number | null
  screening: Json<readonly Record<string, unknown>[]> | null
  secure: Json<Record<string, unknown>> | null
  /** This and the next two columns were added by 0016-metrics. */
  metrics: Json<Record<string, unknown>> | null
  global_evaluation: Json<Record<string, unknown>> | null
  evaluation: Json<Record<string, unknown>> | null
  /** Added by 0017-evaluation-step. */
  evaluation_until: Date | null
}

export interface RoundParticipantRow {
  round_id: string
  device_id: string
  /** selected, delivered, failed, or absent (ParticipantState) */
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

export interface UpdateRow {
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
  control_sha256: string | null
  base_round_id: string | null
  staleness: number | null
  /** Added by 0009-raw-vectors. */
  raw_vector: Generated<boolean>
  /** This and the next column were added by 0016-metrics. */
  metrics: Json<Record<string, number>> | null
  evaluation: Json<Record<string, unknown>> | null
}

export interface TrainingJobRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  name: string | null
  status: string
  settings: Json<Record<string, unknown>>
  model_id: string | null
  latest_model_id: string | null
  group_id: string | null
  federation_id: string | null
  rounds_completed: Generated<number>
  rounds_failed_in_a_row: Generated<number>
  state_sha256: string | null
  control_sha256: string | null
  clip_norm: number | null
  ended_by: string | null
  reason: string | null
  waiting_until: Date | null
  waiting_for: string | null
  stop_requested: Generated<boolean>
  /** Added by 0017-evaluation-step. */
  ending: Json<Record<string, unknown>> | null
  created_at: Date
  started_at: Date | null
  ended_at: Date | null
  /** This and the next column were added by 0018-resumed-jobs. */
  resumed_at: Date | null
  state_deleted_at: Date | null
}

export interface EvaluationRow {
  round_id: string
  device_id: string
  /** asked, reported, failed or missed */
  state: string
  num_samples: number | null
  metrics: Json<Record<string, number>> | null
  reason: string | null
  asked_at: Date
  reported_at: Date | null
}

export interface SecureRoundRow {
  round_id: string
  status: string
  settings: Json<Record<string, unknown>>
  cohort: Json<Record<string, unknown>>
  deadline_at: Date
  reason: string | null
}

export interface SecureMessageRow {
  round_id: string
  device_id: string
  /** keys, shares, masked or unmask */
  step: string
  message: Json<Record<string, unknown>>
  received_at: Date
}

export interface TrainingTables {
  rounds: RoundRow
  round_participants: RoundParticipantRow
  updates: UpdateRow
  training_jobs: TrainingJobRow
  evaluations: EvaluationRow
  secure_rounds: SecureRoundRow
  secure_messages: SecureMessageRow
}
