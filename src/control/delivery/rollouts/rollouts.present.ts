import { HEALTH } from '../../../domain/rollout.ts'
import type { ReportCounts } from '../assignments/assignments.service.ts'
import type { NewRollout, RolloutsService, StoredRollout } from './rollouts.service.ts'

/** Returns the rollout that a request's body describes. */
export const stepsOf = (body: {
  readonly version: string
  readonly rollout_percentage: number
  readonly target_percentage?: number
  readonly increment_step?: number
  readonly start_immediately?: boolean
  readonly step_interval_minutes?: number
  readonly group?: string
  readonly auto_rollback?: boolean
}): NewRollout => ({
  version: body.version,
  percentage: body.rollout_percentage,
  targetPercentage: body.target_percentage ?? 100,
  incrementStep: body.increment_step ?? 10,
  stepIntervalSeconds: Math.max(1, Math.round(60 * (body.step_interval_minutes ?? 60))),
  group: body.group,
  autoRollback: body.auto_rollback ?? false,
  startImmediately: body.start_immediately ?? true,
})

/** Returns a rollout with the API's field names. */
export const present = (rollout: StoredRollout) => ({
  rollout_id: rollout.id,
  model_id: rollout.modelId,
  org_id: rollout.orgId,
  version: rollout.version,
  status: rollout.status,
  percentage: rollout.percentage,
  initial_percentage: rollout.initialPercentage,
  target_percentage: rollout.targetPercentage,
  increment_step: rollout.incrementStep,
  step_interval_minutes: rollout.stepIntervalSeconds / 60,
  group_id: rollout.groupId,
  auto_rollback: rollout.autoRollback,
  reason: rollout.reason,
  next_step_at: rollout.nextStepAt?.toISOString() ?? null,
  created_at: rollout.createdAt.toISOString(),
  started_at: rollout.startedAt?.toISOString() ?? null,
  ended_at: rollout.endedAt?.toISOString() ?? null,
  ended_by: rollout.endedBy,
  updated_at: rollout.updatedAt.toISOString(),
})

/** Returns the health since the rollout was last started or resumed, which decides whether it is paused. */
export const presentHealth = ({ healthSince }: StoredRollout, { active, failed }: ReportCounts) => ({
  since: healthSince?.toISOString() ?? null,
  reports: active + failed,
  failed,
  max_failure_share: HEALTH.maxFailureShare,
  min_reports: HEALTH.minReports,
})

type Preview = Awaited<ReturnType<RolloutsService['previewSchedule']>>

export const presentPreview = ({ model, version, steps, warnings }: Preview) => {
  const last = steps.at(-1)!
  return {
    model_id: model.id,
    version,
    target_devices: last.devices,
    steps: steps.map(({ atSeconds, percentage, devices }) => ({ after_minutes: atSeconds / 60, percentage, devices })),
    minutes_to_target: last.atSeconds / 60,
    warnings,
  }
}
