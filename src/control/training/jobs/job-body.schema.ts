import type { Static } from 'typebox'
import { badRequest } from '../../../domain/errors.ts'
import { DEFAULT_METRIC } from '../../../domain/job-metric.ts'
import { labelOf } from '../../../domain/model.ts'
import type { StoredVersion } from '../../catalog/models/models.service.ts'
import { reachOf } from '../rounds/reach-body.schema.ts'
import { presentMetrics } from '../rounds/round-body.schema.ts'
import type { JobSpending } from '../rounds/round-prices.service.ts'
import type { StoredRound } from '../rounds/rounds.service.ts'
import { settingsOf, wishIn } from '../secure-rounds/secure-rounds.schema.ts'
import type { OptimizerState, StartJobBody } from './jobs.schema.ts'
import type { StoredJob } from './jobs.service.ts'

/** @throws bad_request unless exactly one of its two names gives the number, and the one that says loss only where it is the loss */
const improvementIn = (
  stop: NonNullable<Static<typeof StartJobBody>['stop_when']>,
  metric = DEFAULT_METRIC,
): number => {
  const { improvement_below: improvement, loss_improvement_below: ofLoss } = stop
  if (ofLoss !== undefined && (improvement !== undefined || metric !== DEFAULT_METRIC)) {
    throw badRequest(
      'stop_when.loss_improvement_below is for jobs that go by the loss, and stands instead of improvement_below. Give improvement_below alone.',
    )
  }
  const below = improvement ?? ofLoss
  if (below === undefined) throw badRequest('stop_when.improvement_below is missing.')
  return below
}

/** What the body of a request asks of a job. */
export const wantedOf = (body: Static<typeof StartJobBody>) => {
  const { privacy, stop_when: stop } = body
  return {
    model: body.model,
    name: body.name,
    orgId: body.org_id,
    strategy: body.strategy,
    strategyOptions: body.strategy_options,
    rounds: body.rounds,
    minDevices: body.min_devices,
    targetDevices: body.target_devices,
    overSelection: body.over_selection,
    timeoutSeconds: body.timeout_seconds,
    reportWindowSeconds: body.report_window_seconds,
    waitForDevicesSeconds: body.wait_for_devices_seconds,
    evaluationSeconds: body.evaluation_seconds,
    ...reachOf(body),
    hyperparameters: body.hyperparameters,
    privacy: privacy && {
      noiseMultiplier: privacy.noise_multiplier,
      targetEpsilon: privacy.target_epsilon,
      targetDelta: privacy.target_delta,
      clipNorm: privacy.clip_norm,
      adaptiveClip: privacy.adaptive_clip ?? false,
    },
    secureAggregation: settingsOf(body.secure_aggregation),
    stopWhen: stop && { lossImprovementBelow: improvementIn(stop, body.metric), patience: stop.patience },
    metric: body.metric,
    publish: body.publish,
    rawVector: body.raw_vector ?? false,
  }
}

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
    privacy:
      settings.privacy === null
        ? null
        : {
            noise_multiplier: settings.privacy.noiseMultiplier,
            clip_norm: job.clipNorm ?? settings.privacy.clipNorm,
            adaptive_clip: settings.privacy.adaptiveClip,
            ...(settings.privacy.targetEpsilon === undefined ? {} : { target_epsilon: settings.privacy.targetEpsilon }),
          },
    secure_aggregation: settings.secureAggregation && wishIn(settings.secureAggregation),
    stop_when:
      settings.stopWhen === null
        ? null
        : {
            improvement_below: settings.stopWhen.lossImprovementBelow,
            loss_improvement_below: settings.stopWhen.lossImprovementBelow,
            patience: settings.stopWhen.patience,
          },
    metric: settings.metric ?? DEFAULT_METRIC,
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

const stateOf = ({ stateDeletedAt, stateSha256, controlSha256 }: StoredJob): Static<typeof OptimizerState> =>
  stateDeletedAt !== null ? 'deleted' : stateSha256 === null && controlSha256 === null ? 'none' : 'kept'

export const presentSpending = ({ epsilon, delta, accountant, rounds }: JobSpending) => ({
  epsilon: Math.min(epsilon, Number.MAX_VALUE),
  target_delta: delta,
  accountant,
  rounds,
})

export const presentInHistory = (round: StoredRound) => ({
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
