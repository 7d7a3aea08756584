import { VERSION } from '../../version.ts'
import type { Access } from '../access/module.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import type { Training } from '../training/module.ts'
import { backupsRoutes } from './backups/backups.routes.ts'
import { createBackups } from './backups/backups.service.ts'
import { createBackupsStore, whileRunning } from './backups/backups.store.ts'
import { createEventTail } from './events/event-tail.service.ts'
import { eventsRoutes } from './events/events.routes.ts'
import { createEvents } from './events/events.service.ts'
import { createOutbox } from './events/outbox.service.ts'
import { createOutboxStore } from './events/outbox.store.ts'
import { createDeliveries } from './integrations/deliveries.service.ts'
import { createDeliveriesStore } from './integrations/deliveries.store.ts'
import { createIntegrationWork } from './integrations/integration-work.report.ts'
import { integrationActionsRoutes, integrationsRoutes } from './integrations/integrations.routes.ts'
import { createIntegrations } from './integrations/integrations.service.ts'
import { createIntegrationsStore, hasIntegrations } from './integrations/integrations.store.ts'
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
  readonly fleet: Fleet
  readonly training: Training
}

const create = (context: Context, { access, catalog, fleet, training }: Earlier) => {
  const { config, database, blobs, secrets, events: bus, log, now, newId } = context
  const store = createOutboxStore()
  const metrics = createStateMetrics({ database, now })
  const receivers = {
    database,
    store: createIntegrationsStore(),
    deliveryStore: createDeliveriesStore(),
    secrets,
    allowPrivate: config.integrationsPrivate === 'allow',
    now,
  }
  const work = createIntegrationWork()
  const runs = createTrainingRuns({ ...receivers, work, models: catalog.models, shownRounds: training.shownRounds })
  const logEvents = createLogEvents({ ...receivers, audit: access.audit, presentEntry: access.presentEntry })
  const deliveries = createDeliveries({ ...receivers, work, events: logEvents, metrics, runs, log })
  const tail = createEventTail({ database, store, log })
  const backups = createBackups({
    config,
    database,
    blobs,
    files: catalog.files,
    store: createBackupsStore(),
    log,
    now,
    newId,
  })
  catalog.files.keepAllWhile(whileRunning)
  catalog.scrubs.addSpareCopies(backups.readStored)
  access.keyFiles.countAsUse(hasIntegrations)
  return {
    system: createSystemService({ devices: fleet.devices, models: catalog.models, rounds: training.rounds }),
    metrics,
    backups,
    deliveries,
    integrations: createIntegrations({
      ...receivers,
      work,
      auditEnds: access.audit.ends,
      deliveries,
      lastEvent: () => store.head(database.sql),
      newId,
    }),
    outbox: createOutbox({ database, store, events: bus, now }),
    tail,
    events: createEvents({ database, store, tail, isStillIn: access.sessions.isStillIn }),
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
