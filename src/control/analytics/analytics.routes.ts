import { badRequest } from '../../domain/errors.ts'
import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import type { Static } from '../../platform/http/wire.schema.ts'
import type { FederationsService } from '../federations/federations.service.ts'
import {
  AnalyticsParams,
  AnovaBody,
  AnovaResult,
  ChiSquareBody,
  ChiSquareResult,
  DescriptiveBody,
  DescriptiveResult,
  ListQueriesQuery,
  Query,
  QueryList,
  QueryParams,
  TTestBody,
  TTestResult,
} from './analytics.schema.ts'
import type { AnalyticsService, Conditions, StoredQuery } from './analytics.service.ts'

const LEVEL = 0.95
const KNOWN_FILTERS = ['start_time', 'end_time', 'time_range', 'platform', 'min_sample_count']

export const analyticsRoutes = (
  app: App,
  analytics: AnalyticsService,
  federations: Pick<FederationsService, 'getAsMember'>,
): void => {
  const config = {
    access: 'training:read',
    errors: ['not_found'],
    beforeInvalid: async (request) => {
      await federations.getAsMember(callerOf(request), (request.params as { federation_id: string }).federation_id)
    },
  } satisfies RouteConfig

  app.post(
    '/api/v1/federations/:federation_id/analytics/descriptive',
    {
      schema: {
        operationId: 'describeVariable',
        summary: 'Describe a variable by group',
        description: 'Mean, spread and percentiles of a variable, group by group.',
        tags: ['analytics'],
        params: AnalyticsParams,
        body: DescriptiveBody,
        response: { 200: DescriptiveResult },
      },
      config,
    },
    async (request) => {
      const { body } = request
      const query = await analytics.descriptive(callerOf(request), request.params.federation_id, body, {
        variable: body.variable,
        groupBy: body.group_by ?? 'device_group',
        groupIds: body.group_ids ?? [],
        includePercentiles: body.include_percentiles ?? true,
        conditions: conditionsOf(body.filters),
      })
      return answer<typeof DescriptiveResult>(query)
    },
  )

  app.post(
    '/api/v1/federations/:federation_id/analytics/t-test',
    {
      schema: {
        operationId: 'compareTwoGroups',
        summary: "Compare two groups by Welch's t-test",
        tags: ['analytics'],
        params: AnalyticsParams,
        body: TTestBody,
        response: { 200: TTestResult },
      },
      config,
    },
    async (request) => {
      const { body } = request
      const query = await analytics.tTest(callerOf(request), request.params.federation_id, body, {
        variable: body.variable,
        groupBy: body.group_by,
        groupA: body.group_a,
        groupB: body.group_b,
        level: body.confidence_level ?? LEVEL,
        conditions: conditionsOf(body.filters),
      })
      return answer<typeof TTestResult>(query)
    },
  )

  app.post(
    '/api/v1/federations/:federation_id/analytics/anova',
    {
      schema: {
        operationId: 'compareGroups',
        summary: 'Compare groups by analysis of variance',
        description: "One-way analysis of variance, with Tukey's test of the pairs.",
        tags: ['analytics'],
        params: AnalyticsParams,
        body: AnovaBody,
        response: { 200: AnovaResult },
      },
      config,
    },
    async (request) => {
      const { body } = request
      const query = await analytics.anova(callerOf(request), request.params.federation_id, body, {
        variable: body.variable,
        groupBy: body.group_by ?? 'device_group',
        groupIds: body.group_ids ?? [],
        level: body.confidence_level ?? LEVEL,
        postHoc: body.post_hoc ?? true,
        conditions: conditionsOf(body.filters),
      })
      return answer<typeof AnovaResult>(query)
    },
  )

  app.post(
    '/api/v1/federations/:federation_id/analytics/chi-square',
    {
      schema: {
        operationId: 'testIndependence',
        summary: 'Test two variables for independence',
        description: "Pearson's chi-square test of whether two variables are independent.",
        tags: ['analytics'],
        params: AnalyticsParams,
        body: ChiSquareBody,
        response: { 200: ChiSquareResult },
      },
      config,
    },
    async (request) => {
      const { body } = request
      const query = await analytics.chiSquare(callerOf(request), request.params.federation_id, body, {
        variables: [body.variable_1, body.variable_2],
        level: body.confidence_level ?? LEVEL,
        conditions: conditionsOf(body.filters),
      })
      return answer<typeof ChiSquareResult>(query)
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/analytics/queries',
    {
      schema: {
        operationId: 'listAnalyticsQueries',
        summary: 'List analytics queries',
        description: 'Queries that were made, newest first.',
        tags: ['analytics'],
        params: AnalyticsParams,
        querystring: ListQueriesQuery,
        response: { 200: QueryList },
      },
      config,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await analytics.list(callerOf(request), request.params.federation_id, { limit, offset })
      return { queries: found.queries.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/analytics/queries/:query_id',
    {
      schema: {
        operationId: 'getAnalyticsQuery',
        summary: 'Get an analytics query',
        tags: ['analytics'],
        params: QueryParams,
        response: { 200: Query },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { federation_id, query_id } = request.params
      return present(await analytics.get(callerOf(request), federation_id, query_id))
    },
  )
}

const conditionsOf = (filters: Static<typeof DescriptiveBody>['filters'] = {}): Conditions => {
  const { start_time, end_time, time_range, platform, min_sample_count } = filters
  const [start, end] = [start_time ?? time_range?.start, end_time ?? time_range?.end]
  const startTime = start === undefined ? undefined : new Date(start)
  const endTime = end === undefined ? undefined : new Date(end)
  if (startTime !== undefined && endTime !== undefined && startTime > endTime) {
    throw badRequest('filters: the time range ends before it starts.')
  }
  return {
    startTime,
    endTime,
    platforms: platform === undefined || Array.isArray(platform) ? platform : [platform],
    minSampleCount: min_sample_count,
    warnings: Object.keys(filters)
      .filter((name) => !KNOWN_FILTERS.includes(name))
      .map((name) => `The filter '${name}' is not known: it was ignored.`),
  }
}

/** The heading of a query, and its result's own fields beside it. */
const answer = <
  Schema extends typeof DescriptiveResult | typeof TTestResult | typeof AnovaResult | typeof ChiSquareResult,
>(
  query: StoredQuery,
) =>
  ({
    query_id: query.id,
    federation_id: query.federationId,
    query_type: query.queryType,
    variable: query.variable,
    status: query.status,
    created_at: query.createdAt.toISOString(),
    ...query.result,
  }) as unknown as Static<Schema>

const present = (query: StoredQuery) => ({
  id: query.id,
  federation_id: query.federationId,
  org_id: query.orgId,
  query_type: query.queryType,
  variable: query.variable,
  request: { ...query.request },
  status: query.status,
  result: query.result === null ? null : { ...query.result },
  reason: query.reason,
  created_at: query.createdAt.toISOString(),
})
