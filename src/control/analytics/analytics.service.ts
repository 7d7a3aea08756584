import type { Caller } from '../../domain/access.ts'
import { activeSince } from '../../domain/device.ts'
import { badRequest } from '../../domain/errors.ts'
import type { Context } from '../context.ts'
import { compareGroups, describeGroup, testGroups, testTable } from './analyses.ts'
import { collectTable, namesMember } from './contingency.ts'
import {
  type Conditions,
  createGroupSamples,
  type GroupBy,
  type MinGroupSize,
  smallestShown,
} from './group-samples.service.ts'
import type { StoredQuery } from './queries.store.ts'
import { type Body, createQueryRecord, type QueryParts } from './query-record.service.ts'
import type { ReadingsReport } from './readings.report.ts'
import { variableOf } from './variable.ts'

export type { Conditions } from './group-samples.service.ts'
export type { StoredQuery } from './queries.store.ts'

/** Statistics over data that the devices of a federation's active members report; returns only aggregates. */
export const createAnalyticsService = (
  context: Context,
  {
    readings,
    minGroupSize,
    ...parts
  }: QueryParts & { readonly readings: ReadingsReport; readonly minGroupSize: MinGroupSize },
) => {
  const { database, now } = context
  const { run: recorded, list, get } = createQueryRecord(context, parts)
  const groups = createGroupSamples(context, { readings, minGroupSize })

  return {
    list,
    get,

    descriptive: (
      caller: Caller,
      federationId: string,
      request: Body,
      wanted: {
        readonly variable: string
        readonly groupBy: GroupBy
        readonly groupIds: readonly string[]
        readonly includePercentiles: boolean
        readonly conditions: Conditions
      },
    ): Promise<StoredQuery> =>
      recorded(
        caller,
        federationId,
        { queryType: 'descriptive', variable: wanted.variable, request },
        async (orgIds) => {
          const warnings = [...wanted.conditions.warnings]
          const groupIds = await groups.idsOf(orgIds, wanted.groupBy, wanted.groupIds, warnings)
          const found = await groups.read(orgIds, { ...wanted, groupIds, keepValues: true }, warnings)
          return { groups: found.map((group) => describeGroup(group, wanted.includePercentiles)), warnings }
        },
      ),

    /** Without `groupBy`, the groups are members if both names are those of active members, otherwise device groups. */
    tTest: (
      caller: Caller,
      federationId: string,
      request: Body,
      wanted: {
        readonly variable: string
        readonly groupBy: GroupBy | undefined
        readonly groupA: string
        readonly groupB: string
        readonly level: number
        readonly conditions: Conditions
      },
    ): Promise<StoredQuery> =>
      recorded(caller, federationId, { queryType: 't-test', variable: wanted.variable, request }, async (orgIds) => {
        const warnings = [...wanted.conditions.warnings]
        const named = [wanted.groupA, wanted.groupB]
        const areMembers = named.every((name) => orgIds.includes(name))
        const groupBy = wanted.groupBy ?? (areMembers ? 'federation_member' : 'device_group')
        const fieldOf = (index: number) => (index === 0 ? 'group_a' : 'group_b')
        const groupIds = await groups.idsOf(orgIds, groupBy, named, warnings, fieldOf)
        if (groupIds.length < 2) throw badRequest('group_a and group_b are the same group.')
        const found = await groups.read(orgIds, { ...wanted, groupBy, groupIds, keepValues: false }, warnings)
        const [a, b] = groupIds.map((id) => found.find((group) => group.id === id) ?? null)
        return { ...testGroups(a ?? null, b ?? null, wanted.level, warnings), warnings }
      }),

    anova: (
      caller: Caller,
      federationId: string,
      request: Body,
      wanted: {
        readonly variable: string
        readonly groupBy: GroupBy
        readonly groupIds: readonly string[]
        readonly level: number
        readonly postHoc: boolean
        readonly conditions: Conditions
      },
    ): Promise<StoredQuery> =>
      recorded(caller, federationId, { queryType: 'anova', variable: wanted.variable, request }, async (orgIds) => {
        const warnings = [...wanted.conditions.warnings]
        const groupIds = await groups.idsOf(orgIds, wanted.groupBy, wanted.groupIds, warnings)
        const found = await groups.read(orgIds, { ...wanted, groupIds, keepValues: false }, warnings)
        return { ...(await compareGroups(found, wanted, warnings)), warnings }
      }),

    chiSquare: (
      caller: Caller,
      federationId: string,
      request: Body,
      wanted: {
        readonly variables: readonly [string, string]
        readonly level: number
        readonly conditions: Conditions
      },
    ): Promise<StoredQuery> => {
      const variable = wanted.variables.join(', ')
      return recorded(caller, federationId, { queryType: 'chi-square', variable, request }, async (orgIds) => {
        const { conditions } = wanted
        const warnings = [...conditions.warnings]
        const minDevices = await smallestShown(conditions, orgIds, minGroupSize)
        const pages = readings.readings(database.sql, {
          variables: wanted.variables.map((text, at) => variableOf(text, `variable_${at + 1}`)),
          orgIds,
          deviceGroupIds: null,
          filters: conditions,
          activeSince: activeSince(now()),
        })
        const found = await collectTable(pages, { minDevices, names: wanted.variables })
        if (found === null) warnings.push(`Withheld: fewer than ${minDevices} devices report both variables.`)
        for (const [at, count] of (found?.withheld ?? []).entries()) {
          if (count === 0) continue
          const which = count === 1 ? 'One value' : `${count} values`
          const few = `fewer than ${minDevices} devices`
          const reason = namesMember(wanted.variables)
            ? `${few} of one member report it.`
            : `${few} report it apart from those of one member.`
          warnings.push(`${which} of '${wanted.variables[at]}' left out: ${reason}`)
        }
        return {
          ...testTable(found === null || found.table.length === 0 ? null : found.table, wanted.level, warnings),
          warnings,
        }
      })
    },
  }
}

export type AnalyticsService = ReturnType<typeof createAnalyticsService>
