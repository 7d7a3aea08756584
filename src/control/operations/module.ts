import { VERSION } from '../../version.ts'
import type { Access } from '../access/module.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import type { Training } from '../training/module.ts'
import { createEventTail } from './events/event-tail.service.ts'
import { eventsRoutes } from './events/events.routes.ts'
import { createEvents } from './events/events.service.ts'
import { createOutbox } from './events/outbox.service.ts'
import { createOutboxStore } from './events/outbox.store.ts'
import { createStateMetrics } from './metrics/state-metrics.service.ts'
import { systemRoutes } from './system/system.routes.ts'
import { createSystemService } from './system/system.service.ts'

const HOUR_MS = 60 * 60 * 1000

interface Earlier {
  readonly access: Access
  readonly catalog: Catalog
  readonly fleet: Fleet
  readonly training: Training
}

const create = ({ database, events: bus, log, now }: Context, { access, catalog, fleet, training }: Earlier) => {
  const store = createOutboxStore()
  const tail = createEventTail({ database, store, log })
  return {
    system: createSystemService({ devices: fleet.devices, models: catalog.models, rounds: training.rounds }),
    metrics: createStateMetrics({ database, now }),
    outbox: createOutbox({ database, store, events: bus, now }),
    tail,
    events: createEvents({ database, store, tail, isStillIn: access.sessions.isStillIn, now }),
  }
}

/** Health and status of the service, and the stream of what changes in it. */
export type Operations = ReturnType<typeof create>

export const operations: Module<Operations, Earlier> = {
  description: 'Health, status and the event stream',
  tables: ['events_outbox'],
  create,
  routes(app, { system, events }, { now }) {
    systemRoutes(app, system, { version: VERSION, now })
    eventsRoutes(app, events)
  },
  tasks: (_context, { outbox }) => [
    { name: 'event-hints', everyMs: 1000, run: outbox.flush },
    { name: 'event-retention', everyMs: HOUR_MS, run: outbox.retire },
  ],
}
