import type { Access } from '../access/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { devicesRoutes } from './devices/devices.routes.ts'
import { createDevicesService } from './devices/devices.service.ts'
import { createDevicesStore } from './devices/devices.store.ts'
import { groupsRoutes } from './groups/groups.routes.ts'
import { createGroupsService } from './groups/groups.service.ts'
import { createGroupsStore } from './groups/groups.store.ts'
import { heartbeatsRoutes } from './heartbeats/heartbeats.routes.ts'
import { createHeartbeatsService } from './heartbeats/heartbeats.service.ts'
import { createHeartbeatsStore } from './heartbeats/heartbeats.store.ts'
import { createPrivateDrawStore } from './selection/private-draw.store.ts'
import { createPrivateDraws } from './selection/private-draws.service.ts'
import { createSelectionStore } from './selection/selection.store.ts'

const create = (
  { config, database, changes, events, random, drawSeed, now, newId }: Context,
  { access }: { readonly access: Access },
) => {
  const { keys } = access
  const { enrollment } = config
  const devices = createDevicesService({ database, store: createDevicesStore(), keys, enrollment, now, newId })
  const groups = createGroupsService({ database, store: createGroupsStore(), events, devices, now, newId })
  const heartbeats = createHeartbeatsService({
    database,
    store: createHeartbeatsStore(),
    devices,
    changes,
    activeDevices: async () => (await devices.census({ keyId: '', orgId: null, deviceId: null, grants: [] })).active,
    random,
    now,
  })
  const draws = createPrivateDraws({ store: createPrivateDrawStore(), seed: drawSeed, now })
  return { devices, groups, heartbeats, selection: createSelectionStore(), draws }
}

/** Devices, their groups, their heartbeats, and which of them a round selects. */
export type Fleet = ReturnType<typeof create>

export const fleet: Module<Fleet, { readonly access: Access }> = {
  tables: ['devices', 'device_counts', 'device_groups', 'device_group_members'],
  create,
  routes(app, { devices, groups, heartbeats }, { now }) {
    devicesRoutes(app, devices, now)
    groupsRoutes(app, groups, now)
    heartbeatsRoutes(app, heartbeats, devices)
  },
}
