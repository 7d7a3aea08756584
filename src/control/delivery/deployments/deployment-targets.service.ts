import { type Caller, holds } from '../../../domain/access.ts'
import { WHOLE_FLEET_WARNING } from '../../../domain/deployment.ts'
import { activeSince, type Platform } from '../../../domain/device.ts'
import { conflict } from '../../../domain/errors.ts'
import { plural } from '../../../domain/plural.ts'
import type { Context } from '../../context.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import { type Candidate, targetsReport } from './targets.report.ts'

export interface TargetSelector {
  readonly modelName: string
  readonly modelVersion: string
  /** Names of devices; empty means the same as absent, but a request may not send an empty list. */
  readonly devices: readonly string[] | undefined
  /** Of the devices with these names, only the one with this internal id; if absent, all of them. */
  readonly onlyDevice?: string | undefined
  /** Name or id of a group. */
  readonly group: string | undefined
  /** Only devices of this platform. */
  readonly platform?: Platform | undefined
}

const NAMED_IN_A_WARNING = 10

/** Finds the devices that a selector names, and warns of those that it cannot find. */
export const createDeploymentTargets = (
  { database, now }: Context,
  { groups }: { readonly groups: Pick<GroupsService, 'locate'> },
) => {
  return async (
    caller: Caller,
    selector: TargetSelector,
    near: string | null,
  ): Promise<{ targets: Candidate[]; warnings: string[] }> => {
    const since = activeSince(now())
    const names = [...new Set(selector.devices ?? [])]
    const fits = ({ platform }: Candidate): boolean => selector.platform === undefined || platform === selector.platform
    if (names.length === 0 && selector.group === undefined) {
      const targets = (await targetsReport.active(database.sql, caller.orgId, since)).filter(fits)
      const which = selector.platform === undefined ? '' : ` on ${selector.platform}`
      return {
        targets,
        warnings: [`${WHOLE_FLEET_WARNING}: all ${plural(targets.length, 'active device')}${which}.`],
      }
    }
    const warnings: string[] = []
    const found = new Map<string, Candidate>()
    if (names.length > 0) {
      const named = await targetsReport.named(database.sql, names, caller.orgId, since)
      const wanted = named.filter(({ id }) => selector.onlyDevice === undefined || id === selector.onlyDevice)
      for (const device of meant(wanted, near)) found.set(device.id, device)
      const known = new Set([...found.values()].map(({ deviceId }) => deviceId))
      const unknown = names.filter((name) => !known.has(name))
      if (unknown.length > 0) warnings.push(`Unknown devices: ${enumerate(unknown)}.`)
    }
    if (selector.group !== undefined) {
      const group = await groups.locate({ orgId: caller.orgId ?? near }, selector.group)
      if (group === null) warnings.push(`Unknown group: ${selector.group}.`)
      else for (const device of await targetsReport.inGroup(database.sql, group.id, since)) found.set(device.id, device)
    }
    const targets = [...found.values()].filter(fits)
    const others = [...found.values()].flatMap((device) => (fits(device) ? [] : [device.deviceId]))
    if (others.length > 0) warnings.push(`Devices that do not run ${selector.platform}: ${devicesFor(caller, others)}.`)
    const inactive = targets.flatMap(({ deviceId, isActive }) => (isActive ? [] : [deviceId]))
    if (inactive.length > 0) {
      warnings.push(`Inactive devices, which get it once they are active: ${devicesFor(caller, inactive)}.`)
    }
    return { targets, warnings }
  }
}

/** Picks one device per name: if an unbound key sees several, the one of the model's organization or of none. */
const meant = (named: readonly Candidate[], near: string | null): readonly Candidate[] => {
  const byName = new Map<string, Candidate[]>()
  for (const device of named) byName.set(device.deviceId, [...(byName.get(device.deviceId) ?? []), device])
  return [...byName.values()].map((devices) => {
    if (devices.length === 1) return devices[0]!
    const nearest = devices.find(({ orgId }) => orgId === near) ?? devices.find(({ orgId }) => orgId === null)
    if (nearest !== undefined) return nearest
    const [{ deviceId } = { deviceId: '' }] = devices
    throw conflict(`Several organizations have a device '${deviceId}'. Use a key of the intended organization.`)
  })
}

/** The names, or only their number if the caller may not list devices. */
export const devicesFor = (caller: Caller, names: readonly string[]): string =>
  holds(caller, 'devices:read') ? enumerate(names) : `${names.length}`

export const enumerate = (names: readonly string[]): string => {
  const more = names.length - NAMED_IN_A_WARNING
  return `${names.slice(0, NAMED_IN_A_WARNING).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}
