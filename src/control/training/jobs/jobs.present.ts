import type { Static } from 'typebox'
import { objectiveOf } from '../../../domain/job-metric.ts'
import { labelOf } from '../../../domain/model.ts'
import { DEFAULT_DELTA } from '../../../domain/privacy/mechanism.ts'
import { roundSizes } from '../../../domain/training-job.ts'
import { coarsenessWarning } from '../../../secure-aggregation/fixed-point.ts'
import { secureSettings } from '../../../secure-aggregation/settings.ts'
import type { StoredVersion } from '../../catalog/models/models.service.ts'
import type { JobSpending } from '../rounds/privacy-costs.service.ts'
import { presentMetrics } from '../rounds/rounds.present.ts'
import type { VisibleRound } from '../rounds/visible-rounds.service.ts'
import { settingsIn } from '../secure-rounds/secure-rounds.schema.ts'
import type { OptimizerState } from './jobs.schema.ts'
import type { StoredJob } from './jobs.service.ts'

export const present = (job: StoredJob) => {
  const { settings } = job
  return {
    id: job.id,
    org_id: job.orgId,
    name: job.name,
    status: job.status,
    model_id: job.modelId,
    model_version: job.settings.modelVersion ?? null,
    publish: job.settings.publish ?? 'none',
    latest_model_id: job.latestModelId,
    strategy: settings.strategy.name,
    strategy_options: settings.strategy.options,
    rounds: settings.rounds,
    rounds_completed: job.roundsCompleted,
    rounds_failed_in_a_row: job.roundsFailedInARow,
    min_devices: settings.minDevices,
    target_devices: settings.targetDevices,
    over_selection: settings.overSelection,
    timeout_seconds: settings.timeoutSeconds,
    report_window_seconds: settings.reportWindowSeconds,
    wait_for_devices_seconds: settings.waitForDevicesSeconds,
    ...(settings.evaluationSeconds === undefined ? {} : { evaluation_seconds: settings.evaluationSeconds }),
    group_id: job.groupId,
    federation_id: job.federationId,
    hyperparameters: settings.hyperparameters,
    ...(job.omitted && { omitted: [...job.omitted] }),
    privacy:
      settings.privacy === null
        ? null
        : {
            noise_multiplier: settings.privacy.noiseMultiplier,
            clip_norm: job.clipNorm ?? settings.privacy.clipNorm,
            adaptive_clip: settings.privacy.adaptiveClip,
            target_delta: settings.privacy.delta ?? DEFAULT_DELTA,
            ...(settings.privacy.targetEpsilon === undefined ? {} : { target_epsilon: settings.privacy.targetEpsilon }),
          },
    secure_aggregation: settings.secureAggregation && settingsIn(settings.secureAggregation),
    stop_when:
      settings.stopWhen === null
        ? null
        : {
            improvement_below: settings.stopWhen.lossImprovementBelow,
            loss_improvement_below: settings.stopWhen.lossImprovementBelow,
            patience: settings.stopWhen.patience,
          },
    ...objectiveOf(settings),
    ...(settings.rawVector ? { raw_vector: true } : {}),
    ended_by: job.endedBy,
    reason: job.reason,
    waiting_until: job.waitingUntil?.toISOString() ?? null,
    waiting_for: job.waitingFor,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    resumed_at: job.resumedAt?.toISOString() ?? null,
    optimizer_state: stateOf(job),
  }
}

export const presentNamed = (job: StoredJob, modelNames: ReadonlyMap<string, string | null>) => ({
  ...present(job),
  model_name: job.modelId === null ? null : (modelNames.get(job.modelId) ?? null),
})

/** A warning if the settings of its secure rounds lose much of the updates' precision; null otherwise. */
export const coarseSteps = ({ settings }: StoredJob): string | null => {
  if (settings.secureAggregation === null) return null
  const { range, maxWeight } = settings.secureAggregation
  return coarsenessWarning(secureSettings({ devices: roundSizes(settings).selected, range, maxWeight }))
}

const stateOf = ({ stateDeletedAt, stateSha256, controlSha256 }: StoredJob): Static<typeof OptimizerState> =>
  stateDeletedAt !== null ? 'deleted' : stateSha256 === null && controlSha256 === null ? 'none' : 'kept'

export const presentSpending = ({ epsilon, delta, accountant, rounds }: JobSpending) => ({
  epsilon: Math.min(epsilon, Number.MAX_VALUE),
  target_delta: delta,
  accountant,
  rounds,
})

export const presentInHistory = (round: VisibleRound) => ({
  round_id: round.id,
  round_number: round.roundNumber,
  status: round.status,
  loss: round.loss,
  accuracy: round.accuracy,
  completed_devices: round.completedDevices,
  failed_devices: round.failedDevices,
  aggregated_model_id: round.aggregatedModelId,
  failure_reason: round.failureReason,
  started_at: round.startedAt?.toISOString() ?? null,
  ended_at: round.endedAt?.toISOString() ?? null,
  ...presentMetrics(round),
})

export const presentPublished = ({ version, ownLabel, origin }: StoredVersion) =>
  origin === null
    ? []
    : [
        {
          version,
          version_label: labelOf(version, ownLabel),
          round_id: origin.roundId,
          round_number: origin.roundNumber,
        },
      ]
