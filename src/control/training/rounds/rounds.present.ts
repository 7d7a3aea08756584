import type { VisibleEvaluation, VisibleSummaries } from '../../../domain/disclosure.ts'
import { plural } from '../../../domain/plural.ts'
import { neededUpdates } from '../../../domain/round.ts'
import { blobPath } from '../../../platform/blobs/blob-store.ts'
import { coarsenessWarning } from '../../../secure-aggregation/fixed-point.ts'
import { presentSettings } from '../secure-rounds/secure-rounds.present.ts'
import { presentCost, presentSampling } from './round-settings.present.ts'
import type { StoredRound } from './rounds.service.ts'
import type { VisibleRound } from './visible-rounds.service.ts'

/** A round in the API. */
export const present = (round: VisibleRound) => ({
  id: round.id,
  org_id: round.orgId,
  round_number: round.roundNumber,
  status: round.status,
  target_devices: round.targetDevices,
  min_devices: round.minDevices,
  participated_devices: round.participatedDevices,
  completed_devices: round.completedDevices,
  failed_devices: round.failedDevices,
  global_model_id: round.globalModelId,
  global_model_path: round.globalSha256 === null ? null : blobPath(round.globalSha256),
  aggregated_model_id: round.aggregatedModelId,
  aggregated_model_path: round.aggregatedSha256 === null ? null : blobPath(round.aggregatedSha256),
  failure_reason: round.failureReason,
  started_at: round.startedAt?.toISOString() ?? null,
  completed_at: round.completedAt?.toISOString() ?? null,
  ended_at: round.endedAt?.toISOString() ?? null,
  timeout_at: round.timeoutAt.toISOString(),
  created_at: round.createdAt.toISOString(),
  ...(round.plan.options === undefined && round.jobId === null ? {} : presentTraining(round)),
  ...(round.modelDeletedAt === null ? {} : { model_deleted_at: round.modelDeletedAt.toISOString() }),
  ...(round.plan.rawVector ? { raw_vector: true } : {}),
  ...presentMetrics(round),
  ...(round.evaluationUntil === null ? {} : { evaluation_until: round.evaluationUntil.toISOString() }),
  ...(round.globalEvaluation === null ? {} : { global_evaluation: presentEvaluation(round.globalEvaluation) }),
  ...(round.groupId === null ? {} : { group_id: round.groupId }),
  ...(round.federationId === null ? {} : { federation_id: round.federationId }),
})

/** What the round's devices measured; empty if they measured nothing. */
export const presentMetrics = ({ metrics, evaluation }: Pick<VisibleRound, 'metrics' | 'evaluation'>) => ({
  ...(metrics === null ? {} : { metrics: presentSummaries(metrics) }),
  ...(evaluation === null ? {} : { evaluation: presentEvaluation(evaluation) }),
})

const presentEvaluation = ({ devices, numSamples, metrics }: VisibleEvaluation) => ({
  devices,
  num_samples: numSamples,
  metrics: presentSummaries(metrics),
})

const presentSummaries = (summaries: VisibleSummaries) =>
  Object.fromEntries(
    Object.entries(summaries).map(([name, { worstTenth, ...rest }]) => [name, { ...rest, worst_tenth: worstTenth }]),
  )

/** Warnings for the starter of a round. */
export const warningsOf = (round: StoredRound): string[] => {
  const { secure } = round.plan
  return [fewDevices(round), secure === undefined ? null : coarsenessWarning(secure)].filter((one) => one !== null)
}

/** A warning for a round with fewer devices than it needs; null if it has enough. */
const fewDevices = (round: StoredRound): string | null => {
  const { privacy, takingPart, timeoutAt } = round
  const needed = neededUpdates(round)
  // The number of devices that a private draw has selected is secret.
  if (privacy !== null || takingPart >= needed) return null
  const active = takingPart === 0 ? 'No active device' : `Only ${plural(takingPart, 'active device')}`
  return (
    `${active} could be selected, but the round needs ${plural(needed, 'update')}: it waits for more until ${timeoutAt.toISOString()}. ` +
    'A round selects active devices of its organization or, if it has one, of its group or federation.'
  )
}

/** The additional fields of a round that names its strategy. */
const presentTraining = (round: VisibleRound) => ({
  strategy: round.plan.strategy,
  strategy_options: round.plan.options ?? {},
  accuracy: round.accuracy,
  loss: round.loss,
  ...(round.jobId === null ? {} : { job_id: round.jobId }),
  ...(round.plan.secure === undefined ? {} : { secure_aggregation: presentSettings(round.plan.secure) }),
  ...(round.wantedUpdates === null ? {} : { wanted_updates: round.wantedUpdates }),
  ...(round.privacy === null
    ? {}
    : {
        privacy: {
          noise_multiplier: round.privacy.noiseMultiplier,
          clip_norm: round.privacy.clipNorm,
          denominator: round.privacy.denominator,
          sample_rate: round.privacy.sampleRate,
          ...presentSampling(round.privacy),
          ...(round.closesAt === null ? {} : { closes_at: round.closesAt.toISOString() }),
          adaptive_clip: round.privacy.adaptiveClip,
          ...presentCost(round.privacy),
        },
      }),
})
