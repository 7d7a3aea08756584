import type { Generated } from 'kysely'
import type { Json } from './json-column.ts'

// Rows of the delivery module's tables; see rows.ts.

export interface DeliveryRevisionRow {
  only_row: Generated<boolean>
  revision: number
}

export interface PlanEventRow {
  plan_id: string
  ordinal: Generated<number>
  at: Date
  event: string
  status: string
  percentage: number | null
  reason: string | null
  actor: string | null
}

export interface PlanReportRow {
  plan_id: string
  device_id: string
  /** downloading, verifying, ready, active or failed */
  state: string
  version: string
  reason: string | null
  metrics: Json<Record<string, number>> | null
  reported_at: Date
  measured_at: Generated<Date | null>
  /** The number of the version that `version` names; null in older reports. Added by 0042-federated-figures. */
  version_number: Generated<number | null>
}

export interface ReportedPlanRow {
  ordinal: Generated<number>
  plan_id: string
  /** rollout or deployment */
  kind: string
}

export interface RolloutRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  model_id: string
  version: string
  version_number: Generated<number | null>
  status: string
  percentage: number
  initial_percentage: number
  target_percentage: number
  increment_step: number
  step_interval_seconds: number
  group_id: string | null
  auto_rollback: boolean
  reason: string | null
  next_step_at: Date | null
  health_since: Date | null
  started_revision: number | null
  created_at: Date
  started_at: Date | null
  ended_at: Date | null
  /** user or service; null until it ends */
  ended_by: Generated<string | null>
  updated_at: Date
}

export interface DeploymentRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  model_name: string
  model_version: string
  model_id: string | null
  version_number: Generated<number | null>
  status: string
  strategy: string
  percentage: number
  target_count: number
  activated_count: number
  reason: string | null
  switched_at: Date | null
  deadline_at: Date | null
  /** How long a phase may last; null without a deadline. */
  phase_seconds: Generated<number | null>
  started_revision: number | null
  created_at: Date
  ended_at: Date | null
}

export interface DeploymentTargetRow {
  deployment_id: string
  device_id: string
  activated: boolean
}

export interface ExperimentRow {
  id: string
  ordinal: Generated<number>
  org_id: string | null
  name: string
  status: string
  primary_metric: string
  target_groups: string[]
  confidence_level: number
  reason: string | null
  started_revision: number | null
  created_at: Date
  started_at: Date | null
  ended_at: Date | null
}

export interface ExperimentVariantRow {
  experiment_id: string
  position: number
  name: string
  model_id: string
  version: string
  version_number: Generated<number | null>
  allocation: number
}

export interface ExperimentObservationRow {
  experiment_id: string
  variant: number
  device_id: string
  metric: string
  count: number
  mean: number
  updated_at: Date
}

export interface ExperimentEstimateRow {
  experiment_id: string
  point: number
  variant: number
  at: Date
  devices: number
  mean: number
  m2: number
}

export interface DeliveryPolicyRow {
  id: string
  org_id: string | null
  model_id: string
  enabled: boolean
  settings: Json<Record<string, unknown>>
  created_at: Date
  updated_at: Date
}

export interface DeliveryDecisionRow {
  id: string
  ordinal: Generated<number>
  policy_id: string
  round_id: string
  rollout_id: string | null
  version: string
  status: string
  record: Json<Record<string, unknown>>
  created_at: Date
  decided_at: Date | null
}

export interface PairingRow {
  code_hash: string
  id: string
  org_id: string | null
  status: string
  model_name: string | null
  model_version: string | null
  device_id: string | null
  platform: string | null
  reason: string | null
  created_at: Date
  expires_at: Date
}

export interface DeliveryTables {
  delivery_revision: DeliveryRevisionRow
  plan_events: PlanEventRow
  plan_reports: PlanReportRow
  reported_plans: ReportedPlanRow
  rollouts: RolloutRow
  deployments: DeploymentRow
  deployment_targets: DeploymentTargetRow
  experiments: ExperimentRow
  experiment_variants: ExperimentVariantRow
  experiment_observations: ExperimentObservationRow
  experiment_estimates: ExperimentEstimateRow
  delivery_policies: DeliveryPolicyRow
  delivery_decisions: DeliveryDecisionRow
  pairings: PairingRow
}
