import { type Caller, requireOwnOrg } from '../../../domain/access.ts'
import { activeSince, type DeviceStatus, type Platform } from '../../../domain/device.ts'
import type { DeviceFilter } from '../../../domain/device-filter.ts'
import { badRequest } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { jsonOrNull } from '../../../domain/parse-json.ts'
import type { Context } from '../../context.ts'
import {
  type DeviceSearch,
  type DeviceSort,
  deviceSearchStore,
  type FleetSummary,
  type Position,
} from './device-search.store.ts'
import type { StoredDevice } from './devices.store.ts'
import { rememberLargeFleets } from './fleet-counts.ts'

export interface DeviceQuery {
  readonly orgId: string | undefined
  readonly text: string
  readonly deviceId: string | undefined
  readonly platform?: Platform | undefined
  readonly status?: DeviceStatus | undefined
  readonly filter: DeviceFilter
  readonly sort: DeviceSort
  readonly descending: boolean
  readonly after?: string | undefined
  readonly limit: number
}

const encode = ({ value, id }: Position): string => Buffer.from(JSON.stringify([value, id])).toString('base64url')

/** @throws bad_request if this is not a cursor of this list */
const decode = (cursor: string, sort: DeviceSort): Position => {
  const parsed = jsonOrNull(Buffer.from(cursor, 'base64url').toString())
  const [value, id] = Array.isArray(parsed) ? (parsed as unknown[]) : []
  const fits = typeof value === 'string' && (sort === 'device_id' || isMoment(value))
  if (!fits || typeof id !== 'string' || !isUuid(id) || value.includes('\0')) {
    throw badRequest('after must be the `next` of an earlier page, with the same sort.')
  }
  return { value, id }
}

/** Accepts the format of `positionOf`. Excludes years before 1 and after 9999, which PostgreSQL cannot read in this form. */
const isMoment = (text: string): boolean => {
  const time = new Date(text)
  return /^(?!0000)\d{4}-/.test(text) && !Number.isNaN(time.getTime()) && time.toISOString() === text
}

const positionOf = (device: StoredDevice, sort: DeviceSort): Position => {
  if (sort === 'device_id') return { value: device.deviceId, id: device.id }
  const time = sort === 'last_seen' ? device.lastHeartbeat : device.createdAt
  return { value: time.toISOString(), id: device.id }
}

/** Returns the organization to read; null for all that the caller sees. @throws forbidden if it is not the caller's */
const orgToRead = (caller: Caller, requested: string | undefined): string | null => {
  if (requested !== undefined) requireOwnOrg(caller, requested)
  return requested ?? caller.orgId
}

/** Lists the fleet for its operator: searched, filtered, and sorted in the database. */
export const createDeviceSearch = ({ database, now }: Context) => {
  const first = async (search: DeviceSearch, page: { sort: DeviceSort; descending: boolean; limit: number }) => {
    if (search.text !== '') return deviceSearchStore.firstFound(database.sql, search, page)
    const [devices, total] = await Promise.all([
      deviceSearchStore.page(database.sql, search, { ...page, after: null }),
      deviceSearchStore.count(database.sql, search),
    ])
    return { devices, total }
  }

  const summarize = rememberLargeFleets((orgId: string | null) => {
    const at = now()
    return deviceSearchStore.summary(database.sql, orgId, activeSince(at), at)
  }, now)

  return {
    /** Returns a page, the cursor of the next one (or null), and the number of matches (for the first page only). */
    async page(
      caller: Caller,
      { orgId: requested, sort, descending, after, limit, ...filters }: DeviceQuery,
    ): Promise<{ devices: StoredDevice[]; next: string | null; total: number | null }> {
      const orgId = orgToRead(caller, requested)
      const search = { ...filters, orgId, withUnbound: caller.orgId === null, activeSince: activeSince(now()) }
      const position = after === undefined ? null : decode(after, sort)
      const page = { sort, descending, limit: limit + 1 }
      const { devices: found, total } =
        position === null
          ? await first(search, page)
          : { devices: await deviceSearchStore.page(database.sql, search, { ...page, after: position }), total: null }
      const devices = found.slice(0, limit)
      const last = devices.at(-1)
      return { devices, next: found.length > limit && last ? encode(positionOf(last, sort)) : null, total }
    },

    /** Cached for seconds if the fleet is large. */
    summary: async (caller: Caller, orgId: string | undefined): Promise<FleetSummary> =>
      summarize(orgToRead(caller, orgId)),
  }
}

export type DeviceSearchService = ReturnType<typeof createDeviceSearch>
