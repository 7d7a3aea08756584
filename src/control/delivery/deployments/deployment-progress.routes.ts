import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { presentTarget } from './deployments.present.ts'
import { DeploymentDevices, DeploymentHistory, DeploymentParams, PageQuery } from './deployments.schema.ts'
import type { DeploymentsService } from './deployments.service.ts'

/** What became of a deployment, device by device and event by event. */
export const deploymentProgressRoutes = (
  app: App,
  deployments: DeploymentsService,
  beforeInvalid: NonNullable<RouteConfig['beforeInvalid']>,
): void => {
  app.get(
    '/api/v1/deployments/:deployment_id/devices',
    {
      schema: {
        operationId: 'listDeploymentDevices',
        summary: 'List the devices of a deployment',
        description: 'The targets in the order of their names, with their reports.',
        'x-extension': true,
        params: DeploymentParams,
        querystring: PageQuery,
        response: { 200: DeploymentDevices },
      },
      config: { access: 'devices:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const page = { limit, offset }
      const found = await deployments.targets(callerOf(request), request.params.deployment_id, page)
      return {
        devices: found.devices.map(presentTarget),
        total: found.total,
        ...page,
      }
    },
  )

  app.get(
    '/api/v1/deployments/:deployment_id/history',
    {
      schema: {
        operationId: 'getDeploymentHistory',
        summary: 'List the events of a deployment',
        description: 'All events of a deployment, oldest first.',
        'x-extension': true,
        params: DeploymentParams,
        querystring: PageQuery,
        response: { 200: DeploymentHistory },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const page = { limit, offset }
      const found = await deployments.history(callerOf(request), request.params.deployment_id, page)
      return {
        events: found.events.map((event) => ({ ...event, at: event.at.toISOString() })),
        total: found.total,
        ...page,
      }
    },
  )
}
