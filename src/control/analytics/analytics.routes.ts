import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import type { FederationsService } from '../federations/federations.service.ts'
import { present, toResponse } from './analytics.present.ts'
import {
  AnalyticsParams,
  DescriptiveBody,
  DescriptiveResult,
  ListQueriesQuery,
  Query,
  QueryList,
  QueryParams,
} from './analytics.schema.ts'
import type { AnalyticsService } from './analytics.service.ts'
import { conditionsOf } from './conditions.schema.ts'
import { hypothesisTestsRoutes } from './hypothesis-tests.routes.ts'

export const analyticsRoutes = (
  app: App,
  analytics: AnalyticsService,
  federations: Pick<FederationsService, 'getAsMember'>,
): void => {
  const config = {
    access: 'training:read',
    deviceKeys: false,
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
        description: 'Mean, spread, and percentiles of a variable, by group.',
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
      return toResponse<typeof DescriptiveResult>(query)
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/analytics/queries',
    {
      schema: {
        operationId: 'listAnalyticsQueries',
        summary: 'List analytics queries',
        description: 'The recorded queries, newest first.',
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
        params: QueryParams,
        response: { 200: Query },
      },
      config: { access: 'training:read', deviceKeys: false, errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { federation_id, query_id } = request.params
      return present(await analytics.get(callerOf(request), federation_id, query_id))
    },
  )

  hypothesisTestsRoutes(app, analytics, config)
}
