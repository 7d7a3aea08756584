import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { DestinationStream } from 'pino'
import { AggregationWorkers } from './aggregation/worker-pool.ts'
import { openFolderStore } from './blobs/folder-store.ts'
import { openPartialFiles } from './blobs/partial-files.ts'
import { startClockwork } from './clockwork.ts'
import type { Config } from './config.ts'
import { requireDataFolder } from './data-folder.ts'
import { migrate } from './db/migrate.ts'
import { MIGRATIONS } from './db/migrations/all.ts'
import { type Database, openDatabase } from './db/open.ts'
import { createAnalyticsService } from './features/analytics/analytics.service.ts'
import { createQueriesStore } from './features/analytics/queries.store.ts'
import { createReadingsStore } from './features/analytics/readings.store.ts'
import { createAssignmentsService } from './features/assignments/assignments.service.ts'
import { createDeliveryPlans } from './features/assignments/delivery-plans.service.ts'
import { createPlansStore } from './features/assignments/plans.store.ts'
import { createReportsStore } from './features/assignments/reports.store.ts'
import { createBenchmarksService } from './features/benchmarks/benchmarks.service.ts'
import { createBenchmarksStore } from './features/benchmarks/benchmarks.store.ts'
import { createDeploymentsService } from './features/deployments/deployments.service.ts'
import { createDeploymentsStore } from './features/deployments/deployments.store.ts'
import { createDevicesService } from './features/devices/devices.service.ts'
import { createDevicesStore } from './features/devices/devices.store.ts'
import { createExperimentsService } from './features/experiments/experiments.service.ts'
import { createExperimentsStore } from './features/experiments/experiments.store.ts'
import { createObservationsService } from './features/experiments/observations.service.ts'
import { createObservationsStore } from './features/experiments/observations.store.ts'
import { createFederationsService } from './features/federations/federations.service.ts'
import { createFederationsStore } from './features/federations/federations.store.ts'
import { createLedger } from './features/federations/ledger.service.ts'
import { createLedgerStore } from './features/federations/ledger.store.ts'
import { createMembersStore } from './features/federations/members.store.ts'
import { createPrivacyService } from './features/federations/privacy.service.ts'
import { createSharedModelsStore } from './features/federations/shared-models.store.ts'
import { createFilesService } from './features/files/files.service.ts'
import { createFilesStore } from './features/files/files.store.ts'
import { createGroupsService } from './features/groups/groups.service.ts'
import { createGroupsStore } from './features/groups/groups.store.ts'
import { createHeartbeatsService } from './features/heartbeats/heartbeats.service.ts'
import { createHeartbeatsStore } from './features/heartbeats/heartbeats.store.ts'
import { createJobPlans } from './features/jobs/job-plans.service.ts'
import { createJobProgress } from './features/jobs/job-progress.service.ts'
import { createJobsService } from './features/jobs/jobs.service.ts'
import { createJobsStore } from './features/jobs/jobs.store.ts'
import { createKeysService } from './features/keys/keys.service.ts'
import { createKeysStore } from './features/keys/keys.store.ts'
import { createLoginService } from './features/login/login.service.ts'
import { createLoginStore } from './features/login/login.store.ts'
import { createModelsService } from './features/models/models.service.ts'
import { createModelsStore } from './features/models/models.store.ts'
import { recogniseFile } from './features/models/recognise.ts'
import { createOrgsService } from './features/orgs/orgs.service.ts'
import { createOrgsStore } from './features/orgs/orgs.store.ts'
import { createPairingsService } from './features/pairings/pairings.service.ts'
import { createPairingsStore } from './features/pairings/pairings.store.ts'
import { createPoliciesService } from './features/policies/policies.service.ts'
import { createPoliciesStore } from './features/policies/policies.store.ts'
import { createRateLimitsStore } from './features/rate-limits/rate-limits.store.ts'
import { createRolloutsService } from './features/rollouts/rollouts.service.ts'
import { createRolloutsStore } from './features/rollouts/rollouts.store.ts'
import { createAggregationsService } from './features/rounds/aggregations.service.ts'
import { createCombinations } from './features/rounds/combinations.service.ts'
import { createLeasesStore } from './features/rounds/leases.store.ts'
import { createParticipantsStore } from './features/rounds/participants.store.ts'
import { createRoundEndings } from './features/rounds/round-endings.service.ts'
import { createRoundReach } from './features/rounds/round-reach.service.ts'
import { createRoundSignal } from './features/rounds/round-signal.ts'
import { createRoundStarts } from './features/rounds/round-starts.service.ts'
import { createRoundsService } from './features/rounds/rounds.service.ts'
import { createRoundsStore } from './features/rounds/rounds.store.ts'
import { createSelectionStore } from './features/rounds/selection.store.ts'
import { createUpdateAdmission } from './features/rounds/update-admission.service.ts'
import { createUpdatesService } from './features/rounds/updates.service.ts'
import { createUpdatesStore } from './features/rounds/updates.store.ts'
import { createSecureRoundsService } from './features/secure-rounds/secure-rounds.service.ts'
import { createSecureRoundsStore } from './features/secure-rounds/secure-rounds.store.ts'
import { createSecureSteps } from './features/secure-rounds/secure-steps.service.ts'
import { createSecureSums } from './features/secure-rounds/secure-sums.service.ts'
import { createSystemService } from './features/system/system.service.ts'
import { createUploadsService } from './features/uploads/uploads.service.ts'
import type { App } from './http/app.ts'
import { createMetrics } from './http/metrics.ts'
import { createLogger } from './http/request-log.ts'
import { buildServer } from './http/server.ts'
import { registerRoutes } from './routes.ts'
import { VERSION } from './version.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** What differs between a real start and a test: the clock, chance, and where the log goes. */
export interface Surroundings {
  readonly now?: () => Date
  readonly newId?: () => string
  readonly random?: () => number
  readonly logDestination?: DestinationStream
  /** Called when the service cannot go on: its database has died. */
  readonly onFatal?: (error: Error) => void
  /** An open database to work on, instead of the one that the settings name. */
  readonly database?: Database
  /** Threads to work with, instead of its own; `close` leaves them running. */
  readonly workers?: AggregationWorkers
}

export interface Service {
  /** Ready to `listen` or to be asked in-process. */
  readonly app: App
  /** The admin key that the first start under token enrolment makes; shown once. */
  readonly firstAdminKey: string | null
  /** Moves due rounds and plans on and aggregates what waits, now; what the clockwork does by itself. */
  settle(): Promise<void>
  /** Lets go of what has been kept long enough, now; what the clockwork does by itself every hour. */
  tidy(): Promise<void>
  /** Finishes requests and jobs in flight, then closes everything. */
  close(): Promise<void>
}

/** Builds the control plane. The only place where its parts are constructed and handed to each other. */
export const compose = async (config: Config, surroundings: Surroundings = {}): Promise<Service> => {
  const now = surroundings.now ?? (() => new Date())
  const newId = surroundings.newId ?? randomUUID
  const random = surroundings.random ?? Math.random
  const { enrollment } = config
  const log = createLogger({
    level: config.logLevel,
    ...(surroundings.logDestination && { destination: surroundings.logDestination }),
  })

  const blobsFolder = join(config.dataDir, 'blobs')
  await requireDataFolder(config.dataDir)
  await requireDataFolder(blobsFolder)
  const database =
    surroundings.database ??
    (await openDatabase({
      url: config.databaseUrl,
      dataDir: config.dataDir,
      log,
      ...(surroundings.onFatal && { onFatal: surroundings.onFatal }),
    }))
  await migrate(database, MIGRATIONS)
  const blobs = await openFolderStore(blobsFolder)
  const partials = await openPartialFiles(blobsFolder)
  const workers = surroundings.workers ?? new AggregationWorkers()
  const metrics = createMetrics()

  const files = createFilesService({ database, store: createFilesStore(), blobs, now })
  const uploads = createUploadsService({ partials, blobs, maxBytes: config.maxUploadBytes, now })
  const keys = createKeysService({ database, store: createKeysStore(), enrollment, now, newId })
  const devices = createDevicesService({ database, store: createDevicesStore(), keys, enrollment, now, newId })
  const changes = createRoundSignal()
  const rolloutsStore = createRolloutsStore()
  const deploymentsStore = createDeploymentsStore()
  const experimentsStore = createExperimentsStore()
  const plans = createDeliveryPlans({
    database,
    store: createPlansStore(),
    sources: [rolloutsStore, deploymentsStore, experimentsStore],
    unboundReachAll: enrollment === 'open',
    changed: () => changes.fire('plans'),
  })
  const groups = createGroupsService({ database, store: createGroupsStore(), plans, devices, now, newId })
  const sharedModels = createSharedModelsStore()
  const models = createModelsService({
    database,
    store: createModelsStore(),
    shared: sharedModels,
    files,
    plans,
    recognise: recogniseFile,
    now,
    newId,
  })
  const ledgerStore = createLedgerStore()
  const ledger = createLedger({ store: ledgerStore, now, newId })
  const federations = createFederationsService({
    database,
    store: createFederationsStore(),
    members: createMembersStore(),
    sharedModels,
    models,
    now,
    newId,
  })
  const privacy = createPrivacyService({ database, store: ledgerStore, ledger, federations, now })
  const analytics = createAnalyticsService({
    database,
    queries: createQueriesStore(),
    readings: createReadingsStore(),
    federations,
    now,
    newId,
  })
  const roundsStore = createRoundsStore()
  const participants = createParticipantsStore()
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
    store: roundsStore,
    selection: createSelectionStore(),
    participants,
    ledger,
    secure: secureSteps,
    random,
    graceSeconds: config.stragglerGraceSeconds,
    now,
    newId,
  })
  const rounds = createRoundsService({
    database,
    store: roundsStore,
    participants,
    models,
    devices,
    reaching: createRoundReach({ database, groups, federations }),
    starts,
    secure: secureSteps,
    endings,
    changes,
    now,
  })
  const secureRounds = createSecureRoundsService({
    database,
    store: secureStore,
    rounds,
    endings,
    collected: () => void clockwork.wake('aggregation'),
    now,
  })
  const combinations = createCombinations({
    blobs,
    workers,
    sums: createSecureSums({ database, store: secureStore }),
  })
  const updatesStore = createUpdatesStore()
  const jobPlans = createJobPlans({
    database,
    models,
    rounds,
    starts,
    secure: secureSteps,
    isReadable: combinations.isReadable,
    ledger,
  })
  const jobs = createJobsService({
    database,
    store: jobsStore,
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
    combinations,
    endings,
    rounds,
    models,
    files,
    log,
    ended: () => void clockwork.wake('jobs'),
    now,
  })
  const experiments = createExperimentsService({
    database,
    store: experimentsStore,
    plans,
    models,
    groups,
    now,
    newId,
  })
  const observations = createObservationsService({
    database,
    store: createObservationsStore(),
    experiments,
    plans,
    devices,
    now,
  })
  const updates = createUpdatesService({
    database,
    store: roundsStore,
    participants,
    updates: updatesStore,
    admission: createUpdateAdmission({
      database,
      store: roundsStore,
      participants,
      updates: updatesStore,
      blobs,
      workers,
      now,
    }),
    rounds,
    endings,
    secure: secureSteps,
    files,
    observations,
    collected: () => void clockwork.wake('aggregation'),
    now,
    newId,
  })
  const assignments = createAssignmentsService({
    database,
    store: createReportsStore(),
    plans,
    devices,
    reported: async (planIds) => {
      await rollouts.reported(planIds)
      await deployments.reported(planIds)
    },
    now,
  })
  const rollouts = createRolloutsService({
    database,
    store: rolloutsStore,
    plans,
    assignments,
    models,
    devices,
    groups,
    now,
    newId,
  })
  const deployments = createDeploymentsService({
    database,
    store: deploymentsStore,
    plans,
    models,
    groups,
    now,
    newId,
  })
  const pairings = createPairingsService({ database, store: createPairingsStore(), devices, deployments, now, newId })
  const policies = createPoliciesService({
    database,
    store: createPoliciesStore(),
    plans,
    models,
    rollouts,
    groups,
    log,
    now,
    newId,
  })
  const heartbeats = createHeartbeatsService({
    database,
    store: createHeartbeatsStore(),
    devices,
    rounds,
    plans,
    activeDevices: async () => (await devices.census({ keyId: '', orgId: null, deviceId: null, grants: [] })).active,
    random,
    now,
  })
  const system = createSystemService({ devices, models, rounds })
  const orgs = createOrgsService({ database, store: createOrgsStore(), now })
  const benchmarks = createBenchmarksService({ database, store: createBenchmarksStore(), now, newId })
  const login = createLoginService({ database, store: createLoginStore(), keys, enrollment, now })
  const rateLimits = createRateLimitsStore()

  if (database.kind === 'embedded') {
    // Nobody else can have this folder open: what a killed process left half done is nobody's.
    await aggregations.forgetDeadHolders()
    await blobs.sweep(new Date())
    await partials.forgetWriters()
  }
  await plans.refresh()
  const firstAdminKey = enrollment === 'token' ? await keys.ensureAdmin() : null

  const clockwork = startClockwork(
    [
      {
        name: 'aggregation',
        everyMs: 1000,
        run: async () => {
          // Before rounds time out: a secure round knows better what it was that nobody did.
          await secureRounds.tick()
          await rounds.tick()
          await aggregations.run()
        },
      },
      { name: 'jobs', everyMs: 1000, run: jobs.tick },
      { name: 'delivery', everyMs: 1000, run: () => Promise.all([rollouts.tick(), deployments.tick()]) },
      { name: 'policies', everyMs: 5000, run: policies.tick },
      { name: 'watch', everyMs: 500, run: () => Promise.all([rounds.watch(), plans.refresh()]) },
      { name: 'key-uses', everyMs: 30_000, run: keys.flushUses },
      {
        name: 'retention',
        everyMs: DAY_MS / 24,
        run: async () => {
          await aggregations.retire(new Date(now().getTime() - config.updateRetentionDays * DAY_MS))
          await secureRounds.retire()
          await files.collectGarbage()
          await uploads.expire()
          await rateLimits.forgetOld(database.sql, now())
        },
      },
    ],
    log,
  )

  const app = await buildServer({
    log: {
      level: config.logLevel,
      ...(surroundings.logDestination && { destination: surroundings.logDestination }),
    },
    authenticate: keys.authenticate,
    metrics,
    rateLimit: {
      perMinute: config.rateLimitPerMinute,
      sync: database.kind === 'postgres' ? { exchange: (deltas) => rateLimits.add(database.sql, deltas, now()) } : null,
    },
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    version: VERSION,
    readiness: { database: () => rounds.tick() },
    now: () => now().getTime(),
  })
  await registerRoutes(app, {
    system,
    devices,
    groups,
    heartbeats,
    assignments,
    rollouts,
    deployments,
    experiments,
    observations,
    pairings,
    policies,
    federations,
    privacy,
    analytics,
    models,
    rounds,
    secureRounds,
    updates,
    aggregations,
    jobs,
    keys,
    orgs,
    benchmarks,
    login,
    uploads,
    blobs,
    maxUploadBytes: config.maxUploadBytes,
    enrollment,
    version: VERSION,
    now,
  })
  void clockwork.wake('aggregation')

  return {
    app,
    firstAdminKey,
    async settle() {
      await clockwork.wake('aggregation')
      await clockwork.wake('jobs')
      await clockwork.wake('delivery')
      await clockwork.wake('policies')
    },
    tidy: () => clockwork.wake('retention'),
    async close() {
      rounds.changes.close()
      await app.close()
      await clockwork.stop()
      if (surroundings.workers === undefined) await workers.close()
      await keys.flushUses()
      await database.close()
    },
  }
}
