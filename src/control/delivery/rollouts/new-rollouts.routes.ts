import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { presentPreview, wantedBy } from './rollouts.present.ts'
import { CreateRolloutBody, DryRun, ModelParams, Rollout } from './rollouts.schema.ts'
import type { RolloutDetail, RolloutsService } from './rollouts.service.ts'

/** Rollouts that begin, or would. */
export const newRolloutsRoutes = (
  app: App,
  rollouts: RolloutsService,
  beforeInvalid: NonNullable<RouteConfig['beforeInvalid']>,
  presentDetail: (found: RolloutDetail) => Promise<Static<typeof Rollout>>,
): void => {
  app.post(
    '/api/v1/models/:model_id/rollouts',
    {
      schema: {
        operationId: 'createRollout',
        summary: 'Create a rollout',
        description: 'Deliver a version to a growing percentage of the fleet while the rollout is healthy.',
        params: ModelParams,
        body: CreateRolloutBody,
        response: { 201: Rollout },
      },
      config: { access: 'models:write', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request, reply) => {
      const created = await rollouts.create(callerOf(request), request.params.model_id, wantedBy(request.body))
      return reply.code(201).send(await presentDetail(created))
    },
  )

  app.post(
    '/api/v1/models/:model_id/rollouts/dry-run',
    {
      schema: {
        operationId: 'previewRollout',
        summary: "Preview a rollout's schedule",
        description: 'The schedule of a rollout that stays healthy. Creates nothing.',
        'x-extension': true,
        params: ModelParams,
        body: CreateRolloutBody,
        response: { 200: DryRun },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      return presentPreview(
        await rollouts.previewSchedule(callerOf(request), request.params.model_id, wantedBy(request.body)),
      )
    },
  )
}
