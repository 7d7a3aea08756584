import { withdrawnCounts } from '../../../domain/delivery-plan.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { AssignmentsService } from '../assignments/assignments.service.ts'
import { timeOf } from '../assignments/plans.present.ts'
import { PageQuery } from '../assignments/plans.schema.ts'
import { actionRoutes, historyRoutes } from './rollout-actions.routes.ts'
import { present, presentHealth, presentPreview, stepsOf } from './rollouts.present.ts'
import {
  AllRollouts,
  AllRolloutsQuery,
  CreateRolloutBody,
  Deleted,
  DryRun,
  ModelParams,
  Rollout,
  RolloutList,
  RolloutPage,
  RolloutParams,
} from './rollouts.schema.ts'
import type { RolloutDetail, RolloutsService } from './rollouts.service.ts'

const MAX_REASONS = 10

export const rolloutsRoutes = (
  app: App,
  rollouts: RolloutsService,
  assignments: AssignmentsService,
  models: ModelsService,
): void => {
  /** A missing model is 404, even if the request has other errors. */
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await models.find(callerOf(request), (request.params as { model_id: string }).model_id)
  }

  app.get(
    '/api/v1/rollouts/active',
    {
      schema: {
        operationId: 'listActiveRollouts',
        summary: 'List active rollouts',
        description: 'Active rollouts, newest first.',
        response: { 200: RolloutList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => ({ rollouts: (await rollouts.active(callerOf(request))).map(present) }),
  )

  app.get(
    '/api/v1/rollouts',
    {
      schema: {
        operationId: 'listAllRollouts',
        summary: 'List the rollouts of all models',
        description: 'Rollouts in every state, newest first.',
        querystring: AllRolloutsQuery,
        response: { 200: AllRollouts },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, status, ended_by: endedBy, ended_since } = request.query
      const filter = { status, endedBy, endedSince: timeOf(ended_since) }
      const found = await rollouts.listAll(callerOf(request), filter, { limit, offset })
      const list = found.rollouts.map(({ rollout, model }) => ({
        ...present(rollout),
        model_name: model?.name ?? model?.roundName ?? null,
      }))
      return { rollouts: list, total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/models/:model_id/rollouts',
    {
      schema: {
        operationId: 'listRollouts',
        summary: "List a model's rollouts",
        description: "A model's rollouts in every state, newest first.",
        params: ModelParams,
        querystring: PageQuery,
        response: { 200: RolloutPage },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await rollouts.list(callerOf(request), request.params.model_id, { limit, offset })
      const model_name = found.model.name ?? found.model.roundName
      const list = found.rollouts.map((rollout) => ({ ...present(rollout), model_name }))
      return { rollouts: list, total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/models/:model_id/rollouts/:rollout_id',
    {
      schema: {
        operationId: 'getRollout',
        summary: 'Get a rollout',
        description: 'One rollout, with what its devices reported.',
        params: RolloutParams,
        response: { 200: Rollout },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      return presentDetail(await rollouts.get(callerOf(request), model_id, rollout_id))
    },
  )

  app.delete(
    '/api/v1/models/:model_id/rollouts/:rollout_id',
    {
      schema: {
        operationId: 'deleteRollout',
        summary: 'Cancel and delete a rollout',
        description: 'Cancel and delete a rollout. Its devices return to their previous assignments.',
        params: RolloutParams,
        response: { 200: Deleted },
      },
      config: { access: 'models:write', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { model_id, rollout_id } = request.params
      await rollouts.delete(callerOf(request), model_id, rollout_id)
      return { rollout_id, deleted: true }
    },
  )

  const presentDetail = async ({ rollout, model }: RolloutDetail) => {
    const approvalId = await rollouts.approvalOf(rollout)
    const reports = await assignments.counts(rollout.id)
    return {
      ...present(rollout),
      model_name: model.name ?? model.roundName,
      reports: rollout.status === 'rolled_back' ? withdrawnCounts(reports) : reports,
      health: presentHealth(rollout, await assignments.counts(rollout.id, rollout.healthSince)),
      failures: [...(await assignments.failureReasons(rollout.id, MAX_REASONS))],
      ...(approvalId !== null && { approval_id: approvalId }),
      warnings: await rollouts.warningsOf(rollout),
    }
  }

  newRolloutsRoutes(app, rollouts, beforeInvalid, presentDetail)
  historyRoutes(app, rollouts)
  actionRoutes(app, rollouts, presentDetail)
}

/** Routes that create or preview rollouts. */
const newRolloutsRoutes = (
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
        description:
          'Deliver a version to a growing percentage of the fleet while the rollout is healthy. Where the organization requires ' +
          'approval, it stays pending until another admin approves; `warnings` names the approval.',
        params: ModelParams,
        body: CreateRolloutBody,
        response: { 201: Rollout },
      },
      config: { access: 'models:write', errors: ['not_found', 'conflict'], beforeInvalid } satisfies RouteConfig,
    },
    async (request, reply) => {
      const created = await rollouts.create(callerOf(request), request.params.model_id, stepsOf(request.body))
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
        params: ModelParams,
        body: CreateRolloutBody,
        response: { 200: DryRun },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      return presentPreview(
        await rollouts.previewSchedule(callerOf(request), request.params.model_id, stepsOf(request.body)),
      )
    },
  )
}
