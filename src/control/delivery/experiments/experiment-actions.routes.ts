import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { present } from './experiments.present.ts'
import { Experiment, ExperimentParams, ReasonBody, Started } from './experiments.schema.ts'
import type { ExperimentsService } from './experiments.service.ts'

const SUMMARIES = {
  pause: 'Pause an experiment',
  resume: 'Resume an experiment',
  complete: 'Complete an experiment',
  cancel: 'Cancel an experiment',
} as const

/** What operators do to an experiment; 409 where it has no place in its status. */
export const experimentActionsRoutes = (
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
        description: 'Assign variants to the devices of the target groups.',
        params: ExperimentParams,
        response: { 200: Started },
      },
      config: changes,
    },
    async (request) => {
      const { id, status, startedAt } = await experiments.steer(
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
          'x-extension': true,
          params: ExperimentParams,
          body: optionalBody(ReasonBody),
          response: { 200: Experiment },
        },
        config: changes,
      },
      async (request) => {
        const caller = callerOf(request)
        const reason = request.body?.reason ?? null
        const experiment = await experiments.steer(caller, request.params.experiment_id, event, reason)
        return { ...present(experiment), warnings: await experiments.warningsOf(caller, experiment) }
      },
    )
  }
}
