import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { AssignmentsService } from '../assignments/assignments.service.ts'
import { pastRoutes } from './past.routes.ts'
import {
  CreateRolloutBody,
  Deleted,
  DryRun,
  ModelParams,
  PageQuery,
  Rollout,
  RolloutList,
  RolloutPage,
  RolloutParams,
} from './rollouts.schema.ts'
import type { NewRollout, RolloutsService, StoredRollout } from './rollouts.service.ts'
import { steeringRoutes } from './steering.routes.ts'

export const rolloutsRoutes = (
  app: App,
  rollouts: RolloutsService,
  assignments: AssignmentsService,
  models: ModelsService,
): void => {
  /** A model that does not exist is 404, whatever else is wrong with the request. */
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await models.find(callerOf(request), (request.params as { model_id: string }).model_id)
  }

  app.get(
    '/api/v1/rollouts/active',
    {
      schema: {
        operationId: 'listActiveRollouts',
        summary: 'List active rollouts',
        description: 'The rollouts under way, newest first.',
        tags: ['rollouts'],
        response: { 200: RolloutList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => ({ rollouts: (await rollouts.active(callerOf(request))).map(present) }),
  )

  app.get(
    '/api/v1/models/:model_id/rollouts',
    {
      schema: {
        operationId: 'listRollouts',
        summary: "List a model's rollouts",
        description: "A model's rollouts in every state, newest first.",
        'x-extension': true,
        tags: ['rollouts'],
        params: ModelParams,
        querystring: PageQuery,
        response: { 200: RolloutPage },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await rollouts.list(callerOf(request), request.params.model_id, { limit, offset })
      return { rollouts: found.rollouts.map(present), total: found.total, limit, offset }
    },
  )

  app.post(
    '/api/v1/models/:model_id/rollouts',
    {
      schema: {
        operationId: 'createRollout',
        summary: 'Create a rollout',
        description: 'Bring a version to a growing part of the fleet, for as long as health holds.',
        tags: ['rollouts'],
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
        description: 'How a rollout would go if health held; creates nothing.',
        'x-extension': true,
        tags: ['rollouts'],
        params: ModelParams,
        body: CreateRolloutBody,
        response: { 200: DryRun },
      },
      config: { access: 'models:read', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const seen = await rollouts.foresee(callerOf(request), request.params.model_id, wantedBy(request.body))
      const steps = seen.steps.map(({ atSeconds, percentage, devices }) => ({
        after_minutes: atSeconds / 60,
        percentage,
        devices,
      }))
      return {
        model_id: seen.model.id,
        version: seen.version,
        target_devices: steps.at(-1)!.devices,
        steps,
        minutes_to_target: steps.at(-1)!.after_minutes,
        warnings: seen.warnings,
      }
    },
  )

  app.get(
    '/api/v1/models/:model_id/rollouts/:rollout_id',
    {
      schema: {
        operationId: 'getRollout',
        summary: 'Get a rollout',
        description: 'One rollout, with what its devices reported.',
        tags: ['rollouts'],
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
        description: 'Cancel and delete a rollout: its devices get what they got before.',
        tags: ['rollouts'],
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

  const presentDetail = async ({ rollout, model }: { rollout: StoredRollout; model: StoredModel }) => ({
    ...present(rollout),
    model_name: model.name,
    reports: await assignments.counts(rollout.id),
    warnings: await rollouts.warningsOf(rollout),
  })

  pastRoutes(app, rollouts)
  steeringRoutes(app, rollouts, presentDetail)
}

const wantedBy = (body: {
  readonly version: string
  readonly rollout_percentage: number
  readonly target_percentage?: number
  readonly increment_step?: number
  readonly start_immediately?: boolean
  readonly step_interval_minutes?: number
  readonly group?: string
  readonly auto_rollback?: boolean
}): NewRollout => ({
  version: body.version,
  percentage: body.rollout_percentage,
  targetPercentage: body.target_percentage ?? 100,
  incrementStep: body.increment_step ?? 10,
  stepIntervalSeconds: Math.max(1, Math.round(60 * (body.step_interval_minutes ?? 60))),
  group: body.group,
  autoRollback: body.auto_rollback ?? false,
  startImmediately: body.start_immediately ?? true,
})

const present = (rollout: StoredRollout) => ({
  rollout_id: rollout.id,
  model_id: rollout.modelId,
  org_id: rollout.orgId,
  version: rollout.version,
  status: rollout.status,
  percentage: rollout.percentage,
  initial_percentage: rollout.initialPercentage,
  target_percentage: rollout.targetPercentage,
  increment_step: rollout.incrementStep,
  step_interval_minutes: rollout.stepIntervalSeconds / 60,
  group_id: rollout.groupId,
  auto_rollback: rollout.autoRollback,
  reason: rollout.reason,
  next_step_at: rollout.nextStepAt?.toISOString() ?? null,
  created_at: rollout.createdAt.toISOString(),
  started_at: rollout.startedAt?.toISOString() ?? null,
  ended_at: rollout.endedAt?.toISOString() ?? null,
  updated_at: rollout.updatedAt.toISOString(),
})
