import { VERSION } from '../../version.ts'
import type { Access } from '../access/module.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Federations } from '../federations/module.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import type { Training } from '../training/module.ts'
import { backupsRoutes } from './backups/backups.routes.ts'
import { createBackups } from './backups/backups.service.ts'
import { whileRunning } from './backups/backups.store.ts'
import { createEventTail } from './events/event-tail.service.ts'
import { eventsRoutes } from './events/events.routes.ts'
import { createEvents } from './events/events.service.ts'
import { createOutbox } from './events/outbox.service.ts'
import { outboxStore } from './events/outbox.store.ts'
import { createDeliveries } from './integrations/deliveries.service.ts'
import { integrationActionsRoutes, integrationsRoutes } from './integrations/integrations.routes.ts'
import { createIntegrations } from './integrations/integrations.service.ts'
import { hasIntegrations } from './integrations/integrations.store.ts'
import { createLogEvents } from './integrations/log-events.service.ts'
import { createTrainingRuns } from './integrations/training-runs.service.ts'
import { createStateMetrics } from './metrics/state-metrics.service.ts'
import { systemRoutes } from './system/system.routes.ts'
import { createSystemService } from './system/system.service.ts'

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * 60 * 1000

interface Earlier {
  readonly access: Access
  readonly catalog: Catalog
  readonly federations: Federations
  readonly fleet: Fleet
  readonly training: Training
}

const create = (context: Context, { access, catalog, federations, fleet, training }: Earlier) => {
  const { config, database } = context
  const metrics = createStateMetrics(context, { privacy: federations.privacy })
  const allowPrivate = config.integrationsPrivate === 'allow'
  const runs = createTrainingRuns(context, {
    roundResults: catalog.roundResults,
    visibleRounds: training.visibleRounds,
  })
  const logEvents = createLogEvents(context, access)
  const deliveries = createDeliveries(context, { events: logEvents, metrics, runs, allowPrivate })
  const tail = createEventTail(context)
  const backups = createBackups(context, catalog)
  catalog.files.keepAllWhile(whileRunning)
  catalog.scrubs.addSpareCopies(backups.readStored)
  access.keyFiles.countAsUse(hasIntegrations)
  return {
    system: createSystemService({ devices: fleet.devices, models: catalog.models, rounds: training.rounds }),
    metrics,
    backups,
    deliveries,
    integrations: createIntegrations(context, {
      auditEnds: access.audit.ends,
      deliveries,
      lastEvent: () => outboxStore.head(database.sql),
      allowPrivate,
    }),
    outbox: createOutbox(context),
    tail,
    events: createEvents(context, { tail, isStillIn: access.sessions.isStillIn }),
  }
}

/** Health and status of the service, the event stream, integrations, and backups. */
export type Operations = ReturnType<typeof create>

export const operations: Module<Operations, Earlier> = {
  description: 'Health, status, the event stream, integrations, and backups',
  tables: ['events_outbox', 'integrations', 'integration_dead_letters', 'integration_runs', 'backups'],
  create,
  routes(app, { system, events, integrations, backups }, { now }) {
    systemRoutes(app, system, { version: VERSION, now })
    eventsRoutes(app, events)
    integrationsRoutes(app, integrations)
    integrationActionsRoutes(app, integrations)
    backupsRoutes(app, backups)
  },
  tasks: (_context, { outbox, deliveries, backups }) => [
    { name: 'event-hints', everyMs: 1000, run: outbox.flush },
    { name: 'integrations', everyMs: 1000, run: deliveries.tick },
    { name: 'backups', everyMs: MINUTE_MS, run: backups.tick },
    { name: 'event-retention', everyMs: HOUR_MS, run: outbox.retire },
  ],
}
