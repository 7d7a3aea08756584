import type { Generated } from 'kysely'
import type { Json } from './json-column.ts'

// Row types of 0004-training, in the manner of rows.ts.
export interface FederationRow {
  id: string
  ordinal: Generated<number>
  name: string
  description: string
  org_id: string
  status: string
  created_at: Date
}

export interface FederationMemberRow {
  federation_id: string
  org_id: string
  /** owner or member */
  role: string
  /** invited or active */
  status: string
  invited_at: Date | null
  joined_at: Date | null
}

export interface FederationModelRow {
  federation_id: string
  model_id: string
  shared_at: Date
  /** Added by 0019-model-retention. */
  is_result: Generated<boolean>
}

export interface PrivacyBudgetRow {
  federation_id: string
  total_epsilon: number
  total_delta: number
  updated_at: Date
  revision: Generated<number>
}

export interface PrivacyLedgerRow {
  id: string
  ordinal: Generated<number>
  federation_id: string
  round_id: string
  job_id: string | null
  /** reserved, settled or released */
  status: string
  noise_multiplier: number
  sample_rate: number
  steps: number
  clip_norm: number | null
  epsilon_after: number | null
  accountant: string | null
  reserved_at: Date
  settled_at: Date | null
}

export interface AnalyticsQueryRow {
  id: string
  ordinal: Generated<number>
  federation_id: string
  org_id: string | null
  query_type: string
  variable: string
  request: Json<Record<string, unknown>>
  status: string
  result: Json<Record<string, unknown>> | null
  reason: string | null
  created_at: Date
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
  /** Added by 0018-resumed-jobs. */
  resumed_at: Date | null
  state_deleted_at: Date | null
}

/** What the migration adds to rounds. */
export interface RoundTrainingColumns {
  job_id: string | null
  group_id: string | null
  federation_id: string | null
  wanted_updates: number | null
  state_sha256: string | null
  control_sha256: string | null
  privacy: Json<Record<string, unknown>> | null
  noise_seed: string | null
  /** What 0007-private-rounds adds. */
  closes_at: Date | null
  accuracy: number | null
  loss: number | null
  screening: Json<readonly Record<string, unknown>[]> | null
  secure: Json<Record<string, unknown>> | null
  /** What 0016-metrics adds. */
  metrics: Json<Record<string, unknown>> | null
  global_evaluation: Json<Record<string, unknown>> | null
  evaluation: Json<Record<string, unknown>> | null
  /** What 0017-evaluation-step adds. */
  evaluation_until: Date | null
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

/** What the migration adds to updates. */
export interface UpdateTrainingColumns {
  control_sha256: string | null
  base_round_id: string | null
  staleness: number | null
  /** Added by 0009-raw-vectors. */
  raw_vector: Generated<boolean>
  /** Added by 0016-metrics. */
  metrics: Json<Record<string, number>> | null
  evaluation: Json<Record<string, unknown>> | null
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
  federations: FederationRow
  federation_members: FederationMemberRow
  federation_models: FederationModelRow
  privacy_budgets: PrivacyBudgetRow
  privacy_ledger: PrivacyLedgerRow
  analytics_queries: AnalyticsQueryRow
  training_jobs: TrainingJobRow
  evaluations: EvaluationRow
  secure_rounds: SecureRoundRow
  secure_messages: SecureMessageRow
}
