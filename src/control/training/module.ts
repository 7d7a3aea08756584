import type { App } from '../../platform/http/app.ts'
import { acceptUploads } from '../../platform/http/upload.ts'
import type { Context } from '../context.ts'
import { createDownloads } from '../downloads.ts'
import type { Module } from '../module.ts'
import { createJobContinuations } from './jobs/job-continuations.service.ts'
import { createJobPlans } from './jobs/job-plans.service.ts'
import { createJobProgress } from './jobs/job-progress.service.ts'
import { createJobTurns } from './jobs/job-turns.service.ts'
import { createJobsReport } from './jobs/jobs.report.ts'
import { jobsRoutes } from './jobs/jobs.routes.ts'
import { createJobsService } from './jobs/jobs.service.ts'
import { createJobsStore, type JobsStore } from './jobs/jobs.store.ts'
import { createVersionOrigins } from './jobs/version-origins.service.ts'
import { adoptTraining, trainingRowsOf, withdrawFromRounds } from './ownership.store.ts'
import { createAnnouncementsReport } from './rounds/announcements.report.ts'
import { evaluationRoutes } from './rounds/evaluation.routes.ts'
import { createModelContents } from './rounds/model-content.service.ts'
import { participationRoutes } from './rounds/participation.routes.ts'
import { receiptsRoutes } from './rounds/receipts.routes.ts'
import { isTrained, trainingReferences } from './rounds/retention.store.ts'
import { composeRounds, type Earlier } from './rounds/rounds.module.ts'
import { contributionsTo, undecidedRound } from './rounds/rounds.report.ts'
import { roundsRoutes } from './rounds/rounds.routes.ts'
import { createUpdateCounts } from './rounds/update-counts.service.ts'
import { updatesRoutes } from './rounds/updates.routes.ts'
import { secureRoundsRoutes } from './secure-rounds/secure-rounds.routes.ts'
import { createSecureRoundsService } from './secure-rounds/secure-rounds.service.ts'
import { createSecureRoundsStore } from './secure-rounds/secure-rounds.store.ts'
import { createSecureSteps, type SecureSteps } from './secure-rounds/secure-steps.service.ts'
import { createSecureSums } from './secure-rounds/secure-sums.service.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

const create = (context: Context, earlier: Earlier) => {
  const { database, blobs, workers, events, changes, now } = context
  const { files, roundModels, lineage } = earlier.catalog
  const { heartbeats } = earlier.fleet
  const secureStore = createSecureRoundsStore()
  const contents = createModelContents({ blobs, workers })
  const secure = createSecureSteps({ store: secureStore, layoutOf: contents.layoutOf, now })
  const sums = createSecureSums({ database, store: secureStore })
  const parts = composeRounds(context, earlier, { contents, secure, sums })
  const { endings, rounds, participation } = parts
  const secureRounds = createSecureRoundsService({
    database,
    store: secureStore,
    rounds: {
      get: rounds.get,
      lock: rounds.lock,
      collect: endings.collect,
      fail: (tx, round, reason) => endings.fail(tx, round, { event: 'fail', reason, reported: reason }),
    },
    changes,
    now,
  })
  const jobsStore = createJobsStore(heartbeats.announce)
  const jobs = createJobs(context, earlier, { ...parts, secure, store: jobsStore })
  const announcements = createAnnouncementsReport()
  events.inTransaction('unbound.adopted', (tx, { orgId }) => adoptTraining(tx, orgId))
  files.keepReferenced(trainingReferences)
  roundModels.keepUsed(isTrained)
  lineage.followTraining(createVersionOrigins({ ...parts, database, store: jobsStore }))
  earlier.federations.members.countContributions((federationId) => contributionsTo(database.sql, federationId))
  earlier.fleet.erasures.contribute({ rowsOf: trainingRowsOf, beforeErasure: withdrawFromRounds(now) })
  earlier.delivery.policies.followRounds(undecidedRound)
  heartbeats.contribute({
    announcedTo: (deviceIds) => announcements.announcedTo(database.sql, deviceIds, now()),
    join: participation.join,
  })
  /** Heartbeats look no longer for what is over. */
  const withdrawAnnouncements = () =>
    database.transaction(async (tx) => heartbeats.withdraw(tx, await announcements.over(tx, now())))
  events.afterCommit('round.started', () => changes.notify('rounds'))
  events.afterCommit('round.places_freed', () => changes.notify('rounds'))
  events.afterCommit('round.completed', () => changes.notify('endings'))
  // Devices may be asked to evaluate its model.
  events.afterCommit('evaluation.opened', () => changes.notify('rounds'))
  events.afterCommit('round.failed', () => changes.notify('rounds'))
  return {
    ...parts,
    settings: earlier.access.settings,
    withdrawAnnouncements,
    secureRounds,
    updateCounts: createUpdateCounts(),
    jobs,
  }
}

const createJobs = (
  context: Context,
  { catalog, federations, fleet }: Earlier,
  parts: ReturnType<typeof composeRounds> & { readonly secure: SecureSteps; readonly store: JobsStore },
) => {
  const { models } = catalog
  const { ledger } = federations
  const { draws } = fleet
  const shared = { ...context, ...parts, models, ledger, draws }
  const progress = createJobProgress({ ...shared, evaluations: parts.evaluationSteps })
  return createJobsService({
    ...shared,
    report: createJobsReport(),
    progress,
    plan: createJobPlans(shared).plan,
    turns: createJobTurns({ ...shared, progress }),
    continueJob: createJobContinuations({ ...shared, progress }),
  })
}

/** How models are trained: rounds, jobs of many rounds, secure aggregation, and what is made of the updates. */
export type Training = ReturnType<typeof create>

export const training: Module<Training, Earlier> = {
  description: 'Rounds, updates, receipts and training jobs',
  tables: [
    'rounds',
    'round_participants',
    'updates',
    'training_jobs',
    'evaluations',
    'secure_rounds',
    'secure_messages',
  ],
  create,
  async routes(app, parts, { blobs, config }) {
    const downloads = createDownloads({ blobs, config })
    roundsRoutes(app, parts.rounds, parts.standalone)
    participationRoutes(app, parts.participation, parts.records, downloads)
    evaluationRoutes(app, parts.evaluationSteps, downloads)
    receiptsRoutes(app, parts.records)
    secureRoundsRoutes(app, parts.secureRounds)
    jobsRoutes(app, parts.jobs)
    await app.register(async (scope: App) => {
      await acceptUploads(scope)
      updatesRoutes(scope, parts, { blobs, maxUploadBytes: config.maxUploadBytes })
    })
  },
  tasks: (
    { config, now },
    { settings, withdrawAnnouncements, rounds, secureRounds, aggregations, retention, jobs, evaluationSteps },
  ) => [
    { name: 'announcements', everyMs: 60_000, run: withdrawAnnouncements },
    {
      name: 'aggregation',
      everyMs: 1000,
      run: async () => {
        // Before rounds time out: a secure round knows better which of its devices did not do their part.
        await secureRounds.tick()
        await rounds.tick()
        await aggregations.run()
      },
    },
    {
      name: 'jobs',
      everyMs: 1000,
      run: async () => {
        // Its last evaluation may end a job.
        await evaluationSteps.tick()
        await jobs.tick()
      },
    },
    { name: 'new-rounds', everyMs: 500, run: rounds.watch },
    {
      name: 'model-retention',
      everyMs: HOUR_MS,
      run: async () => {
        await retention.retireStates(new Date(now().getTime() - config.jobStateRetentionDays * DAY_MS))
        await retention.retireModels(config.roundModelsKept)
      },
    },
    {
      name: 'update-retention',
      everyMs: HOUR_MS,
      run: async () => {
        const before = (days: number): Date => new Date(now().getTime() - days * DAY_MS)
        const ofOrgs = [...(await settings.all())].flatMap(([orgId, { updateRetentionDays: days }]) =>
          days === null ? [] : [[orgId, before(days)] as const],
        )
        await retention.retireUpdates(before(config.updateRetentionDays), new Map(ofOrgs))
        await secureRounds.retire()
      },
    },
  ],
}
