import { DEFAULT_ORG } from '../../../domain/access.ts'
import { filterTest } from '../../../domain/device-filter.ts'
import { unaudited } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { StoredDevice } from '../devices/devices.service.ts'
import { type Cursor, dynamicGroupsStore as store } from './dynamic-groups.store.ts'

type Moved = Pick<StoredDevice, 'id' | 'deviceId' | 'orgId'>

/** A change of a group's filter. */
interface FilterChange {
  readonly groupId: string
  readonly orgId: string
  readonly change: string
}

const groupOrgOf = ({ orgId }: Moved): string => orgId ?? DEFAULT_ORG

/**
 * Keeps the members of dynamic groups up to date. Whoever changes a device or a filter commits that first and then reads the
 * other, so one of two concurrent changes always sees the other; the group's lock puts their effects in order.
 */
export const createDynamicGroups = ({ database, events, log, now }: Context) => {
  /** Decides the groups of these devices, whose changes are committed. */
  const decide = async (devices: readonly Moved[]): Promise<void> => {
    const orgIds = [...new Set(devices.map(groupOrgOf))]
    // Heartbeats lock devices in this order, too.
    const ids = [...devices].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1)).map(({ id }) => id)
    await database.transaction(async (tx) => {
      const found = await store.lockDevices(tx, ids)
      const groups = await store.lockGroups(tx, orgIds)
      const members = groups.flatMap(({ id: groupId, orgId, filter }) => {
        const matches = filterTest(filter)
        return found
          .filter((device) => device.orgId === orgId && matches(device))
          .map(({ id: deviceId }) => ({ groupId, deviceId }))
      })
      const decided = { deviceIds: ids, groupIds: groups.map(({ id }) => id), members, at: now() }
      for (const group of await store.setGroups(tx, decided)) await events.publish(tx, 'group.changed', group)
    })
  }

  /** A failure is logged, not thrown: the devices remain marked, and their next heartbeat repeats it. */
  const logged = (devices: readonly Moved[], deciding: Promise<void>): Promise<void> =>
    deciding.catch((error: unknown) => {
      log.error({ err: error, devices: devices.length }, 'dynamic groups of devices were not determined; retried later')
    })

  const decideNew = async (devices: readonly Moved[]): Promise<void> => {
    if (devices.length === 0) return
    if (await store.exist(database.sql, [...new Set(devices.map(groupOrgOf))])) await decide(devices)
  }

  /** Decides all devices of the organization, in short transactions. */
  const apply = async ({ groupId, orgId, change }: FilterChange): Promise<void> => {
    const scopes = orgId === DEFAULT_ORG ? [orgId, null] : [orgId]
    for (const scope of scopes) {
      let after: Cursor | null = null
      do {
        after = await database.transaction(async (tx): Promise<Cursor | null> => {
          const group = await store.lockChange(tx, groupId, change)
          return group && store.applyBatch(tx, group, { orgId: scope, after, at: now() })
        })
      } while (after !== null)
    }
    await database.transaction(async (tx) => {
      const group = await store.lockChange(tx, groupId, change)
      if (group === null) return
      await store.finishChange(tx, group)
      await events.publish(tx, 'group.changed', { groupId, orgId })
    })
  }

  return {
    /** Adds new devices to the groups that they match. Costs one small query if their organizations have no dynamic groups. */
    registered: (devices: readonly Moved[]): Promise<void> => logged(devices, decideNew(devices)),

    /** Updates the groups of devices whose attributes changed. */
    changed: (devices: readonly Moved[]): Promise<void> => logged(devices, decide(devices)),

    /** Updates the members after a committed change of the filter. */
    apply: (change: FilterChange): Promise<void> => unaudited(() => apply(change)),

    /** Completes changes whose process has ended. */
    async resume(): Promise<void> {
      for (const change of await store.unfinishedChanges(database.sql)) await apply(change)
    },
  }
}

export type DynamicGroups = ReturnType<typeof createDynamicGroups>
