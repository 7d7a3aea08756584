import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { AffectedDevices, PageQuery, RolloutHistory, RolloutParams } from './rollouts.schema.ts'
import type { RolloutsService } from './rollouts.service.ts'

/** What has come of a rollout: everything that happened to it, and the devices that it reached. */
export const historyRoutes = (app: App, rollouts: RolloutsService): void => {
  app.get(
    '/api/v1/models/:model_id/rollouts/:rollout_id/history',
    {
      schema: {
        operationId: 'getRolloutHistory',
        summary: 'List the events of a rollout',
        description: 'All events of a rollout, oldest first.',
        'x-extension': true,
        params: RolloutParams,
        querystring: PageQuery,
        response: { 200: RolloutHistory },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      const { limit, offset } = request.query
      const found = await rollouts.history(callerOf(request), model_id, rollout_id, { limit, offset })
      return {
        events: found.events.map((event) => ({ ...event, at: event.at.toISOString() })),
        total: found.total,
        limit,
        offset,
      }
    },
  )

  app.get(
    '/api/v1/models/:model_id/rollouts/:rollout_id/devices',
    {
      schema: {
        operationId: 'listRolloutDevices',
        summary: 'List the devices of a rollout',
        description: 'The devices that the rollout includes or included, with their reports.',
        'x-extension': true,
        params: RolloutParams,
        querystring: PageQuery,
        response: { 200: AffectedDevices },
      },
      config: { access: 'devices:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      const { limit, offset } = request.query
      const found = await rollouts.affected(callerOf(request), model_id, rollout_id, { limit, offset })
      return {
        devices: found.devices.map(({ deviceId, report, assigned }) => ({
          device_id: deviceId,
          state: report?.state ?? ('assigned' as const),
          version: report?.version ?? null,
          reason: report?.reason ?? null,
          reported_at: report?.reportedAt.toISOString() ?? null,
          current: assigned,
        })),
        total: found.total,
        limit,
        offset,
      }
    },
  )
}
