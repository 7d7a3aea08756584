import type { MetricReport } from '../../../domain/metrics.ts'
import { blobPath } from '../../../platform/blobs/blob-store.ts'
import type { RoundRecords } from './round-records.service.ts'
import type { StoredUpdate } from './updates.service.ts'

/** An update as it travels. */
export const present = (update: StoredUpdate) => ({
  id: update.id,
  round_id: update.roundId,
  device_id: update.deviceId,
  model_path: blobPath(update.fileHash),
  model_size_bytes: update.size,
  model_hash: `sha256:${update.fileHash}`,
  num_samples: update.numSamples,
  local_loss: update.localLoss,
  local_accuracy: update.localAccuracy,
  training_time_seconds: update.trainingTimeSeconds,
  created_at: update.createdAt.toISOString(),
})

type Reviewed = Awaited<ReturnType<RoundRecords['updates']>>['updates'][number]

/** An update and how it compares with the others of its round. */
export const presentReviewed = ({ update, deviceName, screened, weight }: Reviewed) => ({
  ...present(update),
  device_identifier: deviceName,
  metrics: update.metrics,
  evaluation: update.evaluation && presentReport(update.evaluation),
  norm: screened?.norm ?? null,
  cosine: screened?.cosine ?? null,
  non_finite: screened?.non_finite ?? null,
  weight,
  staleness: update.staleness,
  base_round_id: update.baseRoundId,
})

const presentReport = ({ numSamples, metrics }: MetricReport) => ({ num_samples: numSamples, metrics })
