import { type Caller, DEFAULT_ORG, holds, requireOwnOrg, sees } from '../../../domain/access.ts'
import { activeSince, type DeviceStatus, type Platform } from '../../../domain/device.ts'
import { badRequest, conflict, forbidden, notFound, type ServiceError, unauthorized } from '../../../domain/errors.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { KeysService, StoredKey } from '../../access/keys/keys.service.ts'
import type { Context } from '../../context.ts'
import type { DeviceFilter, DevicesStore, StoredDevice } from './devices.store.ts'
import { rememberCounts, rememberLargeFleets } from './fleet-counts.ts'

export { filterSql } from './device-filter.store.ts'
export type { ListedDevice, StoredDevice } from './devices.store.ts'

/** The user-chosen id and, if a key sees several devices with it, the organization. */
export interface NamedDevice {
  readonly deviceId: string
  readonly orgId: string | undefined
}

/** Counts the devices of a list: by the organization's counter, or by reading them, cached for a large fleet. */
const createListCount = (database: Database, store: DevicesStore, now: () => Date) => {
  const countMatching = rememberCounts({
    count: (filter: DeviceFilter) => store.countMatching(database.sql, filter),
    keyOf: ({ orgId, withUnbound, platform, status }) => JSON.stringify([orgId, withUnbound, platform, status]),
    read: ({ read }) => read,
    now,
  })
  return async (filter: DeviceFilter): Promise<number> =>
    filter.platform === undefined && filter.status === undefined
      ? store.countAll(database.sql, filter)
      : (await countMatching(filter)).total
}

export const createDevicesService = (
  { database, events, now, newId, config: { enrollment } }: Context,
  {
    store,
    isErased,
    keys,
    regroup,
  }: {
    readonly store: DevicesStore
    /** Whether such a device was erased, so that it must not be registered again automatically. */
    readonly isErased: (orgId: string | null, deviceId: string) => Promise<boolean>
    readonly keys: KeysService
    /** Adds new devices to the dynamic groups that they match. */
    readonly regroup: (devices: readonly StoredDevice[]) => Promise<void>
  },
) => {
  const insert = createBatcher<{ device: StoredDevice; key: StoredKey }, boolean>({
    maxBatch: 500,
    run: async (entries) => {
      const sorted = [...entries].sort((a, b) => (a.device.deviceId < b.device.deviceId ? -1 : 1))
      const inserted = await store.insertAll(database.sql, sorted)
      const registered = entries.map(({ device }) => device).filter(({ id }) => inserted.has(id))
      await regroup(registered)
      await events.announce('devices.registered', { orgIds: registered.map(({ orgId }) => orgId) })
      return entries.map((entry) => inserted.has(entry.device.id))
    },
  })

  const countTogether = createBatcher<string | null, { total: number; active: number }>({
    maxBatch: 10_000,
    run: async (orgIds) => {
      const since = activeSince(now())
      const counted = new Map<string | null, { total: number; active: number }>()
      for (const orgId of new Set(orgIds)) counted.set(orgId, await store.census(database.sql, orgId, since))
      return orgIds.map((orgId) => counted.get(orgId)!)
    },
  })

  const count = rememberLargeFleets(countTogether, now)
  const countListed = createListCount(database, store, now)

  /** Returns a new device's organization: the named one; under token enrollment otherwise the key's, or `default`. */
  const orgOfNewDevice = (caller: Caller | null, named: string | undefined): string | null => {
    if (enrollment === 'open') return named ?? null
    if (caller === null) {
      throw unauthorized(
        'This service enrolls devices by token: send a key with scope devices:write as Authorization: Bearer <key>.',
      )
    }
    if (!holds(caller, 'devices:write')) throw forbidden('Registering a device needs the scope devices:write.')
    if (named !== undefined) requireOwnOrg(caller, named)
    return named ?? caller.orgId ?? DEFAULT_ORG
  }

  return {
    async register(
      caller: Caller | null,
      requested: {
        readonly deviceId: string
        readonly platform: Platform
        readonly capabilities: Readonly<Record<string, unknown>>
        readonly orgId: string | undefined
        readonly trains: boolean
      },
    ): Promise<{ device: StoredDevice; token: string }> {
      const orgId = orgOfNewDevice(caller, requested.orgId)
      const isAdmitted = caller !== null && holds(caller, 'devices:write') && sees(caller, orgId)
      if (!isAdmitted && (await isErased(orgId, requested.deviceId))) {
        throw conflict(
          `A device with device_id '${requested.deviceId}' was erased and cannot enroll again on its own. Register it with a ` +
            'key that has the scope devices:write, or choose another device_id.',
        )
      }
      const at = now()
      const device: StoredDevice = {
        id: newId(),
        deviceId: requested.deviceId,
        orgId,
        platform: requested.platform,
        capabilities: requested.capabilities,
        trains: requested.trains,
        reported: 'active',
        metrics: null,
        lastHeartbeat: at,
        createdAt: at,
        updatedAt: at,
      }
      const { key, token } = keys.mintForDevice({ id: device.id, name: device.deviceId, orgId })
      if (!(await insert({ device, key }))) {
        throw conflict(
          `A device with device_id '${requested.deviceId}' is already registered. Use its key, choose another device_id, or erase the device first (svc devices erase).`,
        )
      }
      return { device, token }
    },

    /**
     * Returns the device with this user-chosen id, in the organization `orgId` if it is given. If an unbound key sees
     * several, takes its own or, if `near` is given, that of the organization `near`, otherwise the one without any.
     * @throws not_found if the caller may see none; conflict if it is not clear which one is meant
     */
    async get(
      caller: Caller,
      deviceId: string,
      { orgId, near }: { readonly orgId?: string | undefined; readonly near?: string | null } = {},
    ): Promise<StoredDevice> {
      if (orgId !== undefined && !sees(caller, orgId)) throw notFound('Device', deviceId)
      const found = await store.findByName(database.sql, deviceId, caller.orgId ?? orgId ?? null)
      const own = found.find(({ id }) => id === caller.deviceId)
      if (own !== undefined) return own
      const [device, ...others] = found
      if (device === undefined) throw notFound('Device', deviceId)
      if (others.length === 0) return device
      const nearest =
        near === undefined
          ? undefined
          : (found.find((one) => one.orgId === near) ?? found.find((one) => one.orgId === null))
      if (nearest === undefined) throw ambiguous(deviceId)
      return nearest
    },

    /** Returns the device that owns the caller's key. @throws bad_request if the key belongs to none */
    async owner(caller: Caller): Promise<StoredDevice> {
      const device = caller.deviceId === null ? null : await store.findById(database.sql, caller.deviceId)
      if (device === null) throw badRequest('device_id is required: this key belongs to no device.')
      return device
    },

    /** For an unbound key, includes devices without an organization, whichever organization is requested. */
    async list(
      caller: Caller,
      query: { orgId: string; platform: Platform | undefined; status: DeviceStatus | undefined },
      page: { limit: number; offset: number },
    ): Promise<{ devices: StoredDevice[]; total: number }> {
      if (!sees(caller, query.orgId)) return { devices: [], total: 0 }
      const filter = { ...query, withUnbound: caller.orgId === null, activeSince: activeSince(now()) }
      const [devices, total] = await Promise.all([store.list(database.sql, filter, page), countListed(filter)])
      return { devices, total }
    },

    /**
     * Counts the devices of the caller's organization, and the active ones. Concurrent calls share one count; that of a
     * large fleet is cached for seconds.
     */
    census: (caller: Pick<Caller, 'orgId'>): Promise<{ total: number; active: number }> => count(caller.orgId),
  }
}

/** The error for keys that see several devices with one name. */
export const ambiguous = (deviceId: string): ServiceError =>
  conflict(
    `Several organizations have a device '${deviceId}'. Choose one with the query parameter org_id ` +
      `('${DEFAULT_ORG}' also stands for devices without an organization), or use a key of that organization.`,
  )

export type DevicesService = ReturnType<typeof createDevicesService>
