import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { Deployment, DeploymentParams, PromoteBody, ReasonBody } from './deployments.schema.ts'
import type { DeploymentsService, StoredDeployment } from './deployments.service.ts'

/** What operators do with a deployment under way. */
export const deploymentActionsRoutes = (
  app: App,
  deployments: DeploymentsService,
  beforeInvalid: NonNullable<RouteConfig['beforeInvalid']>,
  presentDetail: (deployment: StoredDeployment) => Promise<Static<typeof Deployment>>,
): void => {
  const changes = { access: 'models:write', errors: ['not_found', 'conflict'], beforeInvalid } satisfies RouteConfig

  app.post(
    '/api/v1/deployments/:deployment_id/rollback',
    {
      schema: {
        operationId: 'rollbackDeployment',
        summary: 'Roll back a deployment',
        description: 'Return every device to its previous assignment.',
        'x-extension': true,
        params: DeploymentParams,
        body: optionalBody(ReasonBody),
        response: { 200: Deployment },
      },
      config: changes,
    },
    async (request) => {
      const { deployment_id } = request.params
      return presentDetail(await deployments.rollback(callerOf(request), deployment_id, request.body?.reason))
    },
  )

  app.post(
    '/api/v1/deployments/:deployment_id/promote',
    {
      schema: {
        operationId: 'promoteDeployment',
        summary: 'Activate more targets of a deployment',
        'x-extension': true,
        params: DeploymentParams,
        body: PromoteBody,
        response: { 200: Deployment },
      },
      config: changes,
    },
    async (request) => {
      const { deployment_id } = request.params
      return presentDetail(await deployments.promote(callerOf(request), deployment_id, request.body.rollout_percentage))
    },
  )
}
