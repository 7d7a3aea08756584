import { labelOf } from '../../../domain/model.ts'
import { blobPath } from '../../../platform/blobs/blob-store.ts'
import type { StoredConversion } from '../conversions/conversions.service.ts'
import type { ListedModel, NamedVersion, StoredVersion, VersionOrigin } from './models.service.ts'

/** Returns a model with the API's field names. */
export const present = ({ model, newest }: ListedModel) => ({
  id: model.id,
  org_id: model.orgId,
  name: model.name ?? model.roundName,
  round_id: model.roundId,
  model_path: newest === null ? null : blobPath(newest.sha256),
  model_size_bytes: newest?.size ?? null,
  model_hash: newest === null ? null : `sha256:${newest.sha256}`,
  framework: model.framework,
  framework_version: model.frameworkVersion,
  accuracy: model.accuracy,
  loss: model.loss,
  is_baseline: model.isBaseline,
  description: model.description,
  created_at: model.createdAt.toISOString(),
})

const presentOrigin = ({ roundId, roundNumber, jobId, metrics }: VersionOrigin) => ({
  job_id: jobId,
  round_id: roundId,
  round_number: roundNumber,
  metrics: { ...metrics },
  receipt_path: `/api/v1/training/rounds/${roundId}/receipt`,
})

const presentListedVersion = (version: StoredVersion) => ({
  version: version.version,
  version_label: labelOf(version.version, version.ownLabel),
  format: version.format,
  model_size_bytes: version.size,
  model_hash: `sha256:${version.sha256}`,
  uploaded_at: version.uploadedAt.toISOString(),
  metadata: { ...version.metadata },
})

const presentConversion = ({ format, state, reason, file }: StoredConversion) => ({
  format,
  state,
  reason,
  model_size_bytes: file?.size ?? null,
  model_hash: file === null ? null : `sha256:${file.sha256}`,
})

export const presentVersion = (version: StoredVersion, conversions: readonly StoredConversion[]) => ({
  ...presentListedVersion(version),
  formats: conversions.map(presentConversion),
  model_id: version.modelId,
  model_path: blobPath(version.sha256),
  description: version.description,
  warnings: [...version.warnings],
})

export const presentNamedVersion = (version: NamedVersion) => ({
  ...presentListedVersion(version),
  formats: version.conversions.map(presentConversion),
  aliases: [...version.aliases],
  trained_by: version.origin === null ? null : presentOrigin(version.origin),
})
