import { type Caller, sees } from '../../../domain/access.ts'
import { conflict, forbidden, ServiceError } from '../../../domain/errors.ts'
import { requireLikelyDraw, samplingOf } from '../../../domain/poisson-sampling.ts'
import { continuedSettings, type JobPrivacy, type JobSettings, nextJobStatus } from '../../../domain/training-job.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { Ledger } from '../../federations/ledger.service.ts'
import type { HeartbeatsService } from '../../fleet/heartbeats/heartbeats.service.ts'
import type { PrivateDraws } from '../../fleet/selection/selection.service.ts'
import { GROUP_DELETED, type ParticipantScope, type ParticipantScopes } from '../rounds/participant-scope.service.ts'
import type { PrivacyCosts } from '../rounds/privacy-costs.service.ts'
import type { JobProgressService } from './job-progress.service.ts'
import { jobsStore, type StoredJob } from './jobs.store.ts'
import { createBaseVersions } from './next-round.service.ts'

/** Continues ended jobs from their last completed round, with the strategy's state from that round. */
export const createJobContinuations = (
  context: Context,
  parts: {
    readonly progress: Pick<JobProgressService, 'changed'>
    readonly scopes: Pick<ParticipantScopes, 'resolve'>
    readonly draws: Pick<PrivateDraws, 'countEligible'>
    readonly prices: Pick<PrivacyCosts, 'roundsLeft'>
    readonly ledger: Pick<Ledger, 'quote'>
    readonly models: Pick<ModelsService, 'versionFor' | 'findReadable' | 'isSharedWith'>
    readonly heartbeats: Pick<HeartbeatsService, 'announce'>
  },
) => {
  const { database, now } = context
  const { progress, scopes, draws, prices, ledger, models, heartbeats } = parts
  const beginningOf = createBaseVersions(context, parts)

  /** @throws conflict if the version or the state that the next round would start from is gone, or is no longer shared */
  const requireBeginning = async (caller: Caller, job: StoredJob): Promise<void> => {
    // Without a result of its own, the job would distribute the model that it began from again.
    if (job.latestModelId === null && job.modelId !== null) {
      await models.findReadable(caller, job.modelId).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
        throw conflict(
          `The model that the job began from (${job.modelId}) was deleted, or is no longer shared with your organization. Start ` +
            'another job.',
        )
      })
    }
    if (job.stateDeletedAt !== null) {
      throw conflict(
        `The state that strategy '${job.settings.strategy.name}' keeps between rounds was deleted on ` +
          `${job.stateDeletedAt.toISOString()}, after its retention period, so the job cannot continue. ` +
          `Start another job from its result, model ${job.latestModelId}; it begins with a new state.`,
      )
    }
    const version = await beginningOf(job)
    if ('unavailable' in version) throw conflict(version.unavailable)
  }

  /** Resolves the job's federation and group again, because both may have changed. */
  const participantScopeOf = async (
    caller: Caller,
    { orgId, groupId, federationId }: StoredJob,
  ): Promise<ParticipantScope> =>
    scopes
      .resolve(caller, {
        orgId: orgId ?? undefined,
        group: groupId ?? undefined,
        federation: federationId ?? undefined,
      })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code !== 'bad_request' || groupId === null) throw error
        throw conflict(GROUP_DELETED)
      })

  /** Returns how many of the requested rounds the privacy budgets of the job and its federation allow. @throws conflict */
  const affordable = async (
    caller: Caller,
    job: StoredJob,
    { rounds: total, minDevices, targetDevices }: JobSettings,
    { privacy, isExact }: { readonly privacy: JobPrivacy; readonly isExact: boolean },
  ): Promise<number> => {
    const { scope } = await participantScopeOf(caller, job)
    const population = await draws.countEligible(database.sql, scope)
    if (population >= minDevices) {
      try {
        requireLikelyDraw({ minDevices, targetDevices }, population)
      } catch (error) {
        const advice = `A continued job keeps its settings: start another job from its result${job.latestModelId === null ? '' : `, model ${job.latestModelId}`}.`
        throw error instanceof ServiceError ? conflict(`${error.message} ${advice}`) : error
      }
    }
    const { sampleRate } = samplingOf(targetDevices, Math.max(population, targetDevices))
    const round = { noiseMultiplier: privacy.noiseMultiplier, sampleRate, steps: 1 }
    const { targetEpsilon: epsilon, delta } = privacy
    const wanted = total - job.roundsCompleted
    const left = epsilon === undefined ? wanted : await prices.roundsLeft(caller, job.id, { epsilon, delta, round })
    if (left < (isExact ? wanted : 1)) {
      throw conflict(
        `rounds: the job's target_epsilon ${epsilon} allows ${left} of the ${wanted} additional rounds; rounds that ` +
          `failed or were stopped count too. ${left === 0 ? 'Start' : 'Ask for fewer, or start'} another job from its result, ` +
          'with a new budget.',
      )
    }
    const steps = Math.min(wanted, left)
    if (job.federationId !== null) await ledger.quote(caller, job.federationId, { ...round, steps })
    return steps
  }

  const affordableSettings = async (
    caller: Caller,
    job: StoredJob,
    wanted: JobSettings,
    isExact: boolean,
  ): Promise<JobSettings> => {
    const { privacy } = wanted
    if (privacy !== null) {
      const rounds = job.roundsCompleted + (await affordable(caller, job, wanted, { privacy, isExact }))
      return { ...wanted, rounds }
    }
    await participantScopeOf(caller, job)
    return wanted
  }

  /**
   * Gives an ended job more rounds: `more` beyond those completed, or those that it had left (fewer if its privacy budget
   * allows fewer). Nothing else about the job changes.
   * @throws forbidden for a job of another organization; conflict in a wrong state, if something that it needs is gone, its
   * budget is spent, or another request has continued it in the meantime
   */
  return async (
    caller: Caller,
    seen: StoredJob,
    event: 'resume' | 'extend',
    more: number | undefined,
  ): Promise<void> => {
    // Members of the job's federation see it, but only its own organization may continue it.
    if (!sees(caller, seen.orgId)) throw forbidden(`Only '${seen.orgId}', which started the job, can continue it.`)
    const status = nextJobStatus(seen.status, event)
    const wanted = continuedSettings(seen.settings, seen.roundsCompleted, event, more)
    await requireBeginning(caller, seen)
    const settings = await affordableSettings(caller, seen, wanted, more !== undefined)
    await database.transaction(async (tx) => {
      const job = (await jobsStore.lock(tx, seen.id))!
      nextJobStatus(job.status, event)
      if (!isAsSeen(job, seen))
        throw conflict('The job resumed and ended again in the meantime. Check its status and try again.')
      await jobsStore.update(tx, job.id, {
        status,
        settings: JSON.stringify(settings),
        rounds_failed_in_a_row: 0,
        ended_by: null,
        reason: null,
        waiting_until: null,
        waiting_for: null,
        ended_at: null,
        resumed_at: now(),
      })
      auditNote({
        kind: 'job',
        ...job,
        before: { status: job.status, rounds: job.settings.rounds },
        after: { status, rounds: settings.rounds },
      })
      await heartbeats.announce(tx, job.id)
      await progress.changed(tx, { ...job, status })
    })
  }
}

/** True if the job still has the ending that budget and files were checked for. */
const isAsSeen = (job: StoredJob, seen: StoredJob): boolean =>
  job.roundsCompleted === seen.roundsCompleted &&
  job.endedAt?.getTime() === seen.endedAt?.getTime() &&
  job.resumedAt?.getTime() === seen.resumedAt?.getTime() &&
  job.stateDeletedAt?.getTime() === seen.stateDeletedAt?.getTime()

export type JobContinuations = ReturnType<typeof createJobContinuations>
