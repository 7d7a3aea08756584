import type { Caller } from '../../domain/access.ts'
import { activeSince } from '../../domain/device.ts'
import { badRequest, notFound, ServiceError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import type { Database } from '../../platform/db/open.ts'
import type { FederationsService } from '../federations/federations.service.ts'
import { compareGroups, describeGroup, testGroups, testTable } from './analyses.ts'
import { collectTable } from './contingency.ts'
import { type Conditions, createGroupSamples, type GroupBy, smallestShown } from './group-samples.service.ts'
import type { QueriesStore, StoredQuery } from './queries.store.ts'
import type { QueryType } from './query-type.ts'
import type { ReadingsReport } from './readings.report.ts'
import { variableOf } from './variable.ts'

export type { Conditions } from './group-samples.service.ts'
export type { StoredQuery } from './queries.store.ts'

type Body = Readonly<Record<string, unknown>>

/** Statistics over what the devices of a federation's active members report; only aggregates leave it. */
export const createAnalyticsService = (parts: {
  readonly database: Database
  readonly queries: QueriesStore
  readonly readings: ReadingsReport
  readonly federations: Pick<FederationsService, 'getAsMember' | 'activeOrgs'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, queries, readings, federations, now, newId } = parts
  const groups = createGroupSamples({ database, readings, now })

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
          const groupIds = await groups.idsOf(orgIds, wanted.groupBy, wanted.groupIds, warnings)
          const found = await groups.read(orgIds, { ...wanted, groupIds, keepValues: true }, warnings)
          return { groups: found.map((group) => describeGroup(group, wanted.includePercentiles)), warnings }
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
        const groupIds = await groups.idsOf(orgIds, groupBy, named, warnings)
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
        const minDevices = smallestShown(conditions)
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
