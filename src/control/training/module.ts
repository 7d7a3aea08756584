import type { App } from '../../platform/http/app.ts'
import { acceptUploads } from '../../platform/http/upload.ts'
import type { Context } from '../context.ts'
import { createDownloads } from '../downloads.ts'
import type { Module } from '../module.ts'
import { adoptTraining } from './adoption.store.ts'
import { trainingRowsOf, withdrawFromRounds } from './device-rows.store.ts'
import { createJobContinuations } from './jobs/job-continuations.service.ts'
import { createJobPlans } from './jobs/job-plans.service.ts'
import { createJobProgress } from './jobs/job-progress.service.ts'
import { createJobPublications } from './jobs/job-publications.service.ts'
import { createJobTurns } from './jobs/job-turns.service.ts'
import { createJobsReport } from './jobs/jobs.report.ts'
import { jobsRoutes } from './jobs/jobs.routes.ts'
import { createJobsService } from './jobs/jobs.service.ts'
import { createJobsStore } from './jobs/jobs.store.ts'
import { createVersionOrigins } from './jobs/version-origins.service.ts'
import { createAnnouncementsReport } from './rounds/announcements.report.ts'
import { contributionsTo } from './rounds/contributions.report.ts'
import { evaluationRoutes } from './rounds/evaluation.routes.ts'
import { trainingReferences } from './rounds/file-references.store.ts'
import { createModelRetention } from './rounds/model-retention.service.ts'
import { createModelRetentionStore, isTrained } from './rounds/model-retention.store.ts'
import { participantsRoutes } from './rounds/participants.routes.ts'
import { participationRoutes } from './rounds/participation.routes.ts'
import { undecidedRound } from './rounds/policy-rounds.report.ts'
import { receiptsRoutes } from './rounds/receipts.routes.ts'
import { createRoundValuesStore } from './rounds/round-values.store.ts'
import { composeRounds, composeUpdates, type Earlier } from './rounds/rounds.module.ts'
import { createRoundsReport } from './rounds/rounds.report.ts'
import { roundsRoutes } from './rounds/rounds.routes.ts'
import { createUpdateCounts } from './rounds/update-counts.service.ts'
import { updatesRoutes } from './rounds/updates.routes.ts'
import { secureRoundsRoutes } from './secure-rounds/secure-rounds.routes.ts'
import { createSecureRoundsService } from './secure-rounds/secure-rounds.service.ts'
import { createSecureRoundsStore } from './secure-rounds/secure-rounds.store.ts'
import { createSecureSteps } from './secure-rounds/secure-steps.service.ts'
import { createSecureSums } from './secure-rounds/secure-sums.service.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

const create = (context: Context, earlier: Earlier) => {
  const { database, blobs, workers, events, changes, log, now, newId } = context
  const { files, models, roundModels, lineage } = earlier.catalog
  const { ledger } = earlier.federations
  const { heartbeats, draws } = earlier.fleet
  const { policies } = earlier.delivery
  const secureStore = createSecureRoundsStore()
  const secure = createSecureSteps({ store: secureStore, blobs, workers, now })
  const sums = createSecureSums({ database, store: secureStore })
  const parts = composeRounds(context, earlier, secure)
  const { contents, endings, prices, starts, rounds, standalone, participation } = parts
  const { updates, aggregations, receipts, retention } = composeUpdates(context, earlier, { ...parts, secure, sums })
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
  const { valuesOf, metricsOf } = createRoundValuesStore()
  const publications = createJobPublications({ models, roundOf: createRoundsReport().thatMade, valuesOf })
  const progress = createJobProgress({
    store: jobsStore,
    events,
    valuesOf,
    metricsOf,
    publications,
    evaluations: parts.evaluationSteps,
    now,
  })
  const jobs = createJobsService({
    database,
    store: jobsStore,
    report: createJobsReport(),
    progress,
    plan: createJobPlans({ database, models, rounds, draws, secure, contents, ledger }).plan,
    turns: createJobTurns({ database, store: jobsStore, progress, rounds, starts, prices, secure, models, log, now }),
    continueJob: createJobContinuations({
      database,
      store: jobsStore,
      progress,
      rounds,
      draws,
      prices,
      ledger,
      models,
      now,
    }),
    rounds,
    prices,
    endings,
    models,
    now,
    newId,
  })
  const announcements = createAnnouncementsReport()
  events.inTransaction('unbound.adopted', (tx, { orgId }) => adoptTraining(tx, orgId))
  files.keepReferenced(trainingReferences)
  roundModels.keepUsed(isTrained)
  lineage.followTraining(createVersionOrigins({ database, store: jobsStore, rounds, prices }))
  earlier.federations.members.countContributions((federationId) => contributionsTo(database.sql, federationId))
  earlier.fleet.erasures.contribute({ rowsOf: trainingRowsOf, beforeErasure: withdrawFromRounds(now) })
  policies.followRounds(undecidedRound)
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
    settings: earlier.access.settings,
    withdrawAnnouncements,
    rounds,
    standalone,
    participation,
    secureRounds,
    updates,
    updateCounts: createUpdateCounts(),
    aggregations,
    receipts,
    retention,
    modelRetention: createModelRetention({ database, store: createModelRetentionStore(), roundModels, now }),
    jobs,
    evaluationSteps: parts.evaluationSteps,
  }
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
    const { rounds, standalone, participation, secureRounds, updates, updateCounts, receipts, jobs, evaluationSteps } =
      parts
    roundsRoutes(app, rounds, standalone)
    const downloads = createDownloads({ blobs, config })
    participationRoutes(app, participation, downloads)
    participantsRoutes(app, participation)
    evaluationRoutes(app, evaluationSteps, downloads)
    receiptsRoutes(app, receipts)
    secureRoundsRoutes(app, secureRounds)
    jobsRoutes(app, jobs)
    await app.register(async (scope: App) => {
      await acceptUploads(scope)
      updatesRoutes(scope, updates, rounds, updateCounts, { blobs, maxUploadBytes: config.maxUploadBytes })
    })
  },
  tasks: (
    { config, now },
    {
      settings,
      withdrawAnnouncements,
      rounds,
      secureRounds,
      aggregations,
      retention,
      modelRetention,
      jobs,
      evaluationSteps,
    },
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
        await modelRetention.retireStates(new Date(now().getTime() - config.jobStateRetentionDays * DAY_MS))
        await modelRetention.retireModels(config.roundModelsKept)
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
        await retention.retire(before(config.updateRetentionDays), new Map(ofOrgs))
        await secureRounds.retire()
      },
    },
  ],
}
