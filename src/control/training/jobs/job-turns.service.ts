import { ServiceError } from '../../../domain/errors.ts'
import { type Ending, noDevices } from '../../../domain/job-endings.ts'
import { isUnavailable } from '../../../domain/outages.ts'
import { nextJobStatus, roundSizes, waitingForDevices } from '../../../domain/training-job.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import { BudgetRefused } from '../../federations/ledger.service.ts'
import type { ParticipantScopes } from '../rounds/participant-scope.service.ts'
import type { CostInputs, PrivacyCost, PrivacyCosts } from '../rounds/privacy-costs.service.ts'
import type { RoundStarts } from '../rounds/round-starts.service.ts'
import type { RoundsService } from '../rounds/rounds.service.ts'
import type { SecurePlan, SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { JobProgressService } from './job-progress.service.ts'
import { jobsStore, type StoredJob } from './jobs.store.ts'
import { createBaseVersions, createCostInputs, nextRound } from './next-round.service.ts'

interface Parts {
  readonly progress: JobProgressService
  readonly rounds: Pick<RoundsService, 'latestOfJob' | 'isInProgress'>
  readonly scopes: Pick<ParticipantScopes, 'scopeOf' | 'requireParticipants'>
  readonly starts: Pick<RoundStarts, 'countActive' | 'open'>
  readonly prices: Pick<PrivacyCosts, 'priced'>
  readonly secure: Pick<SecureSteps, 'prepare'>
  readonly models: Pick<ModelsService, 'versionFor' | 'isSharedWith'>
}

/** Starts the next round of each job whose turn it is, and ends jobs that cannot have another round. */
export const createJobTurns = (context: Context, parts: Parts) => {
  const { database, log, now } = context
  const { progress, rounds, starts, prices, secure } = parts
  const toPrice = createCostInputs(parts)
  const beginningOf = createBaseVersions(context, parts)

  /** Starts the job's next round in this transaction, or records why it has to wait. */
  const openRound = async (
    tx: Database['sql'],
    job: StoredJob,
    version: StoredVersion,
    secured: SecurePlan | null,
    price: PrivacyCost | null,
  ): Promise<void> => {
    const { settings } = job
    const sizes = roundSizes(settings)
    const priced = await toPrice(tx, job)
    // With fewer devices than the strategy or a secure round's threshold needs, the round could only fail.
    const needed = Math.max(sizes.minDevices, secured?.settings.threshold ?? 0)
    const active = await starts.countActive(tx, priced, needed)
    if (active < needed) return waitForDevices(tx, job, { active, needed })
    // Enough devices appeared only after pricing: the noise is priced at the job's next turn.
    if (priced.privacy !== null && price === null) return
    const previous = await rounds.latestOfJob(tx, job.id)
    const requested = nextRound(job, priced, { version, secured, previousRoundId: previous?.id ?? null })
    // Update the job before opening the round, which may end at once and end the job too.
    await jobsStore.update(tx, job.id, {
      status: nextJobStatus(job.status, 'begin'),
      waiting_until: null,
      waiting_for: null,
      ...(job.startedAt === null ? { started_at: now() } : {}),
    })
    await progress.changed(tx, { ...job, status: 'running' })
    await starts.open(tx, requested, price)
  }

  const securePlanOf = async ({ settings }: StoredJob, version: StoredVersion): Promise<SecurePlan | null> => {
    if (settings.secureAggregation === null) return null
    const { selected, minDevices } = roundSizes(settings)
    return secure.prepare(settings.secureAggregation, {
      modelSha256: version.sha256,
      rawVector: settings.rawVector === true,
      selected,
      minDevices,
    })
  }

  const waitForDevices = async (
    tx: Database['sql'],
    job: StoredJob,
    { active, needed }: { readonly active: number; readonly needed: number },
  ): Promise<void> => {
    if (job.waitingUntil !== null && now().getTime() >= job.waitingUntil.getTime()) {
      return progress.end(tx, job, noDevices(active, needed, job))
    }
    const until = job.waitingUntil ?? new Date(now().getTime() + job.settings.waitForDevicesSeconds * 1000)
    const waitingFor = waitingForDevices(active, needed, job)
    if (job.waitingUntil !== null && job.waitingFor === waitingFor) return
    await jobsStore.update(tx, job.id, { waiting_until: until, waiting_for: waitingFor })
    await progress.changed(tx, job)
  }

  /** Calls `work` with the price of the job's next round; null if the round has no noise or too few devices. */
  const priced = async (job: StoredJob, work: (price: PrivacyCost | null) => Promise<void>): Promise<void> => {
    if (job.settings.privacy === null) return work(null)
    if (await rounds.isInProgress(database.sql, job.orgId)) return
    const requested = await toPrice(database.sql, job)
    const { minDevices } = roundSizes(job.settings)
    const isWaiting = (await starts.countActive(database.sql, requested, minDevices)) < minDevices
    if (isWaiting) return work(null)
    const { targetEpsilon: epsilon } = job.settings.privacy
    return prices.priced(requested, work, epsilon === undefined ? null : { jobId: job.id, epsilon })
  }

  /** Locks the job; null if a round has begun or ended since `seen` was read, because rounds also spend privacy. */
  const lockAsSeen = async (tx: Database['sql'], seen: StoredJob, isAwaited: boolean): Promise<StoredJob | null> => {
    const job = await jobsStore.lockOngoing(tx, seen.id, { isAwaited })
    return job === null || hasMoved(job, seen) || (await rounds.isInProgress(tx, job.orgId)) ? null : job
  }

  const endWith = (seen: StoredJob, isAwaited: boolean, ending: Ending): Promise<void> =>
    database.transaction(async (tx) => {
      const job = await lockAsSeen(tx, seen, isAwaited)
      if (job !== null) await progress.end(tx, job, ending)
    })

  /** Starts the job's next round if it is the job's turn; with `isAwaited`, waits for another process that is doing so. */
  const advance = async (seen: StoredJob, isAwaited: boolean): Promise<void> => {
    const version = await beginningOf(seen)
    if ('unavailable' in version) {
      return endWith(seen, isAwaited, { event: 'give_up', endedBy: 'cannot_start', reason: version.unavailable })
    }
    try {
      const secured = await securePlanOf(seen, version)
      const latest = await rounds.latestOfJob(database.sql, seen.id)
      await priced(seen, (price) =>
        database.transaction(async (tx) => {
          const job = await lockAsSeen(tx, seen, isAwaited)
          // A round that has been opened and canceled since then has spent privacy that the price does not include.
          const isPriced = async () => price === null || (await rounds.latestOfJob(tx, seen.id))?.id === latest?.id
          if (job !== null && (await isPriced())) await openRound(tx, job, version, secured, price)
        }),
      )
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal_error' || isUnavailable(error)) throw error
      // Another round started at the same moment, or many privacy requests are queued: the job waits for its turn.
      if (error.code === 'rate_limited') return
      if (error.code === 'conflict' && !(error instanceof BudgetRefused)) return
      const ending =
        error instanceof BudgetRefused
          ? ({ event: 'finish', endedBy: 'budget_spent', reason: error.message } as const)
          : ({ event: 'give_up', endedBy: 'cannot_start', reason: error.message } as const)
      await endWith(seen, isAwaited, ending)
    }
  }

  const advanceAll = async (idle: readonly StoredJob[], isAwaited: boolean): Promise<void> => {
    const waits = createWaits(context, parts, toPrice)
    // Once one job has started a round, no other job of its organization can, however many wait.
    const busy = new Set<string | null>()
    for (const job of idle) {
      if (busy.has(job.orgId)) continue
      try {
        if (await waits(job)) continue
        await advance(job, isAwaited)
        if (await rounds.isInProgress(database.sql, job.orgId)) busy.add(job.orgId)
      } catch (error) {
        log.error({ job_id: job.id, err: error }, 'a training job could not continue; it will be retried')
      }
    }
  }

  return {
    /** Starts a round for every job whose turn it is. Safe to run in several processes at once. */
    tick: async (): Promise<void> => advanceAll(await jobsStore.idle(database.sql), false),

    /** The same for this job's organization. Afterwards the caller sees the round even if a concurrent tick started it. */
    start: async (id: string): Promise<void> => advanceAll(await jobsStore.idle(database.sql, id), true),
  }
}

/**
 * True if the job can only keep waiting for devices, as it already does. Counts devices once for all jobs that wait for the
 * same ones: there may be hundreds of such jobs.
 */
const createWaits = (
  { database, now }: Context,
  { starts }: Pick<Parts, 'starts'>,
  toPrice: (db: Database['sql'], job: StoredJob) => Promise<CostInputs>,
) => {
  const counts = new Map<string, Promise<number>>()
  return async (job: StoredJob): Promise<boolean> => {
    const { waitingUntil, waitingFor, settings } = job
    // The number of devices that a secure round needs also depends on the model.
    if (waitingUntil === null || now() >= waitingUntil || settings.secureAggregation !== null) return false
    const needed = roundSizes(settings).minDevices
    const key = JSON.stringify([job.orgId, job.groupId, job.federationId, needed, settings.privacy !== null])
    const count = async () => starts.countActive(database.sql, await toPrice(database.sql, job), needed)
    const counting = counts.get(key) ?? count()
    counts.set(key, counting)
    const active = await counting.catch(() => null)
    return active !== null && active < needed && waitingFor === waitingForDevices(active, needed, job)
  }
}

/** True if one of the job's rounds has ended since `seen` was read. */
const hasMoved = (job: StoredJob, seen: StoredJob): boolean =>
  job.latestModelId !== seen.latestModelId || job.roundsFailedInARow !== seen.roundsFailedInARow

export type JobTurns = ReturnType<typeof createJobTurns>
