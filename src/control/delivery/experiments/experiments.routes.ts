import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { EstimatesService } from './estimates.service.ts'
import { experimentActionsRoutes } from './experiment-actions.routes.ts'
import { present } from './experiments.present.ts'
import {
  CreateExperimentBody,
  Experiment,
  ExperimentList,
  ExperimentParams,
  ListExperimentsQuery,
} from './experiments.schema.ts'
import type { ExperimentsService } from './experiments.service.ts'
import { observationsRoutes } from './observations.routes.ts'
import type { ObservationsService } from './observations.service.ts'

export const experimentsRoutes = (
  app: App,
  experiments: ExperimentsService,
  observations: ObservationsService,
  estimates: EstimatesService,
): void => {
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await experiments.get(callerOf(request), (request.params as { experiment_id: string }).experiment_id)
  }

  app.post(
    '/api/v1/experiments',
    {
      schema: {
        operationId: 'createExperiment',
        summary: 'Create an experiment',
        'x-extension': true,
        body: CreateExperimentBody,
        response: { 201: Experiment },
      },
      config: { access: 'models:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, variants, target_groups, primary_metric, confidence_level } = request.body
      const caller = callerOf(request)
      const created = await experiments.create(caller, {
        name,
        variants: variants.map((variant) => ({
          name: variant.name,
          model: variant.model_id,
          version: variant.version,
          allocation: variant.allocation,
        })),
        targetGroups: target_groups ?? [],
        primaryMetric: primary_metric ?? 'accuracy',
        confidenceLevel: confidence_level ?? 0.95,
      })
      const warnings = await experiments.warningsOf(caller, created)
      return reply.code(201).send({ ...present(created), warnings })
    },
  )

  app.get(
    '/api/v1/experiments',
    {
      schema: {
        operationId: 'listExperiments',
        summary: 'List experiments',
        description: 'List experiments, newest first.',
        'x-extension': true,
        querystring: ListExperimentsQuery,
        response: { 200: ExperimentList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { status, limit, offset } = request.query
      const found = await experiments.list(callerOf(request), status, { limit, offset })
      return { experiments: found.experiments.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/experiments/:experiment_id',
    {
      schema: {
        operationId: 'getExperiment',
        summary: 'Get an experiment',
        params: ExperimentParams,
        response: { 200: Experiment },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = callerOf(request)
      const experiment = await experiments.get(caller, request.params.experiment_id)
      return { ...present(experiment), warnings: await experiments.warningsOf(caller, experiment) }
    },
  )

  experimentActionsRoutes(app, experiments, beforeInvalid)
  observationsRoutes(app, observations, estimates, beforeInvalid)
}
