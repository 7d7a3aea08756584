import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { ReasonBody } from '../assignments/plans.schema.ts'
import type { EstimatesService } from './estimates.service.ts'
import {
  CreateExperimentBody,
  Experiment,
  ExperimentList,
  ExperimentParams,
  ListExperimentsQuery,
  Started,
} from './experiments.schema.ts'
import type { ExperimentsService, StoredExperiment } from './experiments.service.ts'
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
        description: 'List experiments, newest first. The warnings name those that newer plans have replaced.',
        querystring: ListExperimentsQuery,
        response: { 200: ExperimentList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { status, limit, offset } = request.query
      const found = await experiments.list(callerOf(request), status, { limit, offset })
      const warnings = found.experiments.flatMap((experiment) =>
        experiments.replacementsOf(experiment).map((warning) => `Experiment '${experiment.name}': ${warning}`),
      )
      return { experiments: found.experiments.map(present), total: found.total, limit, offset, warnings }
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

  actionRoutes(app, experiments, beforeInvalid)
  observationsRoutes(app, observations, estimates, beforeInvalid)
}

const SUMMARIES = {
  pause: 'Pause an experiment',
  resume: 'Resume an experiment',
  complete: 'Complete an experiment',
  cancel: 'Cancel an experiment',
} as const

/** Routes for operators' actions; 409 if the experiment's status does not allow the action. */
const actionRoutes = (
  app: App,
  experiments: ExperimentsService,
  beforeInvalid: NonNullable<RouteConfig['beforeInvalid']>,
): void => {
  const changes = { access: 'models:write', errors: ['not_found', 'conflict'], beforeInvalid } as const

  app.post(
    '/api/v1/experiments/:experiment_id/start',
    {
      schema: {
        operationId: 'startExperiment',
        summary: 'Start an experiment',
        description: 'Assign variants to the devices of the target groups, or to all devices if there are none.',
        params: ExperimentParams,
        response: { 200: Started },
      },
      config: changes,
    },
    async (request) => {
      const { id, status, startedAt } = await experiments.applyAction(
        callerOf(request),
        request.params.experiment_id,
        'start',
        null,
      )
      return { id, status, started_at: startedAt!.toISOString() }
    },
  )

  for (const event of ['pause', 'resume', 'complete', 'cancel'] as const) {
    app.post(
      `/api/v1/experiments/:experiment_id/${event}`,
      {
        schema: {
          operationId: `${event}Experiment`,
          summary: SUMMARIES[event],
          params: ExperimentParams,
          body: optionalBody(ReasonBody),
          response: { 200: Experiment },
        },
        config: changes,
      },
      async (request) => {
        const caller = callerOf(request)
        const reason = request.body?.reason ?? null
        const experiment = await experiments.applyAction(caller, request.params.experiment_id, event, reason)
        return { ...present(experiment), warnings: await experiments.warningsOf(caller, experiment) }
      },
    )
  }
}

/** Returns an experiment with the API's field names. */
const present = (experiment: StoredExperiment) => ({
  id: experiment.id,
  org_id: experiment.orgId,
  name: experiment.name,
  status: experiment.status,
  variants: experiment.variants.map(({ name, modelId, version, allocation }) => ({
    name,
    model_id: modelId,
    version,
    allocation,
  })),
  target_groups: [...experiment.targetGroups],
  primary_metric: experiment.primaryMetric,
  confidence_level: experiment.confidenceLevel,
  reason: experiment.reason,
  created_at: experiment.createdAt.toISOString(),
  started_at: experiment.startedAt?.toISOString() ?? null,
  ended_at: experiment.endedAt?.toISOString() ?? null,
})
