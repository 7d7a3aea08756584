import { setTimeout } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { requireWritable } from '../platform/db/open.ts'
import type { App } from '../platform/http/app.ts'
import { createMetrics } from '../platform/http/metrics.ts'
import type { Phase } from '../platform/http/readiness.ts'
import type { RouteConfig } from '../platform/http/route-config.ts'
import { buildServer } from '../platform/http/server.ts'
import { VERSION } from '../version.ts'
import { auditRequests } from './access/audit/audit-requests.ts'
import { access } from './access/module.ts'
import { requireNativeCode } from './access/sign-in/passwords.service.ts'
import { analytics } from './analytics/module.ts'
import { catalog } from './catalog/module.ts'
import { type Context, type Dependencies, openContext, type Settings } from './context.ts'
import { CONTRACT } from './contract.ts'
import { watchFreeSpace } from './data-folder.ts'
import { delivery } from './delivery/module.ts'
import { federations } from './federations/module.ts'
import { fleet } from './fleet/module.ts'
import { inference } from './inference/module.ts'
import { registerProcessMetrics } from './operations/metrics/process-metrics.service.ts'
import { DATABASE_IS_DOWN } from './operations/metrics/state-metrics.service.ts'
import { operations } from './operations/module.ts'
import { runEach, startPeriodicTasks } from './periodic-tasks.ts'
import { training } from './training/module.ts'

/** The modules of the control plane in dependency order. No other file lists all of them. */
export const MODULES = { access, catalog, federations, fleet, delivery, training, analytics, inference, operations }

/** The groups of the API document. */
export const TAGS = Object.entries(MODULES).map(([name, { description }]) => ({ name, description }))

type Names = keyof typeof MODULES
type Parts = { readonly [Name in Names]: ReturnType<(typeof MODULES)[Name]['create']> }

export interface Service {
  /** Can `listen`, or be called in-process. */
  readonly app: App
  /**
   * Creates the admin key that the first start with token enrollment shows, once; otherwise returns null. Call it once the
   * service listens: a start that failed with a key made would have lost it. /ready waits for it.
   */
  createFirstAdminKey(): Promise<string | null>
  /** Advances due rounds and plans and runs pending aggregations now, as the periodic tasks do. */
  runDueTasks(): Promise<void>
  /** Applies retention now, as a periodic task does every hour. */
  runRetention(): Promise<void>
  /**
   * Reports not ready from now on; after the drain time, or a second call, finishes requests and work in
   * flight, then closes everything.
   */
  close(): Promise<void>
}

const HOUR_MS = 60 * 60 * 1000

/** Creates the modules, which start nothing by themselves. */
export const createParts = (context: Context): Parts => {
  const parts: Partial<Record<Names, unknown>> = {}
  for (const [name, module] of Object.entries(MODULES)) parts[name as Names] = module.create(context, parts as never)
  return parts as Parts
}

/** Registers every route. `parts` is null when only the API document is generated: registering does not use them. */
export const registerRoutes = async (app: App, parts: Parts | null, settings: Settings): Promise<void> => {
  for (const [name, module] of Object.entries(MODULES)) {
    const routes = async (scope: App): Promise<void> => {
      scope.addHook('onRoute', (route) => {
        route.schema = { ...route.schema, tags: [name] }
      })
      await module.routes(scope, (parts?.[name as Names] ?? {}) as never, settings)
    }
    // Without a name, Fastify looks for the function among the exports of all modules that are loaded.
    await app.register(Object.assign(routes, { [Symbol.for('fastify.display-name')]: name }))
  }
}

/** Prepares the modules for the first request. */
const prepare = async ({ config, database, blobs }: Context, parts: Parts): Promise<void> => {
  await parts.access.orgs.requireRegion()
  await parts.access.keyFiles.require()
  if (database.kind === 'embedded') {
    // No other process can have this folder open, so unfinished work belongs to a process that no longer exists.
    await parts.training.aggregationRuns.forgetDeadHolders()
    await parts.catalog.conversionRuns.forgetDeadHolders()
    await parts.operations.backups.forgetDeadHolders()
    await blobs.sweep(new Date())
    await parts.catalog.uploads.forgetDeadHolders()
  }
  if (database.kind === 'postgres') await parts.operations.outbox.takeOver()
  if (config.enrollment === 'token') await parts.access.orgs.ensureDefault()
  await parts.delivery.plans.refresh()
  await parts.catalog.scrubs.checkPlace()
}

const buildApp = async (context: Context, parts: Parts, phaseOf: () => Phase): Promise<App> => {
  const { config, database, now } = context
  const { keys, rateLimits, sessions } = parts.access
  const metrics = createMetrics()
  metrics.texts.push(parts.operations.metrics.text)
  metrics.outage = DATABASE_IS_DOWN
  registerProcessMetrics(metrics.registry, {
    load: database.load,
    updates: parts.training.updateCounts,
    blobs: context.blobs,
  })
  const app = await buildServer({
    log: { level: config.logLevel },
    certificate: config.certificate,
    authenticate: keys.authenticate,
    sessions: { authenticate: sessions.authenticate, publicUrl: config.publicUrl },
    metrics,
    rateLimit: {
      perMinute: config.rateLimitPerMinute,
      sync: database.kind === 'postgres' ? { exchange: (deltas) => rateLimits.add(database.sql, deltas, now()) } : null,
    },
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    hostGuard: config.enrollment === 'open' ? { host: config.host, publicUrl: config.publicUrl } : null,
    version: VERSION,
    tags: TAGS,
    contract: CONTRACT,
    webFolder: context.webFolder,
    closed: config.enrollment === 'token',
    readiness: {
      database: () => runEach(parts.training.due.isAny, () => requireWritable(database.sql)),
      disk: watchFreeSpace(config.dataDir),
    },
    phaseOf,
    now: () => now().getTime(),
  })
  auditRequests(app, parts.access.audit)
  // Flushes buffered heartbeats, so that reads include all that were already answered.
  app.addHook('preHandler', async ({ routeOptions }) => {
    const { access, flushHeartbeats } = routeOptions.config as Partial<RouteConfig>
    if (flushHeartbeats !== false && access !== 'public') await parts.fleet.heartbeats.flush()
  })
  await registerRoutes(app, parts, context)
  return app
}

/** Builds the control plane: opens the context, creates the modules on it, and starts their tasks. */
export const createControlPlane = async (config: Config, dependencies: Dependencies = {}): Promise<Service> => {
  // Before the database opens its files: with too few descriptors, the native code would seem to be missing.
  await requireNativeCode()
  const context = await openContext(config, dependencies)
  const { changes, log } = context
  const parts = createParts(context)
  await prepare(context, parts).catch(async (error: unknown) => {
    await context.close()
    throw error
  })
  const tasks = Object.entries(MODULES).flatMap(
    ([name, module]) => module.tasks?.(context, parts[name as Names] as never) ?? [],
  )
  const schedule = startPeriodicTasks(tasks, context.events, log)
  let closing: Promise<void> | null = null
  const drained = new AbortController()
  let isStarted = config.enrollment === 'open'
  const app = await buildApp(context, parts, () => (closing !== null ? 'stopping' : isStarted ? 'ready' : 'starting'))
  // Not awaited: the service starts without its backup target too.
  void parts.operations.backups.checkTarget()
  void schedule.wake('due-rounds')
  void schedule.wake('aggregation')

  const drain = () => setTimeout(config.drainSeconds * 1000, null, { signal: drained.signal }).catch(() => undefined)
  const shutDown = async (): Promise<void> => {
    changes.close()
    parts.operations.deliveries.close()
    await parts.operations.backups.close()
    await parts.operations.tail.close()
    await context.closeAccounting()
    parts.catalog.conversionRuns.close()
    parts.catalog.scrubs.close()
    await app.close()
    await schedule.stop()
    await context.events.settled()
    await parts.operations.deliveries.settled()
    try {
      await parts.fleet.heartbeats.close()
      await parts.access.keys.flushUses()
      await parts.access.auditChains.exportHeads()
    } finally {
      // If a full disk makes a write fail, the database must still be closed.
      await context.close()
    }
  }

  return {
    app,
    async createFirstAdminKey() {
      const key = config.enrollment === 'token' ? await parts.access.keys.ensureAdmin() : null
      isStarted = true
      return key
    },
    async runDueTasks() {
      for (const name of [
        'approvals',
        'due-rounds',
        'aggregation',
        'jobs',
        'rollouts',
        'deployments',
        'reported-plans',
        'policies',
        'estimates',
        'announcements',
        'group-filters',
        'event-hints',
        'integrations',
        'backups',
      ])
        await schedule.wake(name)
      await parts.operations.deliveries.settled()
    },
    async runRetention() {
      // Later modules first: whatever they release is then unreferenced, and earlier modules delete it in the same run.
      const hourly = tasks.filter(({ everyMs }) => everyMs === HOUR_MS)
      for (const { name } of hourly.reverse()) await schedule.wake(name)
    },
    close() {
      if (closing !== null) drained.abort()
      closing ??= drain().then(shutDown)
      return closing
    },
  }
}
