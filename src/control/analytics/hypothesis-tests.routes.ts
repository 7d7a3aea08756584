import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import { toResponse } from './analytics.present.ts'
import {
  AnalyticsParams,
  AnovaBody,
  AnovaResult,
  ChiSquareBody,
  ChiSquareResult,
  TTestBody,
  TTestResult,
} from './analytics.schema.ts'
import type { AnalyticsService } from './analytics.service.ts'
import { conditionsOf } from './conditions.schema.ts'

const LEVEL = 0.95

/** Routes for tests of whether groups differ or variables are independent. */
export const hypothesisTestsRoutes = (app: App, analytics: AnalyticsService, config: RouteConfig): void => {
  app.post(
    '/api/v1/federations/:federation_id/analytics/t-test',
    {
      schema: {
        operationId: 'compareTwoGroups',
        summary: "Compare two groups with Welch's t-test",
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
      return toResponse<typeof TTestResult>(query)
    },
  )

  app.post(
    '/api/v1/federations/:federation_id/analytics/anova',
    {
      schema: {
        operationId: 'compareGroups',
        summary: 'Compare groups by analysis of variance',
        description: "One-way analysis of variance, with Tukey's test for each pair.",
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
      return toResponse<typeof AnovaResult>(query)
    },
  )

  app.post(
    '/api/v1/federations/:federation_id/analytics/chi-square',
    {
      schema: {
        operationId: 'testIndependence',
        summary: 'Test two variables for independence',
        description: "Pearson's chi-square test of whether two variables are independent.",
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
      return toResponse<typeof ChiSquareResult>(query)
    },
  )
}
