import type { Database } from '../../db/open.ts'
import type { Caller } from '../../domain/access.ts'
import { activeSince } from '../../domain/device.ts'
import { badRequest, notFound, ServiceError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import type { FederationsService } from '../federations/federations.service.ts'
import { compareGroups, describeGroup, type Group, testGroups, testTable } from './analyses.ts'
import { collectTable } from './contingency.ts'
import type { QueriesStore, StoredQuery } from './queries.store.ts'
import type { QueryType } from './query-type.ts'
import type { Filters, ReadingsStore } from './readings.store.ts'
import { collectSamples } from './samples.ts'
import { variableOf } from './variable.ts'

export type { StoredQuery } from './queries.store.ts'

export type GroupBy = 'device_group' | 'federation_member'

export interface Conditions extends Filters {
  /** Raises the least number of devices that a group must have; it cannot lower it. */
  readonly minSampleCount: number | undefined
  /** What of the request was not understood. */
  readonly warnings: readonly string[]
}

type Body = Readonly<Record<string, unknown>>

/** Groups of fewer devices are not shown: their figures would say too much of each. */
export const SMALLEST_GROUP = 5
const MOST_GROUPS = 1000

/** Statistics over what the devices of a federation's active members report; only aggregates leave it. */
export const createAnalyticsService = (parts: {
  readonly database: Database
  readonly queries: QueriesStore
  readonly readings: ReadingsStore
  readonly federations: Pick<FederationsService, 'getAsMember' | 'activeOrgs'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, queries, readings, federations, now, newId } = parts

  /** Runs a query and records it, whatever comes of it. */
  const recorded = async (
    caller: Caller,
    federationId: string,
    asked: { readonly queryType: QueryType; readonly variable: string; readonly request: Body },
    work: (orgIds: readonly string[]) => Promise<Body>,
  ): Promise<StoredQuery> => {
    const federation = await federations.getAsMember(caller, federationId)
    const base = { ...asked, id: newId(), federationId: federation.id, orgId: caller.orgId, createdAt: now() }
    try {
      const result = await work(await federations.activeOrgs(database.sql, federation.id))
      const query: StoredQuery = { ...base, status: 'completed', result, reason: null }
      await queries.insert(database.sql, query)
      return query
    } catch (error) {
      const reason = error instanceof ServiceError ? error.message : 'An unexpected error of the service.'
      await queries.insert(database.sql, { ...base, status: 'failed', result: null, reason })
      throw error
    }
  }

  /** The ids of the groups that a query is about: those named, else all there are. */
  const groupIdsOf = async (
    orgIds: readonly string[],
    groupBy: GroupBy,
    named: readonly string[],
    warnings: string[],
  ): Promise<string[]> => {
    if (groupBy === 'federation_member') {
      const stranger = named.find((name) => !orgIds.includes(name))
      if (stranger !== undefined) throw badRequest(`'${stranger}' is no active member of this federation.`)
      return [...new Set(named.length > 0 ? named : orgIds)]
    }
    if (named.length === 0) {
      const all = await readings.deviceGroups(database.sql, orgIds, MOST_GROUPS)
      if (all.length === 0) warnings.push('The members have no device groups.')
      return all.map(({ id }) => id)
    }
    const found = await readings.deviceGroupsNamed(database.sql, orgIds, named)
    const ids = named.map((name) => {
      const matches = found.filter((group) => group.id === name || group.name === name)
      if (matches.length === 0) throw badRequest(`Device group '${name}' does not exist among those of the members.`)
      if (matches.length > 1) throw badRequest(`Several members have a device group '${name}': name it by its id.`)
      return matches[0]!.id
    })
    return [...new Set(ids)]
  }

  /** Reads a numeric variable group by group; groups that are too small are left out, with a warning. */
  const readGroups = async (
    orgIds: readonly string[],
    wanted: {
      readonly variable: string
      readonly groupBy: GroupBy
      readonly groupIds: readonly string[]
      readonly conditions: Conditions
      /** For percentiles, and where nothing is tested. */
      readonly keepValues: boolean
    },
    warnings: string[],
  ): Promise<Group[]> => {
    const { groupBy, groupIds, conditions } = wanted
    if (groupIds.length === 0) return []
    const ofMembers = groupBy === 'federation_member'
    const minDevices = Math.max(SMALLEST_GROUP, conditions.minSampleCount ?? 0)
    const samples = await collectSamples(
      readings.readings(database.sql, {
        variables: [variableOf(wanted.variable, 'variable')],
        orgIds: ofMembers ? groupIds : orgIds,
        deviceGroupIds: ofMembers ? null : groupIds,
        filters: conditions,
        activeSince: activeSince(now()),
      }),
      { minDevices, keepValues: wanted.keepValues },
    )
    if (samples.skipped > 0) warnings.push(`Some devices report '${wanted.variable}' as something other than a number.`)
    if (samples.overlap && !wanted.keepValues) {
      warnings.push('Some devices are in more than one of the groups; the test takes groups as independent.')
    }
    return groupIds.flatMap((id) => {
      const sample = samples.of(id)
      if (sample?.isLargeEnough) return [{ id, sample }]
      warnings.push(`Group '${id}' is withheld: fewer than ${minDevices} devices report '${wanted.variable}'.`)
      return []
    })
  }

  return {
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
          const groupIds = await groupIdsOf(orgIds, wanted.groupBy, wanted.groupIds, warnings)
          const groups = await readGroups(orgIds, { ...wanted, groupIds, keepValues: true }, warnings)
          return { groups: groups.map((group) => describeGroup(group, wanted.includePercentiles)), warnings }
        },
      ),

    /** Groups are device groups, or members where a group's name is an active member's and no device group's id. */
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
        const groupIds = await groupIdsOf(orgIds, groupBy, named, warnings)
        if (groupIds.length < 2) throw badRequest('group_a and group_b are the same group.')
        const groups = await readGroups(orgIds, { ...wanted, groupBy, groupIds, keepValues: false }, warnings)
        const [a, b] = groupIds.map((id) => groups.find((group) => group.id === id) ?? null)
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
        const groupIds = await groupIdsOf(orgIds, wanted.groupBy, wanted.groupIds, warnings)
        const groups = await readGroups(orgIds, { ...wanted, groupIds, keepValues: false }, warnings)
        return { ...compareGroups(groups, wanted, warnings), warnings }
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
        const minDevices = Math.max(SMALLEST_GROUP, conditions.minSampleCount ?? 0)
        const pages = readings.readings(database.sql, {
          variables: wanted.variables.map((text, at) => variableOf(text, `variable_${at + 1}`)),
          orgIds,
          deviceGroupIds: null,
          filters: conditions,
          activeSince: activeSince(now()),
        })
        const table = await collectTable(pages, { minDevices, names: wanted.variables })
        if (table === null) warnings.push(`Withheld: fewer than ${minDevices} devices report both variables.`)
        return { ...testTable(table, wanted.level, warnings), warnings }
      })
    },

    async list(caller: Caller, federationId: string, page: { limit: number; offset: number }) {
      const federation = await federations.getAsMember(caller, federationId)
      return queries.list(database.sql, federation.id, page)
    },

    async get(caller: Caller, federationId: string, queryId: string): Promise<StoredQuery> {
      const federation = await federations.getAsMember(caller, federationId)
      const query = isUuid(queryId) ? await queries.find(database.sql, federation.id, queryId) : null
      if (query === null) throw notFound('Query', queryId, `of federation '${federation.name}'`)
      return query
    },
  }
}

export type AnalyticsService = ReturnType<typeof createAnalyticsService>
