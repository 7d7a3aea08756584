import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { presentHistory, timeOf } from '../assignments/plans.present.ts'
import { PageQuery, ReasonBody } from '../assignments/plans.schema.ts'
import { present, presentExecuted, presentPrepared, presentTarget, targetSelectorOf } from './deployments.present.ts'
import {
  Deployment,
  DeploymentDevices,
  DeploymentHistory,
  DeploymentList,
  DeploymentParams,
  ExecuteBody,
  Executed,
  ListQuery,
  PrepareBody,
  Prepared,
  PromoteBody,
} from './deployments.schema.ts'
import type { DeploymentsService, StoredDeployment } from './deployments.service.ts'

const WEEK_SECONDS = 7 * 24 * 60 * 60

export const deploymentsRoutes = (app: App, deployments: DeploymentsService): void => {
  const tags = ['deployments']
  /** A missing deployment is 404, even if the request has other errors. */
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await deployments.get(callerOf(request), (request.params as { deployment_id: string }).deployment_id)
  }

  const presentDetail = async (deployment: StoredDeployment) => ({
    ...present(deployment),
    devices: { ...(await deployments.counts(deployment)) },
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
      config: { access: 'models:read', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const caller = callerOf(request)
      return presentPrepared(caller, await deployments.prepare(caller, targetSelectorOf(request.body)))
    },
  )

  app.post(
    '/api/v1/deploy/execute',
    {
      schema: {
        operationId: 'executeDeployment',
        summary: 'Deploy a version',
        description:
          'Deliver a version to devices, a group, or all active devices. Where the organization requires approvals, a ' +
          'deployment that names neither devices nor a group, or reaches more than half of the devices, is `pending_approval`, and ' +
          'activates no device, until another admin approves it.',
        tags,
        body: ExecuteBody,
        response: { 200: Executed },
      },
      config: { access: 'models:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { rollout_percentage, strategy, deadline_minutes } = request.body
      const deployment = await deployments.request(callerOf(request), {
        ...targetSelectorOf(request.body),
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
        tags,
        querystring: ListQuery,
        response: { 200: DeploymentList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, model_name: modelName, status, ended_since } = request.query
      const filter = { modelName, status, endedSince: timeOf(ended_since) }
      const found = await deployments.list(callerOf(request), filter, { limit, offset })
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
        tags,
        params: DeploymentParams,
        response: { 200: Deployment },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => presentDetail(await deployments.get(callerOf(request), request.params.deployment_id)),
  )

  progressRoutes(app, deployments, beforeInvalid)
  actionRoutes(app, deployments, beforeInvalid, presentDetail)
}

/** Routes for a deployment's devices and history. */
const progressRoutes = (
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
        description: 'The targets in order of name, with their reports.',
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
        devices: found.devices.map((device) => presentTarget(device, found.deployment)),
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
        params: DeploymentParams,
        querystring: PageQuery,
        response: { 200: DeploymentHistory },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const found = await deployments.history(callerOf(request), request.params.deployment_id, request.query)
      return presentHistory(found, request.query)
    },
  )
}

/** Routes for operators' actions on a deployment under way. */
const actionRoutes = (
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
