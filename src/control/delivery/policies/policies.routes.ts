import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import { PageQuery } from '../assignments/plans.schema.ts'
import { DecisionList, ModelParams, Policy, PolicyBody, PolicyList } from './policies.schema.ts'
import type { PoliciesService, StoredDecision, StoredPolicy } from './policies.service.ts'

export const policiesRoutes = (app: App, policies: PoliciesService, models: ModelsService): void => {
  const beforeInvalid = async (request: FastifyRequest): Promise<void> => {
    await models.find(callerOf(request), (request.params as { model_id: string }).model_id)
  }

  const shown = async (policy: StoredPolicy) => present(policy, await policies.warningsOf(policy))

  app.put(
    '/api/v1/models/:model_id/policy',
    {
      schema: {
        operationId: 'setPolicy',
        summary: "Set a model's policy",
        description:
          'The result of a completed round is tried on a canary, then promoted or rolled back automatically.',
        params: ModelParams,
        body: PolicyBody,
        response: { 200: Policy },
      },
      config: { access: 'models:write', errors: ['not_found'], beforeInvalid } satisfies RouteConfig,
    },
    async (request) => {
      const { body } = request
      const policy = await policies.set(callerOf(request), request.params.model_id, {
        enabled: body.enabled ?? false,
        canaryPercentage: body.canary_percentage ?? 10,
        canaryGroup: body.canary_group,
        observeMinutes: body.observe_minutes ?? 60,
        minReports: body.min_reports ?? 20,
        maxAccuracyDrop: body.max_accuracy_drop ?? 0.02,
        maxLossIncrease: body.max_loss_increase ?? 0.05,
        metricMargins: body.metric_margins ?? {},
        confidenceLevel: body.confidence_level ?? 0.95,
        incrementStep: body.increment_step ?? 10,
        stepIntervalSeconds: Math.max(1, Math.round(60 * (body.step_interval_minutes ?? 60))),
      })
      return shown(policy)
    },
  )

  app.get(
    '/api/v1/policies',
    {
      schema: {
        operationId: 'listPolicies',
        summary: 'List the policies of all models',
        description: 'Every policy with its model, newest first.',
        response: { 200: PolicyList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const found = await policies.list(callerOf(request))
      const listed = found.map(async ({ policy, model }) => ({
        ...(await shown(policy)),
        model_name: model?.name ?? model?.roundName ?? null,
      }))
      return { policies: await Promise.all(listed) }
    },
  )

  app.get(
    '/api/v1/models/:model_id/policy',
    {
      schema: {
        operationId: 'getPolicy',
        summary: "Get a model's policy",
        params: ModelParams,
        response: { 200: Policy },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => shown(await policies.find(callerOf(request), request.params.model_id)),
  )

  app.delete(
    '/api/v1/models/:model_id/policy',
    {
      schema: {
        operationId: 'deletePolicy',
        summary: "Delete a model's policy",
        description: 'Delete a policy and its decisions. A canary in progress stays as it is.',
        params: ModelParams,
        response: { 200: Policy },
      },
      config: { access: 'models:write', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => shown(await policies.delete(callerOf(request), request.params.model_id)),
  )

  app.get(
    '/api/v1/models/:model_id/policy/decisions',
    {
      schema: {
        operationId: 'listDecisions',
        summary: 'List the decisions of a policy',
        description: 'What the policy decided and why, newest first.',
        params: ModelParams,
        querystring: PageQuery,
        response: { 200: DecisionList },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await policies.decisions(callerOf(request), request.params.model_id, { limit, offset })
      return { decisions: found.decisions.map(presentDecision), total: found.total, limit, offset }
    },
  )
}

const present = ({ settings, ...policy }: StoredPolicy, warnings: string[]) => ({
  model_id: policy.modelId,
  org_id: policy.orgId,
  enabled: policy.enabled,
  canary_percentage: settings.canaryPercentage,
  canary_group_id: settings.canaryGroupId,
  observe_minutes: settings.observeMinutes,
  min_reports: settings.minReports,
  max_accuracy_drop: settings.maxAccuracyDrop,
  max_loss_increase: settings.maxLossIncrease,
  metric_margins: settings.metricMargins ?? {},
  confidence_level: settings.confidenceLevel,
  increment_step: settings.incrementStep,
  step_interval_minutes: settings.stepIntervalSeconds / 60,
  created_at: policy.createdAt.toISOString(),
  updated_at: policy.updatedAt.toISOString(),
  warnings,
})

const presentDecision = ({ record, ...decision }: StoredDecision) => ({
  id: decision.id,
  round_id: decision.roundId,
  round_number: record.roundNumber,
  aggregate_model_id: record.aggregateModelId,
  version: decision.version,
  status: decision.status,
  reason: record.reason,
  canary_rollout_id: decision.rolloutId,
  promotion_rollout_id: record.promotionRolloutId,
  comparisons: record.comparisons.map((comparison) => ({ ...comparison })),
  created_at: decision.createdAt.toISOString(),
  decided_at: decision.decidedAt?.toISOString() ?? null,
})
