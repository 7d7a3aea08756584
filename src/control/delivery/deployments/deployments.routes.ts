import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { deploymentActionsRoutes } from './deployment-actions.routes.ts'
import { deploymentProgressRoutes } from './deployment-progress.routes.ts'
import { aimOf, present, presentExecuted, presentPrepared } from './deployments.present.ts'
import {
  Deployment,
  DeploymentList,
  DeploymentParams,
  ExecuteBody,
  Executed,
  ListQuery,
  PrepareBody,
  Prepared,
} from './deployments.schema.ts'
import type { DeploymentsService, StoredDeployment } from './deployments.service.ts'

const WEEK_SECONDS = 7 * 24 * 60 * 60

export const deploymentsRoutes = (app: App, deployments: DeploymentsService): void => {
  const tags = ['deployments']
  /** A deployment that does not exist is 404, whatever else is wrong with the request. */
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await deployments.get(callerOf(request), (request.params as { deployment_id: string }).deployment_id)
  }

  const presentDetail = async (deployment: StoredDeployment) => ({
    ...present(deployment),
    devices: { ...(await deployments.counts(deployment.id)).counts },
  })

  app.post(
    '/api/v1/deploy/prepare',
    {
      schema: {
        operationId: 'prepareDeployment',
        summary: 'Validate a deployment without executing it',
        tags,
        body: PrepareBody,
        response: { 200: Prepared },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => presentPrepared(await deployments.prepare(callerOf(request), aimOf(request.body))),
  )

  app.post(
    '/api/v1/deploy/execute',
    {
      schema: {
        operationId: 'executeDeployment',
        summary: 'Deploy a version',
        description:
          'Deliver a version to devices, a group, or all active devices. Where the organization requires approvals, one to ' +
          'more than half of its devices is `pending_approval`, with no device activated, until another admin approves it.',
        tags,
        body: ExecuteBody,
        response: { 200: Executed },
      },
      config: { access: 'models:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { rollout_percentage, strategy, deadline_minutes } = request.body
      const deployment = await deployments.request(callerOf(request), {
        ...aimOf(request.body),
        percentage: rollout_percentage ?? 100,
        strategy: strategy ?? 'canary',
        deadlineSeconds: deadline_minutes === undefined ? WEEK_SECONDS : Math.max(1, Math.round(60 * deadline_minutes)),
      })
      return presentExecuted(deployment)
    },
  )

  app.get(
    '/api/v1/deployments',
    {
      schema: {
        operationId: 'listDeployments',
        summary: 'List deployments',
        description: 'Deployments in every state, newest first.',
        'x-extension': true,
        tags,
        querystring: ListQuery,
        response: { 200: DeploymentList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, model_name } = request.query
      const found = await deployments.list(callerOf(request), model_name, { limit, offset })
      return { deployments: found.deployments.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/deployments/:deployment_id',
    {
      schema: {
        operationId: 'getDeployment',
        summary: 'Get a deployment',
        description: 'One deployment, with how many devices are in each state.',
        'x-extension': true,
        tags,
        params: DeploymentParams,
        response: { 200: Deployment },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => presentDetail(await deployments.get(callerOf(request), request.params.deployment_id)),
  )

  deploymentProgressRoutes(app, deployments, beforeInvalid)
  deploymentActionsRoutes(app, deployments, beforeInvalid, presentDetail)
}
