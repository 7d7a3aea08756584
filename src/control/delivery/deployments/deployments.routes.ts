import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { aimOf, present } from './deployment-body.schema.ts'
import {
  Deployment,
  DeploymentDevices,
  DeploymentHistory,
  DeploymentList,
  DeploymentParams,
  ExecuteBody,
  Executed,
  ListQuery,
  PageQuery,
  PrepareBody,
  Prepared,
  PromoteBody,
  ReasonBody,
} from './deployments.schema.ts'
import type { DeploymentsService, StoredDeployment } from './deployments.service.ts'

const WEEK_SECONDS = 7 * 24 * 60 * 60

export const deploymentsRoutes = (app: App, deployments: DeploymentsService): void => {
  const tags = ['deployments']
  /** A deployment that does not exist is 404, whatever else is wrong with the request. */
  const beforeInvalid = async (request: FastifyRequest): Promise<void> => {
    await deployments.get(callerOf(request), (request.params as { deployment_id: string }).deployment_id)
  }

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
    async (request) => {
      const { targets, warnings } = await deployments.aimAt(callerOf(request), aimOf(request.body))
      return {
        ok: targets.length > 0,
        target_count: targets.length,
        resolved_targets: targets.map(({ deviceId }) => deviceId),
        warnings: [...warnings],
      }
    },
  )

  app.post(
    '/api/v1/deploy/execute',
    {
      schema: {
        operationId: 'executeDeployment',
        summary: 'Deploy a version',
        description: 'Bring a version to devices, a group or the whole active fleet.',
        tags,
        body: ExecuteBody,
        response: { 200: Executed },
      },
      config: { access: 'models:write' } satisfies RouteConfig,
    },
    async (request) => {
      const { rollout_percentage, strategy, deadline_minutes } = request.body
      const deployment = await deployments.execute(callerOf(request), {
        ...aimOf(request.body),
        percentage: rollout_percentage ?? 100,
        strategy: strategy ?? 'canary',
        deadlineSeconds: deadline_minutes === undefined ? WEEK_SECONDS : Math.max(1, Math.round(60 * deadline_minutes)),
      })
      return {
        deployment_id: deployment.id,
        status: deployment.status,
        target_count: deployment.targetCount,
        activated_count: deployment.activatedCount,
        warnings: [...deployment.warnings],
      }
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

  app.get(
    '/api/v1/deployments/:deployment_id/devices',
    {
      schema: {
        operationId: 'listDeploymentDevices',
        summary: 'List the devices of a deployment',
        description: 'Its targets in the order of their names, with what each reported.',
        'x-extension': true,
        tags,
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
        devices: found.devices.map(({ deviceId, activated, report, reportedAt }) => ({
          device_id: deviceId,
          activated,
          state: report?.state ?? (activated ? ('assigned' as const) : ('waiting' as const)),
          version: report?.version ?? null,
          reason: report?.reason ?? null,
          reported_at: reportedAt?.toISOString() ?? null,
        })),
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
        description: 'Everything that happened to a deployment, oldest first.',
        'x-extension': true,
        tags,
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

  const steering = { access: 'models:write', errors: ['not_found', 'conflict'], beforeInvalid } satisfies RouteConfig

  app.post(
    '/api/v1/deployments/:deployment_id/rollback',
    {
      schema: {
        operationId: 'rollbackDeployment',
        summary: 'Roll back a deployment',
        description: 'Give every device what it got before.',
        'x-extension': true,
        tags,
        params: DeploymentParams,
        body: optionalBody(ReasonBody),
        response: { 200: Deployment },
      },
      config: steering,
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
        tags,
        params: DeploymentParams,
        body: PromoteBody,
        response: { 200: Deployment },
      },
      config: steering,
    },
    async (request) => {
      const { deployment_id } = request.params
      return presentDetail(await deployments.promote(callerOf(request), deployment_id, request.body.rollout_percentage))
    },
  )

  const presentDetail = async (deployment: StoredDeployment) => ({
    ...present(deployment),
    devices: { ...(await deployments.counts(deployment.id)).counts },
  })
}
