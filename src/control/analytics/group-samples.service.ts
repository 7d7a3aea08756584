import { activeSince } from '../../domain/device.ts'
import { MIN_GROUP_SIZE } from '../../domain/disclosure.ts'
import { badRequest } from '../../domain/errors.ts'
import type { Context } from '../context.ts'
import type { Group } from './analyses.ts'
import type { Filters, ReadingsReport } from './readings.report.ts'
import { collectSamples } from './samples.ts'
import { withheldAgainstSubtraction } from './subtraction.ts'
import { variableOf } from './variable.ts'

export type GroupBy = 'device_group' | 'federation_member'

export interface Conditions extends Filters {
  /** Raises the minimum number of devices in a group; it cannot lower it. */
  readonly minSampleCount: number | undefined
  /** Warns about parts of the request that were not understood. */
  readonly warnings: readonly string[]
}

const MAX_GROUPS = 1000

export type MinGroupSize = (orgIds: readonly string[]) => Promise<number>

/** The largest of the default minimum, the requested one, and those of the organizations whose devices are queried. */
export const smallestShown = async (
  { minSampleCount }: Conditions,
  orgIds: readonly string[],
  minGroupSize: MinGroupSize,
): Promise<number> => Math.max(MIN_GROUP_SIZE, minSampleCount ?? 0, await minGroupSize(orgIds))

/** The groups of a federation's devices, and the values that they report. */
export const createGroupSamples = (
  { database, now }: Context,
  {
    readings,
    minGroupSize,
  }: {
    readonly readings: ReadingsReport
    readonly minGroupSize: MinGroupSize
  },
) => {
  /** Returns the ids of a query's groups: the named ones, otherwise all. `fieldOf`: the field of a named group, by its index. */
  const idsOf = async (
    orgIds: readonly string[],
    groupBy: GroupBy,
    named: readonly string[],
    warnings: string[],
    fieldOf = (index: number) => `group_ids[${index}]`,
  ): Promise<string[]> => {
    if (groupBy === 'federation_member') {
      const at = named.findIndex((name) => !orgIds.includes(name))
      if (at >= 0) throw badRequest(`${fieldOf(at)}: '${named[at]}' is not an active member of this federation.`)
      return [...new Set(named.length > 0 ? named : orgIds)]
    }
    if (named.length === 0) {
      const all = await readings.deviceGroups(database.sql, orgIds, MAX_GROUPS)
      if (all.length === 0) warnings.push('The members have no device groups.')
      return all.map(({ id }) => id)
    }
    const found = await readings.deviceGroupsNamed(database.sql, orgIds, named)
    const ids = named.map((name, index) => {
      const matches = found.filter((group) => group.id === name || group.name === name)
      if (matches.length === 0)
        throw badRequest(`${fieldOf(index)}: device group '${name}' does not exist among those of the members.`)
      if (matches.length > 1)
        throw badRequest(`${fieldOf(index)}: several members have a device group '${name}'. Use its id.`)
      return matches[0]!.id
    })
    return [...new Set(ids)]
  }

  /** Reads a numeric variable by group; warns about groups that it leaves out because they would reveal few devices. */
  const read = async (
    orgIds: readonly string[],
    requested: {
      readonly variable: string
      readonly groupBy: GroupBy
      readonly groupIds: readonly string[]
      readonly conditions: Conditions
      /** For descriptions, which need percentiles and test nothing. */
      readonly keepValues: boolean
    },
    warnings: string[],
  ): Promise<Group[]> => {
    const { groupBy, groupIds, conditions } = requested
    if (groupIds.length === 0) return []
    const ofMembers = groupBy === 'federation_member'
    const minDevices = await smallestShown(conditions, orgIds, minGroupSize)
    const samples = await collectSamples(
      readings.readings(database.sql, {
        variables: [variableOf(requested.variable, 'variable')],
        orgIds: ofMembers ? groupIds : orgIds,
        deviceGroupIds: ofMembers ? null : groupIds,
        filters: conditions,
        activeSince: activeSince(now()),
      }),
      groupIds,
      { minDevices, keepValues: requested.keepValues },
    )
    if (samples.skipped > 0)
      warnings.push(`Some devices report '${requested.variable}' as something other than a number.`)
    if (samples.overlap && !requested.keepValues) {
      warnings.push('Some devices are in more than one of the groups; the test assumes that groups are independent.')
    }
    const large = groupIds.flatMap((id) => {
      const sample = samples.of(id)
      if (sample?.isLargeEnough) return [{ id, sample }]
      warnings.push(`Group '${id}' is withheld: fewer than ${minDevices} devices report '${requested.variable}'.`)
      return []
    })
    const ids = large.map(({ id }) => id)
    const withheld = await withheldAgainstSubtraction(samples.cells, groupIds, ids, minDevices)
    for (const { id, because } of withheld) {
      warnings.push(
        because === 'few devices'
          ? `Group '${id}' is withheld: its figures minus those of other groups could depend on fewer than ${minDevices} devices.`
          : `Group '${id}' is withheld: it overlaps with too many other groups. List fewer groups in group_ids.`,
      )
    }
    return large.filter(({ id }) => !withheld.some((one) => one.id === id))
  }

  return { idsOf, read }
}
