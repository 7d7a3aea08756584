import type { Access } from '../access/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { createDeviceSearch } from './devices/device-search.service.ts'
import { deviceSearchRoutes, devicesRoutes } from './devices/devices.routes.ts'
import { createDevicesService } from './devices/devices.service.ts'
import { createDevicesStore } from './devices/devices.store.ts'
import { erasuresRoutes } from './erasures/erasures.routes.ts'
import { createDeviceHash, createErasures } from './erasures/erasures.service.ts'
import { erasuresStore, fleetRowsOf } from './erasures/erasures.store.ts'
import { createDynamicGroups } from './groups/dynamic-groups.service.ts'
import { groupsRoutes } from './groups/groups.routes.ts'
import { createGroupsService } from './groups/groups.service.ts'
import { heartbeatsRoutes } from './heartbeats/heartbeats.routes.ts'
import { createHeartbeatsService } from './heartbeats/heartbeats.service.ts'
import { createPrivateDraws } from './selection/selection.service.ts'

const HOUR_MS = 60 * 60 * 1000

const create = (context: Context, { access }: { readonly access: Access }) => {
  const { database, events } = context
  const { audit, keys, signer } = access
  const devicesStore = createDevicesStore(keys)
  const deviceHash = createDeviceHash(signer)
  const dynamicGroups = createDynamicGroups(context)
  const devices = createDevicesService(context, {
    store: devicesStore,
    isErased: async (orgId, deviceId) => erasuresStore.isErased(database.sql, await deviceHash(orgId, deviceId)),
    keys,
    regroup: dynamicGroups.registered,
  })
  const groups = createGroupsService(context, { devices, dynamicGroups })
  const heartbeats = createHeartbeatsService(context, { devices, regroup: dynamicGroups.changed })
  const erasures = createErasures(context, { devices, heartbeats, keys, audit, signer, deviceHash })
  erasures.contribute({ rowsOf: fleetRowsOf, beforeErasure: erasuresStore.leaveGroups })
  events.inTransaction('unbound.adopted', async (tx, { orgId }) => {
    await devicesStore.adopt(tx, orgId)
    await erasuresStore.adopt(tx, orgId)
  })
  const draws = createPrivateDraws(context)
  const deviceSearch = createDeviceSearch(context)
  return { devices, erasures, deviceSearch, groups, dynamicGroups, heartbeats, draws }
}

/** Devices, their groups, their heartbeats, and their selection for rounds. */
export type Fleet = ReturnType<typeof create>

export const fleet: Module<Fleet, { readonly access: Access }> = {
  description: 'Devices, heartbeats, and device groups',
  tables: ['devices', 'device_counts', 'device_groups', 'device_group_members', 'announcements', 'device_erasures'],
  create,
  routes(app, { devices, erasures, deviceSearch, groups, heartbeats }, { now }) {
    devicesRoutes(app, devices, now)
    erasuresRoutes(app, erasures, now)
    deviceSearchRoutes(app, deviceSearch, now)
    groupsRoutes(app, groups, now)
    heartbeatsRoutes(app, heartbeats, devices)
  },
  tasks: (_context, { heartbeats, dynamicGroups }) => [
    { name: 'device-times', everyMs: HOUR_MS, run: heartbeats.resetTimesAhead },
    { name: 'group-filters', everyMs: 60_000, run: dynamicGroups.resume },
  ],
}
