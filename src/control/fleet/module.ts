import type { Access } from '../access/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { deviceSearchRoutes } from './devices/device-search.routes.ts'
import { createDeviceSearch } from './devices/device-search.service.ts'
import { createDeviceSearchStore } from './devices/device-search.store.ts'
import { devicesRoutes } from './devices/devices.routes.ts'
import { createDevicesService } from './devices/devices.service.ts'
import { createDevicesStore } from './devices/devices.store.ts'
import { groupsRoutes } from './groups/groups.routes.ts'
import { createGroupsService } from './groups/groups.service.ts'
import { createGroupsStore } from './groups/groups.store.ts'
import { createGroupMembersStore } from './groups/members.store.ts'
import { createAnnouncementsStore } from './heartbeats/announcements.store.ts'
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
  const devicesStore = createDevicesStore(keys)
  const devices = createDevicesService({ database, store: devicesStore, keys, enrollment, events, now, newId })
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
    announcements: createAnnouncementsStore(),
    devices,
    changes,
    activeDevices: async () => (await devices.census({ orgId: null })).active,
    random,
    now,
  })
  events.inTransaction('unbound.adopted', (tx, { orgId }) => devicesStore.adopt(tx, orgId))
  const draws = createPrivateDraws({ store: createPrivateDrawStore(), seed: drawSeed, now })
  const deviceSearch = createDeviceSearch({ database, store: createDeviceSearchStore(), now })
  return { devices, deviceSearch, groups, heartbeats, selection: createSelectionStore(), draws }
}

/** Devices, their groups, their heartbeats, and which of them a round selects. */
export type Fleet = ReturnType<typeof create>

export const fleet: Module<Fleet, { readonly access: Access }> = {
  description: 'Devices, heartbeats and device groups',
  tables: ['devices', 'device_counts', 'device_groups', 'device_group_members', 'announcements'],
  create,
  routes(app, { devices, deviceSearch, groups, heartbeats }, { now }) {
    devicesRoutes(app, devices, now)
    deviceSearchRoutes(app, deviceSearch, now)
    groupsRoutes(app, groups, now)
    heartbeatsRoutes(app, heartbeats, devices)
  },
}
