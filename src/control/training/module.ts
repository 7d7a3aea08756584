import type { App } from '../../platform/http/app.ts'
import { acceptUploads } from '../../platform/http/upload.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Delivery } from '../delivery/module.ts'
import type { Federations } from '../federations/module.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import { createJobPlans } from './jobs/job-plans.service.ts'
import { createJobProgress } from './jobs/job-progress.service.ts'
import { createJobsReport } from './jobs/jobs.report.ts'
import { jobsRoutes } from './jobs/jobs.routes.ts'
import { createJobsService } from './jobs/jobs.service.ts'
import { createJobsStore } from './jobs/jobs.store.ts'
import { createAbsentDevicesStore } from './rounds/absent-devices.store.ts'
import { createAggregationsService } from './rounds/aggregations.service.ts'
import { createCombinations } from './rounds/combinations.service.ts'
import { createLeasesStore } from './rounds/leases.store.ts'
import { createModelContents } from './rounds/model-content.service.ts'
import { createParticipantsReport } from './rounds/participants.report.ts'
import { participantsRoutes } from './rounds/participants.routes.ts'
import { createParticipantsStore } from './rounds/participants.store.ts'
import { participationRoutes } from './rounds/participation.routes.ts'
import { createParticipation } from './rounds/participation.service.ts'
import { receiptsRoutes } from './rounds/receipts.routes.ts'
import { createRoundEndings } from './rounds/round-endings.service.ts'
import { createRoundReach } from './rounds/round-reach.service.ts'
import { createRoundReviews } from './rounds/round-reviews.service.ts'
import { createRoundStarts } from './rounds/round-starts.service.ts'
import { createRoundsReport } from './rounds/rounds.report.ts'
import { roundsRoutes } from './rounds/rounds.routes.ts'
import { createRoundsService } from './rounds/rounds.service.ts'
import { createRoundsStore } from './rounds/rounds.store.ts'
import { createUpdateAcceptance } from './rounds/update-acceptance.service.ts'
import { createUpdateAdmission } from './rounds/update-admission.service.ts'
import { createUpdatesReport } from './rounds/updates.report.ts'
import { updatesRoutes } from './rounds/updates.routes.ts'
import { createUpdatesService } from './rounds/updates.service.ts'
import { createUpdatesStore } from './rounds/updates.store.ts'
import { secureRoundsRoutes } from './secure-rounds/secure-rounds.routes.ts'
import { createSecureRoundsService } from './secure-rounds/secure-rounds.service.ts'
import { createSecureRoundsStore } from './secure-rounds/secure-rounds.store.ts'
import { createSecureSteps } from './secure-rounds/secure-steps.service.ts'
import { createSecureSums } from './secure-rounds/secure-sums.service.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

interface Earlier {
  readonly catalog: Catalog
  readonly federations: Federations
  readonly fleet: Fleet
  readonly delivery: Delivery
}

const create = (context: Context, earlier: Earlier) => {
  const { config, database, blobs, workers, events, changes, log, random, now, newId } = context
  const { files, models } = earlier.catalog
  const { federations, ledger } = earlier.federations
  const { devices, groups, heartbeats, selection, draws } = earlier.fleet
  const { observations } = earlier.delivery
  const roundsStore = createRoundsStore()
  const roundsReport = createRoundsReport()
  const participants = createParticipantsStore(selection)
  const absent = createAbsentDevicesStore(selection)
  const jobsStore = createJobsStore()
  const jobProgress = createJobProgress({ store: jobsStore, now })
  const endings = createRoundEndings({
    store: roundsStore,
    participants,
    ledger,
    sharing: federations,
    follower: jobProgress.follower,
    now,
  })
  const secureStore = createSecureRoundsStore()
  const secureSteps = createSecureSteps({ store: secureStore, blobs, workers, now })
  const starts = createRoundStarts({
    database,
    store: roundsStore,
    selection,
    participants,
    draws,
    endings,
    ledger,
    secure: secureSteps,
    random,
    graceSeconds: config.stragglerGraceSeconds,
    now,
    newId,
  })
  const reaching = createRoundReach({ database, groups, federations })
  const { scopeOf } = reaching
  const reviews = createRoundReviews({ store: roundsStore, absent, selection, endings, scopeOf, now })
  const contents = createModelContents({ blobs, workers })
  const rounds = createRoundsService({
    database,
    store: roundsStore,
    report: roundsReport,
    models,
    contents,
    reaching,
    starts,
    secure: secureSteps,
    endings,
    reviews,
    absent,
    changes,
    now,
  })
  const participation = createParticipation({
    database,
    roundsReport,
    participants,
    participantsReport: createParticipantsReport(),
    absent,
    rounds,
    models,
    devices,
    now,
  })
  const secureRounds = createSecureRoundsService({
    database,
    store: secureStore,
    rounds,
    endings,
    events,
    now,
  })
  const combinations = createCombinations({
    blobs,
    workers,
    contents,
    sums: createSecureSums({ database, store: secureStore }),
  })
  const updatesStore = createUpdatesStore()
  const updatesReport = createUpdatesReport()
  const jobPlans = createJobPlans({
    database,
    models,
    rounds,
    starts,
    secure: secureSteps,
    contents,
    ledger,
  })
  const jobs = createJobsService({
    database,
    store: jobsStore,
    report: createJobsReport(),
    progress: jobProgress,
    plan: jobPlans.plan,
    rounds,
    starts,
    secure: secureSteps,
    endings,
    models,
    log,
    now,
    newId,
  })
  const aggregations = createAggregationsService({
    database,
    store: roundsStore,
    leases: createLeasesStore(),
    updates: updatesStore,
    updatesReport,
    combinations,
    endings,
    rounds,
    models,
    files,
    log,
    events,
    now,
  })
  const updates = createUpdatesService({
    database,
    store: roundsStore,
    participants,
    updates: updatesReport,
    reviews,
    admission: createUpdateAdmission({ database, participants, updates: updatesStore, workers, contents }),
    acceptance: createUpdateAcceptance({
      database,
      store: roundsStore,
      participants,
      updates: updatesStore,
      endings,
      secure: secureSteps,
      observations,
      now,
      newId,
    }),
    rounds,
    secure: secureSteps,
    files,
    events,
    now,
  })
  heartbeats.contribute({ join: participation.join })
  return { rounds, participation, secureRounds, updates, aggregations, jobs }
}

/** How models are trained: rounds, jobs of many rounds, secure aggregation, and what is made of the updates. */
export type Training = ReturnType<typeof create>

export const training: Module<Training, Earlier> = {
  tables: ['rounds', 'round_participants', 'updates', 'training_jobs', 'secure_rounds', 'secure_messages'],
  create,
  async routes(app, { rounds, participation, secureRounds, updates, aggregations, jobs }, { blobs, config }) {
    roundsRoutes(app, rounds)
    participationRoutes(app, participation, blobs)
    participantsRoutes(app, participation)
    receiptsRoutes(app, aggregations)
    secureRoundsRoutes(app, secureRounds)
    jobsRoutes(app, jobs)
    await app.register(async (scope: App) => {
      await acceptUploads(scope)
      updatesRoutes(scope, updates, rounds, { blobs, maxUploadBytes: config.maxUploadBytes })
    })
  },
  tasks: ({ config, now }, { rounds, secureRounds, aggregations, jobs }) => [
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
    { name: 'jobs', everyMs: 1000, run: jobs.tick },
    { name: 'new-rounds', everyMs: 500, run: rounds.watch },
    {
      name: 'update-retention',
      everyMs: HOUR_MS,
      run: async () => {
        await aggregations.retire(new Date(now().getTime() - config.updateRetentionDays * DAY_MS))
        await secureRounds.retire()
      },
    },
  ],
}
