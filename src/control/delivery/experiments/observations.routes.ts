import { badRequest } from '../../../domain/errors.ts'
import { outsideWarning, reportedValues } from '../../../domain/reported-number.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import type { EstimatesService } from './estimates.service.ts'
import { ExperimentParams } from './experiments.schema.ts'
import { presentAnalysis, presentEstimates, presentPlacement } from './observations.present.ts'
import {
  Analytics,
  AnalyticsQuery,
  Estimates,
  EstimatesQuery,
  ObservationsBody,
  Observed,
  Placement,
  PlacementQuery,
} from './observations.schema.ts'
import type { ObservationsService } from './observations.service.ts'

/** The variant of a device, the measurements of devices, and their analysis. */
export const observationsRoutes = (
  app: App,
  observations: ObservationsService,
  estimates: EstimatesService,
  beforeInvalid: NonNullable<RouteConfig['beforeInvalid']>,
): void => {
  app.get(
    '/api/v1/experiments/:experiment_id/assignment',
    {
      schema: {
        operationId: 'getExperimentAssignment',
        summary: "Get a device's variant",
        description: "A device's variant, the same for as long as the device is in the target groups.",
        params: ExperimentParams,
        querystring: PlacementQuery,
        response: { 200: Placement },
      },
      config: { access: 'models:read', errors: ['bad_request', 'not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { experiment_id } = request.params
      return presentPlacement(await observations.placement(callerOf(request), experiment_id, request.query.device_id))
    },
  )

  app.post(
    '/api/v1/experiments/:experiment_id/observations',
    {
      schema: {
        operationId: 'addObservations',
        summary: 'Add observations to an experiment',
        description: 'Add what devices measured while they ran their variant: one observation, or up to 1,000.',
        params: ExperimentParams,
        body: ObservationsBody,
        response: { 200: Observed },
      },
      config: {
        access: ['models:write', 'self'],
        errors: ['bad_request', 'not_found', 'conflict'],
        beforeInvalid,
      } satisfies RouteConfig,
    },
    async (request) => {
      const { device_id, metrics, observations: many } = request.body
      const caller = callerOf(request)
      const { experiment_id } = request.params
      if ((device_id === undefined) !== (metrics === undefined) || (device_id === undefined) === (many === undefined)) {
        throw badRequest('Send either device_id and metrics, or observations: a list of such pairs.')
      }
      const outside = new Set<string>()
      const reported = (name: string, sent: Readonly<Record<string, number | null>>) => {
        const { values, outside: lost } = reportedValues(sent)
        for (const metric of lost) outside.add(metric)
        return { deviceId: name, metrics: values }
      }
      const observed =
        device_id !== undefined && metrics !== undefined
          ? observations.observeOne(caller, experiment_id, reported(device_id, metrics))
          : observations.observe(
              caller,
              experiment_id,
              (many ?? []).map((one) => reported(one.device_id, one.metrics)),
            )
      const { experiment, accepted, skipped } = await observed
      if (outside.size > 0) warn(request, outsideWarning('metrics', [...outside]))
      return {
        experiment_id: experiment.id,
        accepted,
        skipped: skipped.map(({ deviceId, reason }) => ({ device_id: deviceId, reason })),
      }
    },
  )

  app.get(
    '/api/v1/experiments/:experiment_id/analytics',
    {
      schema: {
        operationId: 'getExperimentAnalytics',
        summary: 'Compare the variants of an experiment',
        description: 'The measurements of each variant, and whether they differ.',
        params: ExperimentParams,
        querystring: AnalyticsQuery,
        response: { 200: Analytics },
      },
      config: { access: 'models:read', errors: ['bad_request', 'not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { params, query } = request
      return presentAnalysis(await observations.analytics(callerOf(request), params.experiment_id, query.metric))
    },
  )

  app.get(
    '/api/v1/experiments/:experiment_id/estimates',
    {
      schema: {
        operationId: 'getExperimentEstimates',
        summary: "Get an experiment's estimates over time",
        description:
          'The primary metric of each variant and its difference from the first variant over time, oldest first. The last point is the current estimate.',
        params: ExperimentParams,
        querystring: EstimatesQuery,
        response: { 200: Estimates },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) =>
      presentEstimates(
        await estimates.overTime(callerOf(request), request.params.experiment_id, request.query.limit ?? 200),
      ),
  )
}
