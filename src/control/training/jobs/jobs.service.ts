import { type Caller, sees } from '../../../domain/access.ts'
import { notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import {
  type JobStatus,
  nextJobStatus,
  noDevices,
  roundSizes,
  waitingForDevices,
} from '../../../domain/training-job.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import { BudgetRefused } from '../../federations/ledger.service.ts'
import type { RoundEndings } from '../rounds/round-endings.service.ts'
import type { JobSpending, OpenRound, Price, RoundStarts, ToPrice } from '../rounds/round-starts.service.ts'
import type { RoundsService, StoredRound } from '../rounds/rounds.service.ts'
import type { SecurePlan, SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { NewJob, PlannedJob } from './job-plans.service.ts'
import type { JobProgressService } from './job-progress.service.ts'
import type { JobsReport } from './jobs.report.ts'
import type { JobsStore, StoredJob } from './jobs.store.ts'

export type { StoredJob } from './jobs.store.ts'

const HISTORY = 100

/** Training jobs: rounds one after another, until they are done, or something says that there shall be no more. */
export const createJobsService = (parts: {
  readonly database: Database
  readonly store: JobsStore
  readonly report: JobsReport
  readonly progress: JobProgressService
  readonly plan: (caller: Caller, wanted: NewJob) => Promise<PlannedJob>
  readonly rounds: RoundsService
  readonly starts: RoundStarts
  readonly secure: Pick<SecureSteps, 'prepare'>
  readonly endings: RoundEndings
  readonly models: Pick<ModelsService, 'find' | 'newestVersion'>
  readonly log: { error(fields: object, message: string): void; info(fields: object, message: string): void }
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, report, progress, plan, rounds, starts, secure, endings, models, log, now, newId } = parts

  /** not_found when there is no such job that the caller may see; a federation's members see its jobs. */
  const get = async (caller: Caller, id: string): Promise<StoredJob> => {
    const job = isUuid(id) ? await store.find(database.sql, id) : null
    if (job === null || !(await rounds.maySee(caller, job))) throw notFound('Training job', id)
    return job
  }

  /** What its price depends on: the same outside the transaction that starts the round, and inside. */
  const toPrice = async (db: Database['sql'], job: StoredJob): Promise<ToPrice> => {
    const { settings, orgId, federationId } = job
    const sizes = roundSizes(settings)
    return {
      orgId,
      federationId,
      scope: await rounds.scopeOf(db, job),
      privacy:
        settings.privacy === null ? null : { ...settings.privacy, clipNorm: job.clipNorm ?? settings.privacy.clipNorm },
      minDevices: sizes.minDevices,
      // A private round draws by chance, and waits for all that it has drawn.
      targetDevices: settings.privacy === null ? sizes.selected : settings.targetDevices,
      wantedUpdates: settings.privacy === null ? sizes.wanted : null,
      starter: null,
    }
  }

  /** Starts the job's next round in this transaction, or says why there is none yet. */
  const openRound = async (
    tx: Database['sql'],
    job: StoredJob,
    version: StoredVersion,
    secured: SecurePlan | null,
    price: Price | null,
  ): Promise<StoredRound | null> => {
    const { settings } = job
    const sizes = roundSizes(settings)
    const priced = await toPrice(tx, job)
    // With fewer devices than the strategy needs, or a secure round its threshold, the round could only fail.
    const needed = Math.max(sizes.minDevices, secured?.settings.threshold ?? 0)
    const active = await starts.countActive(tx, priced, needed)
    if (active < needed) {
      await waitForDevices(tx, job, { active, needed })
      return null
    }
    // The devices that it needs have come since it was looked at: its noise is priced at its next turn.
    if (priced.privacy !== null && price === null) return null
    const previous = await rounds.latestOfJob(tx, job.id)
    const isAsynchronous = STRATEGY_RULES[settings.strategy.name].asynchronous
    const wanted: OpenRound = {
      ...priced,
      groupId: job.groupId,
      strategy: settings.strategy,
      hyperparameters: settings.hyperparameters,
      timeoutSeconds: settings.timeoutSeconds,
      // A buffer is not closed by a grace: who is slow is what it is for.
      graceSeconds: isAsynchronous ? settings.timeoutSeconds : settings.reportWindowSeconds,
      version,
      secure: secured,
      rawVector: settings.rawVector === true,
      job: {
        id: job.id,
        step: job.roundsCompleted,
        stateSha256: job.stateSha256,
        controlSha256: job.controlSha256,
        previousRoundId: previous?.id ?? null,
      },
    }
    // Before the round, which may end at once and the job with it.
    await store.update(tx, job.id, {
      status: nextJobStatus(job.status, 'begin'),
      waiting_until: null,
      waiting_for: null,
      ...(job.startedAt === null ? { started_at: now() } : {}),
    })
    return starts.open(tx, wanted, price)
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
      return progress.end(tx, job, noDevices(active, { ...job.settings, minDevices: needed }))
    }
    const until = job.waitingUntil ?? new Date(now().getTime() + job.settings.waitForDevicesSeconds * 1000)
    const waitingFor = waitingForDevices(active, needed, job.settings)
    if (job.waitingUntil !== null && job.waitingFor === waitingFor) return
    await store.update(tx, job.id, { waiting_until: until, waiting_for: waitingFor })
  }

  /** Runs `work` at the price of the job's next round; at none while the round has no noise, or too few devices. */
  const priced = async (job: StoredJob, work: (price: Price | null) => Promise<boolean>): Promise<boolean> => {
    if (job.settings.privacy === null) return work(null)
    if (await rounds.isInProgress(database.sql, job.orgId)) return false
    const wanted = await toPrice(database.sql, job)
    const { minDevices } = roundSizes(job.settings)
    const isWaiting = (await starts.countActive(database.sql, wanted, minDevices)) < minDevices
    return isWaiting ? work(null) : starts.priced(wanted, work)
  }

  /** Starts the job's next round, where it is the job's turn; true when it did. */
  const advance = async (id: string): Promise<boolean> => {
    const seen = await store.find(database.sql, id)
    if (seen === null || seen.endedAt !== null) return false
    const version = await models.newestVersion((seen.latestModelId ?? seen.modelId)!)
    try {
      const secured = await securePlanOf(seen, version!)
      return await priced(seen, (price) =>
        database.transaction(async (tx) => {
          const job = await store.lockFree(tx, id)
          if (job === null || job.latestModelId !== seen.latestModelId) return false
          if (await rounds.isInProgress(tx, job.orgId)) return false
          return (await openRound(tx, job, version!, secured, price)) !== null
        }),
      )
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error
      // Somebody else has started a round in this moment, or asks much about privacy: the job waits its turn.
      if (error.code === 'rate_limited') return false
      if (error.code === 'conflict' && !(error instanceof BudgetRefused)) return false
      const ending =
        error instanceof BudgetRefused
          ? ({ event: 'finish', endedBy: 'budget_spent', reason: error.message } as const)
          : ({ event: 'give_up', endedBy: 'cannot_start', reason: error.message } as const)
      await database.transaction(async (tx) => {
        const job = await store.lockFree(tx, id)
        if (job !== null) await progress.end(tx, job, ending)
      })
      return false
    }
  }

  return {
    get,

    /** `tell` hears what is taken for granted though nobody said it. */
    async create(caller: Caller, wanted: NewJob, tell: (warning: string) => void): Promise<StoredJob> {
      const { settings, modelId, reach, warning } = await plan(caller, wanted)
      if (warning !== null) tell(warning)
      const job: StoredJob = {
        id: newId(),
        orgId: reach.orgId,
        name: wanted.name ?? null,
        status: 'pending',
        settings,
        modelId,
        latestModelId: null,
        groupId: reach.groupId,
        federationId: reach.federationId,
        roundsCompleted: 0,
        roundsFailedInARow: 0,
        stateSha256: null,
        controlSha256: null,
        clipNorm: settings.privacy?.clipNorm ?? null,
        endedBy: null,
        reason: null,
        waitingUntil: null,
        waitingFor: null,
        createdAt: now(),
        startedAt: null,
        endedAt: null,
      }
      await store.insert(database.sql, job)
      await this.tick()
      return get(caller, job.id)
    },

    async list(
      caller: Caller,
      filter: { readonly status: JobStatus | undefined; readonly model: string | undefined },
      page: { limit: number; offset: number },
    ): Promise<{ jobs: StoredJob[]; total: number }> {
      const modelId = filter.model === undefined ? undefined : (await models.find(caller, filter.model)).model.id
      return report.list(database.sql, { orgId: caller.orgId, status: filter.status, modelId }, page)
    },

    /** The job with its latest rounds, oldest first, and what their noise has cost; null without noise. */
    async detail(
      caller: Caller,
      id: string,
    ): Promise<{ job: StoredJob; history: StoredRound[]; spent: JobSpending | null }> {
      await rounds.tick()
      const job = await get(caller, id)
      const { privacy } = job.settings
      const spent = privacy === null ? null : await starts.spentBy(caller, job.id, privacy.delta)
      return { job, history: (await rounds.ofJob(job.id, { limit: HISTORY, offset: 0 })).reverse(), spent }
    },

    async rounds(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const job = await get(caller, id)
      return { rounds: await rounds.ofJob(job.id, page), total: await rounds.countOfJob(job.id) }
    },

    /** Ends the job at once, and its round with it. */
    async stop(caller: Caller, id: string): Promise<StoredJob> {
      const visible = await get(caller, id)
      // Members of its federation see it; whoever started it stops it.
      if (!sees(caller, visible.orgId)) throw notFound('Training job', id)
      const reason = 'The training job was stopped.'
      await database.transaction(async (tx) => {
        // Round before job, as everything that ends rounds has it.
        const active = await rounds.lockActiveOf(tx, id)
        const job = (await store.lock(tx, id))!
        await progress.end(tx, job, { event: 'stop', endedBy: 'stopped', reason })
        const begun = active === null ? await rounds.lockActiveOf(tx, id) : active
        if (begun !== null) await endings.fail(tx, begun, { event: 'fail', reason, told: reason })
        const latest = await rounds.latestOfJob(tx, id)
        if (latest?.plan.asynchronous) await endings.dismiss(tx, latest.id, reason)
      })
      rounds.changes.notify('rounds')
      return get(caller, id)
    },

    /** Starts the rounds of all jobs whose turn it is. Safe in several processes at once. */
    async tick(): Promise<void> {
      let began = 0
      for (const id of await store.idle(database.sql)) {
        const started = await advance(id).catch((error: unknown) => {
          log.error({ job_id: id, err: error }, 'a training job could not go on; it will be tried again')
          return false
        })
        if (started) began++
      }
      if (began > 0) rounds.changes.notify('rounds')
    },
  }
}

export type JobsService = ReturnType<typeof createJobsService>
