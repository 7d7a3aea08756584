import { foundation } from './0001-foundation.ts'
import { benchmarks } from './0002-benchmarks.ts'
import { delivery } from './0003-delivery.ts'
import { training } from './0004-training.ts'
import { numberRanges } from './0005-number-ranges.ts'
import { ledgerRevision } from './0006-ledger-revision.ts'
import { privateRounds } from './0007-private-rounds.ts'
import { participation } from './0008-participation.ts'
import { heartbeatInterval } from './0008b-heartbeat-interval.ts'
import { rawVectors } from './0009-raw-vectors.ts'
import { organizations } from './0010-organizations.ts'
import { metricsScope } from './0010b-metrics-scope.ts'
import { outbox } from './0011-outbox.ts'
import { announcements } from './0012-announcements.ts'
import { sessions } from './0013-sessions.ts'
import { aliases } from './0014-aliases.ts'
import { publishedVersions } from './0015-published-versions.ts'
import { metrics } from './0016-metrics.ts'
import { evaluationStep } from './0017-evaluation-step.ts'
import { resumedJobs } from './0018-resumed-jobs.ts'
import { modelRetention } from './0019-model-retention.ts'
import { federationEvents } from './0019b-federation-events.ts'
import { experimentEstimates } from './0020-experiment-estimates.ts'
import { conversions } from './0021-conversions.ts'
import { integrations } from './0023-integrations.ts'
import { people } from './0024-people.ts'
import { deviceLogins } from './0027-device-logins.ts'
import { audit } from './0028-audit.ts'
import { compliance } from './0029-compliance.ts'
import { uploadParts } from './0030-upload-parts.ts'
import { backups } from './0031-backups.ts'
import { groupMembersByTime } from './0032-group-members-by-time.ts'
import { approvals } from './0034-approvals.ts'
import { integrationTopics } from './0035-integration-topics.ts'
import { heartbeatCounts } from './0037-heartbeat-counts.ts'
import { deviceNamesByParts } from './0038-device-names-by-parts.ts'
import { deviceErasures } from './0039-device-erasures.ts'
import { roundsByCreation } from './0040-rounds-by-creation.ts'
import { pinnedVersions } from './0041-pinned-versions.ts'
import { federatedFigures } from './0042-federated-figures.ts'
import { keyFingerprints } from './0043-key-fingerprints.ts'
import { reportedPlans } from './0044-reported-plans.ts'
import { webhookBatches } from './0045-webhook-batches.ts'
import { loginSessions } from './0046-login-sessions.ts'
import { planEndings } from './0047-plan-endings.ts'
import { sharedJobModels } from './0048-shared-job-models.ts'
import { integrationNames } from './0049-integration-names.ts'
import { auditAddresses } from './0050-audit-addresses.ts'
import { largeHistories } from './0051-large-histories.ts'
import { versionMetadata } from './0052-version-metadata.ts'
import { dynamicGroups } from './0053-dynamic-groups.ts'
import { deletedVersions } from './0054-deleted-versions.ts'

/** Forward only, applied in this order. Never edit a published migration: add a new one. */
export const MIGRATIONS = [
  foundation,
  benchmarks,
  delivery,
  training,
  numberRanges,
  ledgerRevision,
  privateRounds,
  participation,
  heartbeatInterval,
  rawVectors,
  organizations,
  metricsScope,
  outbox,
  announcements,
  sessions,
  aliases,
  publishedVersions,
  metrics,
  evaluationStep,
  resumedJobs,
  modelRetention,
  federationEvents,
  experimentEstimates,
  conversions,
  integrations,
  people,
  deviceLogins,
  audit,
  compliance,
  uploadParts,
  backups,
  groupMembersByTime,
  approvals,
  integrationTopics,
  heartbeatCounts,
  deviceNamesByParts,
  deviceErasures,
  roundsByCreation,
  pinnedVersions,
  federatedFigures,
  keyFingerprints,
  reportedPlans,
  webhookBatches,
  loginSessions,
  planEndings,
  sharedJobModels,
  integrationNames,
  auditAddresses,
  largeHistories,
  versionMetadata,
  dynamicGroups,
  deletedVersions,
] as const
