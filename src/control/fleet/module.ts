import type { Access } from '../access/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { createDeviceSearch } from './devices/device-search.service.ts'
import { createDeviceSearchStore } from './devices/device-search.store.ts'
import { deviceSearchRoutes, devicesRoutes } from './devices/devices.routes.ts'
import { createDevicesService } from './devices/devices.service.ts'
import { createDevicesStore } from './devices/devices.store.ts'
import { erasuresRoutes } from './erasures/erasures.routes.ts'
import { createDeviceHash, createErasures } from './erasures/erasures.service.ts'
import { createErasuresStore, fleetRowsOf } from './erasures/erasures.store.ts'
import { groupsRoutes } from './groups/groups.routes.ts'
import { createGroupsService } from './groups/groups.service.ts'
import { createGroupsStore } from './groups/groups.store.ts'
import { createGroupMembersStore } from './groups/members.store.ts'
import { heartbeatsRoutes } from './heartbeats/heartbeats.routes.ts'
import { createHeartbeatsService } from './heartbeats/heartbeats.service.ts'
import { createHeartbeatsStore } from './heartbeats/heartbeats.store.ts'
import { createPrivateDraws } from './selection/selection.service.ts'
import { createPrivateDrawStore, createSelectionStore } from './selection/selection.store.ts'

const create = (
  { config, database, changes, events, random, drawSeed, now, newId }: Context,
  { access }: { readonly access: Access },
) => {
  const { keys } = access
  const { enrollment } = config
  const devicesStore = createDevicesStore(keys)
  const erasuresStore = createErasuresStore()
  const deviceHash = createDeviceHash(access.signer)
  const devices = createDevicesService({
    database,
    store: devicesStore,
    isErased: async (orgId, deviceId) => erasuresStore.isErased(database.sql, await deviceHash(orgId, deviceId)),
    keys,
    enrollment,
    events,
    now,
    newId,
  })
  const groups = createGroupsService({
    database,
    store: createGroupsStore(),
    membersStore: createGroupMembersStore(),
    events,
    devices,
    now,
    newId,
  })
  const heartbeats = createHeartbeatsService({
    database,
    store: createHeartbeatsStore(),
    devices,
    changes,
    random,
    now,
  })
  const erasures = createErasures({
    database,
    store: erasuresStore,
    devices,
    heartbeats,
    keys,
    audit: access.audit,
    signer: access.signer,
    deviceHash,
    now,
    newId,
  })
  erasures.contribute({ rowsOf: fleetRowsOf, beforeErasure: erasuresStore.leaveGroups })
  events.inTransaction('unbound.adopted', async (tx, { orgId }) => {
    await devicesStore.adopt(tx, orgId)
    await erasuresStore.adopt(tx, orgId)
  })
  const draws = createPrivateDraws({ store: createPrivateDrawStore(), seed: drawSeed, now })
  const deviceSearch = createDeviceSearch({ database, store: createDeviceSearchStore(), now })
  return { devices, erasures, deviceSearch, groups, heartbeats, selection: createSelectionStore(), draws }
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
}
