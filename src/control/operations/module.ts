import { VERSION } from '../../version.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import type { Training } from '../training/module.ts'
import { systemRoutes } from './system/system.routes.ts'
import { createSystemService } from './system/system.service.ts'

interface Earlier {
  readonly catalog: Catalog
  readonly fleet: Fleet
  readonly training: Training
}

const create = (_context: Context, { catalog, fleet, training }: Earlier) => ({
  system: createSystemService({ devices: fleet.devices, models: catalog.models, rounds: training.rounds }),
})

/** Health and status of the service. */
export type Operations = ReturnType<typeof create>

export const operations: Module<Operations, Earlier> = {
  tables: [],
  create,
  routes: (app, { system }, { now }) => systemRoutes(app, system, { version: VERSION, now }),
}
