import type { Config } from '../config.ts'
import { watchRoom } from '../platform/data-folder.ts'
import type { App } from '../platform/http/app.ts'
import { createMetrics } from '../platform/http/metrics.ts'
import { buildServer } from '../platform/http/server.ts'
import { VERSION } from '../version.ts'
import { createRateLimitsStore } from './access/rate-limits/rate-limits.store.ts'
import { composeCatalogue } from './compose/catalogue.ts'
import { composeDelivery } from './compose/delivery.ts'
import { openFoundation, type Surroundings } from './compose/foundation.ts'
import { composeTraining } from './compose/training.ts'
import { createHeartbeatsService } from './fleet/heartbeats/heartbeats.service.ts'
import { createHeartbeatsStore } from './fleet/heartbeats/heartbeats.store.ts'
import { createSystemService } from './operations/system/system.service.ts'
import { startClockwork } from './periodic-tasks.ts'
import { registerRoutes } from './routes.ts'
import { createRoundSignal } from './training/rounds/round-signal.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

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

/** Builds the control plane. Here and in `compose/` alone its parts are constructed and handed to each other. */
export const compose = async (config: Config, surroundings: Surroundings = {}): Promise<Service> => {
  const foundation = await openFoundation(config, surroundings)
  const { database, blobs, partials, log, random, now } = foundation
  const { enrollment } = config

  const changes = createRoundSignal()
  const catalogue = composeCatalogue(foundation, changes)
  const { devices, files, keys, models, plans, uploads } = catalogue
  const delivery = composeDelivery(foundation, catalogue)
  const { rollouts, deployments, policies } = delivery
  const training = composeTraining(foundation, catalogue, {
    observations: delivery.observations,
    changes,
    wake: (name) => void clockwork.wake(name),
  })
  const { aggregations, jobs, rounds, secureRounds } = training
  const heartbeats = createHeartbeatsService({
    database,
    store: createHeartbeatsStore(),
    devices,
    changes,
    participation: training.participation,
    plans,
    activeDevices: async () => (await devices.census({ keyId: '', orgId: null, deviceId: null, grants: [] })).active,
    random,
    now,
  })
  const system = createSystemService({ devices, models, rounds })
  const rateLimits = createRateLimitsStore()

  if (database.kind === 'embedded') {
    // Nobody else can have this folder open: what a killed process left half done is nobody's.
    await aggregations.forgetDeadHolders()
    await blobs.sweep(new Date())
    await partials.forgetWriters()
  }
  if (enrollment === 'token') await catalogue.orgs.ensureDefault()
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
        everyMs: HOUR_MS,
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
    log: { level: config.logLevel },
    authenticate: keys.authenticate,
    metrics: createMetrics(),
    rateLimit: {
      perMinute: config.rateLimitPerMinute,
      sync: database.kind === 'postgres' ? { exchange: (deltas) => rateLimits.add(database.sql, deltas, now()) } : null,
    },
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    closed: enrollment === 'token',
    hostGuard: enrollment === 'open' ? { host: config.host, publicUrl: config.publicUrl } : null,
    version: VERSION,
    readiness: { database: () => rounds.tick(), disk: watchRoom(config.dataDir) },
    now: () => now().getTime(),
  })
  await registerRoutes(app, {
    ...catalogue,
    ...delivery,
    ...training,
    system,
    heartbeats,
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
      for (const name of ['aggregation', 'jobs', 'delivery', 'policies']) await clockwork.wake(name)
    },
    tidy: () => clockwork.wake('retention'),
    async close() {
      changes.close()
      await foundation.closeAccounting()
      await app.close()
      await clockwork.stop()
      await keys.flushUses()
      await foundation.close()
    },
  }
}
