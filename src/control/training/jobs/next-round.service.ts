import { objectiveOf } from '../../../domain/job-metric.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { roundSizes } from '../../../domain/training-job.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { ParticipantScopes } from '../rounds/participant-scope.service.ts'
import type { CostInputs } from '../rounds/privacy-costs.service.ts'
import type { RoundRequest } from '../rounds/round-starts.service.ts'
import type { SecurePlan } from '../secure-rounds/secure-steps.service.ts'
import type { StoredJob } from './jobs.store.ts'

/** What the job's next round distributes: its latest result or, before its first result, the model that it began from. */
const distributedBy = ({
  modelId,
  latestModelId,
  settings,
}: StoredJob): [modelId: string | null, version?: number | undefined] =>
  latestModelId === null ? [modelId, settings.modelVersion] : [latestModelId]

/** True if the next round may distribute its model only while it is shared with the job's organization. */
const dependsOnSharing = ({ latestModelId, settings }: StoredJob): boolean =>
  latestModelId === null && settings.sharedModel === true

/** The version that the job's next round distributes, or why it cannot: it or its file is gone, or it is no longer shared. */
export const createBaseVersions =
  ({ blobs }: Context, { models }: { readonly models: Pick<ModelsService, 'versionFor' | 'isSharedWith'> }) =>
  async (job: StoredJob): Promise<StoredVersion | { readonly unavailable: string }> => {
    const [modelId, number] = distributedBy(job)
    const version = modelId === null ? null : await models.versionFor(modelId, number)
    if (version === null) return { unavailable: `${baseVersionOf(job)} was deleted. Start another job.` }
    if (!(await blobs.has(version.sha256)))
      return {
        unavailable: `${baseVersionOf(job)} is no longer stored. Restore its file from a backup and resume the job, or start another job.`,
      }
    if (dependsOnSharing(job) && !(await models.isSharedWith(version.modelId, job.orgId!))) {
      return { unavailable: noLongerShared(job) }
    }
    return version
  }

const baseVersionOf = (job: StoredJob): string => {
  const [modelId, number] = distributedBy(job)
  const what = number === undefined ? 'The model' : `Version ${number} of the model`
  return `${what} that the job's next round would distribute (${modelId})`
}

const noLongerShared = ({ modelId, orgId }: StoredJob): string =>
  `The model that the job's next round would distribute (${modelId}) is no longer shared with '${orgId}'. Start another job ` +
  'with a model of your own, or resume this one once the model is shared again.'

/** What determines the price of the job's next round, both before and in the transaction that starts it. @throws forbidden, bad_request */
export const createCostInputs =
  ({ scopes }: { readonly scopes: Pick<ParticipantScopes, 'scopeOf' | 'requireParticipants'> }) =>
  async (db: Database['sql'], job: StoredJob): Promise<CostInputs> => {
    const { orgId, federationId, settings } = job
    const { privacy, targetDevices } = settings
    const { minDevices, requested, selected } = roundSizes(settings)
    await scopes.requireParticipants(db, job)
    return {
      orgId,
      federationId,
      scope: await scopes.scopeOf(db, job),
      privacy: privacy === null ? null : { ...privacy, clipNorm: job.clipNorm ?? privacy.clipNorm },
      minDevices,
      // A private round draws devices at random and waits for all that are drawn.
      targetDevices: privacy === null ? selected : targetDevices,
      wantedUpdates: privacy === null ? requested : null,
      starter: null,
    }
  }

/** The job's next round, before its devices are drawn. */
export const nextRound = (
  job: StoredJob,
  priced: CostInputs,
  {
    version,
    secured,
    previousRoundId,
  }: {
    readonly version: StoredVersion
    readonly secured: SecurePlan | null
    readonly previousRoundId: string | null
  },
): RoundRequest => {
  const { settings } = job
  const isAsynchronous = STRATEGY_RULES[settings.strategy.name].asynchronous
  return {
    ...priced,
    groupId: job.groupId,
    strategy: settings.strategy,
    hyperparameters: settings.hyperparameters,
    timeoutSeconds: settings.timeoutSeconds,
    // The grace period must not close an asynchronous round: its buffer is there for slow devices.
    graceSeconds: isAsynchronous ? settings.timeoutSeconds : settings.reportWindowSeconds,
    version,
    sharedModel: dependsOnSharing(job),
    secure: secured,
    rawVector: settings.rawVector === true,
    job: {
      id: job.id,
      step: job.roundsCompleted,
      goal: settings.goal === undefined ? null : objectiveOf(settings),
      stateSha256: job.stateSha256,
      controlSha256: job.controlSha256,
      previousRoundId,
    },
  }
}
