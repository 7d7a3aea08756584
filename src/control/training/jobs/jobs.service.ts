import { type Caller, sees } from '../../../domain/access.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { IN_PROGRESS } from '../../../domain/round.ts'
import { type JobStatus, WAITING_FOR_TURN } from '../../../domain/training-job.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { RoundResults } from '../../catalog/models/round-results.service.ts'
import type { Context } from '../../context.ts'
import type { HeartbeatsService } from '../../fleet/heartbeats/heartbeats.service.ts'
import { runDue } from '../../periodic-tasks.ts'
import type { DueRounds } from '../rounds/due-rounds.service.ts'
import type { EvaluationSteps } from '../rounds/evaluation-steps.service.ts'
import type { ParticipantScopes } from '../rounds/participant-scope.service.ts'
import type { JobSpending, PrivacyCosts } from '../rounds/privacy-costs.service.ts'
import type { RoundEndings } from '../rounds/round-endings.service.ts'
import { type RoundsService, roundsReport } from '../rounds/rounds.service.ts'
import type { VisibleRound, VisibleRounds } from '../rounds/visible-rounds.service.ts'
import type { JobContinuations } from './job-continuations.service.ts'
import type { PlannedJob } from './job-plans.service.ts'
import type { JobProgressService } from './job-progress.service.ts'
import type { JobTurns } from './job-turns.service.ts'
import { jobsReport } from './jobs.report.ts'
import { jobsStore, type StoredJob } from './jobs.store.ts'
import type { NewJob } from './new-job.ts'

export type { StoredJob } from './jobs.store.ts'

const HISTORY = 100

/** Training jobs: a series of rounds that runs until all are completed or something ends the job. */
export const createJobsService = (
  { database, now, newId }: Context,
  parts: {
    readonly progress: JobProgressService
    readonly plan: (caller: Caller, requested: NewJob) => Promise<PlannedJob>
    readonly turns: JobTurns
    readonly continueJob: JobContinuations
    readonly rounds: Pick<RoundsService, 'lockLatestOf' | 'hasActive' | 'isInProgress'>
    readonly scopes: Pick<ParticipantScopes, 'maySee'>
    readonly due: Pick<DueRounds, 'tick'>
    readonly prices: Pick<PrivacyCosts, 'spentBy'>
    readonly endings: RoundEndings
    readonly evaluationSteps: Pick<EvaluationSteps, 'closeNow'>
    readonly visibleRounds: Pick<VisibleRounds, 'shown'>
    readonly models: Pick<ModelsService, 'find' | 'knownAll' | 'isSharedWith'>
    readonly roundResults: Pick<RoundResults, 'publishedBy'>
    readonly heartbeats: Pick<HeartbeatsService, 'announce'>
  },
) => {
  const { progress, plan, turns, continueJob } = parts
  const { rounds, scopes, due, prices, endings, evaluationSteps, visibleRounds, models, roundResults, heartbeats } =
    parts

  /** @throws not_found if the caller cannot see such a job; members of a federation see its jobs */
  const get = async (caller: Caller, id: string): Promise<StoredJob> => {
    const job = isUuid(id) ? await jobsStore.find(database.sql, id) : null
    if (job === null || !(await scopes.maySee(caller, job))) throw notFound('Training job', id)
    return job
  }

  /** Returns the names of the models that jobs started from, by id: of those that the caller may read. */
  const modelNames = async (
    caller: Caller,
    jobs: readonly StoredJob[],
  ): Promise<ReadonlyMap<string, string | null>> => {
    const found = await models.knownAll([...new Set(jobs.flatMap(({ modelId }) => modelId ?? []))])
    const names = new Map<string, string | null>()
    for (const [id, { name, roundName, orgId }] of found) {
      const mayRead = sees(caller, orgId) || (caller.orgId !== null && (await models.isSharedWith(id, caller.orgId)))
      if (mayRead) names.set(id, name ?? roundName)
    }
    return names
  }

  return {
    get,

    /** Calls `warn` with assumptions made where the request left something out. */
    async create(caller: Caller, requested: NewJob, warn: (warning: string) => void): Promise<StoredJob> {
      const planned = await plan(caller, requested)
      for (const warning of planned.warnings) warn(warning)
      const { settings, modelId } = planned
      const job = newJob(requested, planned, { id: newId(), createdAt: now() })
      await database.transaction(async (tx) => {
        await jobsStore.insert(tx, job)
        await heartbeats.announce(tx, job.id)
        auditNote({
          kind: 'job',
          ...job,
          after: { modelId, rounds: settings.rounds, strategy: settings.strategy.name },
        })
        await progress.changed(tx, job)
      })
      await turns.start(job.id)
      return get(caller, job.id)
    },

    async list(
      caller: Caller,
      filter: { readonly status: JobStatus | undefined; readonly model: string | undefined },
      page: { limit: number; offset: number },
    ): Promise<{ jobs: StoredJob[]; total: number; modelNames: ReadonlyMap<string, string | null> }> {
      const modelId = filter.model === undefined ? undefined : (await models.find(caller, filter.model)).model.id
      const found = await jobsReport.list(database.sql, { orgId: caller.orgId, status: filter.status, modelId }, page)
      return { ...found, modelNames: await modelNames(caller, found.jobs) }
    },

    /** The job with its latest rounds, oldest first, and their privacy cost (null without noise). */
    async detail(
      caller: Caller,
      id: string,
    ): Promise<{
      job: StoredJob
      history: VisibleRound[]
      spent: JobSpending | null
      published: readonly StoredVersion[]
      modelNames: ReadonlyMap<string, string | null>
    }> {
      await runDue(due.tick)
      const job = await get(caller, id)
      const { privacy } = job.settings
      const spent = privacy === null ? null : await prices.spentBy(caller, job.id, privacy.delta)
      const published = await roundResults.publishedBy(job.id)
      // Before the job's own rounds are read, among which a round that it starts meanwhile is found.
      const mayBeQueued = job.endedBy === null && job.waitingFor === null
      const isBusy = mayBeQueued && (await rounds.isInProgress(database.sql, job.orgId))
      const history = await roundsReport.ofJob(database.sql, job.id, { limit: HISTORY, offset: 0 })
      const shown = await visibleRounds.shown(caller, history.reverse())
      const latest = shown.at(-1)
      const isQueued = isBusy && (latest === undefined || !IN_PROGRESS.includes(latest.status))
      const described = isQueued ? { ...job, waitingFor: WAITING_FOR_TURN } : job
      return { job: described, published, history: shown, spent, modelNames: await modelNames(caller, [job]) }
    },

    async rounds(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const job = await get(caller, id)
      const found = await visibleRounds.shown(caller, await roundsReport.ofJob(database.sql, job.id, page))
      return { rounds: found, total: await roundsReport.countOfJob(database.sql, job.id) }
    },

    /** Ends the job and its current round at once. */
    async stop(caller: Caller, id: string): Promise<StoredJob> {
      const visible = await get(caller, id)
      // Members of the job's federation see it, but only its own organization may stop it.
      if (!sees(caller, visible.orgId)) throw forbidden(`Only '${visible.orgId}', which started the job, can stop it.`)
      // Locks the round before the job, like everything that ends rounds. Retries if a round began between the two.
      const attempt = async (tx: Database['sql']): Promise<boolean> => {
        const latest = await rounds.lockLatestOf(tx, id)
        const active = latest !== null && IN_PROGRESS.includes(latest.status) ? latest : null
        const job = (await jobsStore.lock(tx, id))!
        if (active === null && (await rounds.hasActive(tx, id))) return false
        const reason = 'The training job was stopped.'
        auditNote({ kind: 'job', ...job, before: { status: job.status }, after: { status: 'stopped' } })
        // Evaluations of the last model that have arrived count for the job's reason and result.
        if (latest !== null) await evaluationSteps.closeNow(tx, latest)
        await progress.end(tx, job, { event: 'stop', endedBy: 'stopped', reason })
        if (active !== null) await endings.fail(tx, active, { event: 'fail', reason, reported: reason })
        return true
      }
      while (!(await database.transaction(attempt)));
      return get(caller, id)
    },

    /** Continues a stopped or failed job from its last completed round, for `more` rounds or those that it had left. */
    async resume(caller: Caller, id: string, more: number | undefined): Promise<StoredJob> {
      await continueJob(caller, await get(caller, id), 'resume', more)
      await turns.start(id)
      return get(caller, id)
    },

    /** Gives a completed job `more` rounds. */
    async extend(caller: Caller, id: string, more: number): Promise<StoredJob> {
      await continueJob(caller, await get(caller, id), 'extend', more)
      await turns.start(id)
      return get(caller, id)
    },

    tick: turns.tick,
    resetTimesAhead: (): Promise<void> => jobsStore.resetTimesAhead(database.sql, now()),
  }
}

/** The row of a new job. */
const newJob = (
  requested: NewJob,
  { settings, modelId, participantScope }: PlannedJob,
  { id, createdAt }: Pick<StoredJob, 'id' | 'createdAt'>,
): StoredJob => ({
  id,
  orgId: participantScope.orgId,
  name: requested.name ?? null,
  status: 'pending',
  settings,
  modelId,
  latestModelId: null,
  groupId: participantScope.groupId,
  federationId: participantScope.federationId,
  roundsCompleted: 0,
  roundsFailedInARow: 0,
  stateSha256: null,
  controlSha256: null,
  clipNorm: settings.privacy?.clipNorm ?? null,
  ending: null,
  endedBy: null,
  reason: null,
  waitingUntil: null,
  waitingFor: null,
  createdAt,
  startedAt: null,
  endedAt: null,
  resumedAt: null,
  stateDeletedAt: null,
})

export type JobsService = ReturnType<typeof createJobsService>
