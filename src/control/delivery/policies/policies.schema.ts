import { Type } from 'typebox'
import { Body, Count, Envelope, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { ModelParams } from '../../catalog/models/models.schema.ts'
import { examples } from '../delivery.examples.ts'

export { ModelParams }

const Share = (description: string, fallback: number) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: `${description}; default: ${fallback}` }))

export const PolicyBody = Body('NewPolicy', 'A policy to set', examples.newPolicy, {
  enabled: Type.Optional(Type.Boolean({ description: 'Default: false: nothing is rolled out automatically' })),
  canary_percentage: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, description: 'Must be below 100 without canary_group. Default: 10' }),
  ),
  canary_group: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Id or name of a device group; default: the fleet' }),
  ),
  observe_minutes: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 60 * 24 * 31,
      description: 'Default: 60; without a conclusion by then the canary is rolled back',
    }),
  ),
  min_reports: Type.Optional(
    Type.Integer({
      minimum: 2,
      maximum: 1_000_000,
      description: 'Devices on each side that must have reported before an early conclusion; default: 20',
    }),
  ),
  max_accuracy_drop: Share('How much lower the mean accuracy may be', 0.02),
  max_loss_increase: Share("How much higher the mean loss may be, as a share of the current version's", 0.05),
  metric_margins: Type.Optional(
    Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1e15 }), {
      maxProperties: 16,
      description:
        "Other metrics that devices report with a version, by name, and how much worse the mean may be: in the metric's units if higher is better, as a share of the current version's mean if lower is better (losses, errors, times)",
    }),
  ),
  confidence_level: Type.Optional(
    Type.Number({ exclusiveMinimum: 0.5, exclusiveMaximum: 1, description: 'Default: 0.95' }),
  ),
  increment_step: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'Increment step of the promotion, as in rollouts; default 10',
    }),
  ),
  step_interval_minutes: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 60 * 24 * 31, description: 'Default: 60' }),
  ),
})

const policyFields = {
  model_id: Uuid,
  org_id: Nullable(Type.String()),
  enabled: Type.Boolean(),
  canary_percentage: Type.Integer(),
  canary_group_id: Nullable(Uuid),
  observe_minutes: Type.Number(),
  min_reports: Type.Integer(),
  max_accuracy_drop: Type.Number(),
  max_loss_increase: Type.Number(),
  metric_margins: Type.Record(Type.String(), Type.Number()),
  confidence_level: Type.Number(),
  increment_step: Type.Integer(),
  step_interval_minutes: Type.Number(),
  created_at: Timestamp,
  updated_at: Timestamp,
  warnings: Type.Array(Type.String()),
}

export const Policy = Body('Policy', 'Rules for rolling out the result of a round', examples.policy, policyFields)
export const PolicyList = Body('PolicyList', 'The policies of all models', examples.policyList, {
  policies: Type.Array(
    Part('ListedPolicy', 'A policy in a list', { ...policyFields, model_name: Nullable(Type.String()) }),
  ),
})

const Side = Part('PolicySample', 'What devices with one version measured', {
  devices: Count,
  mean: Nullable(Type.Number()),
})

export const DecisionList = Body('DecisionList', "A page of a policy's decisions", examples.decisionList, {
  decisions: Type.Array(
    Part('Decision', 'The decision of a policy about a round', {
      id: Uuid,
      round_id: Uuid,
      round_number: Type.Integer(),
      aggregate_model_id: Uuid,
      version: Type.String({ description: 'Label of the version that contains the aggregate of the round' }),
      status: OneOf(['observing', 'promoted', 'rolled_back']),
      reason: Nullable(Type.String()),
      canary_rollout_id: Nullable(Uuid),
      promotion_rollout_id: Nullable(
        Type.String({
          format: 'uuid',
          description:
            "The rollout to all devices: the canary's own, or another one if the canary was limited to a group or an operator had completed it",
        }),
      ),
      comparisons: Type.Array(
        Part('PolicyComparison', 'The canary compared with the current version', {
          metric: Type.String({ description: 'accuracy, loss, or one of metric_margins' }),
          canary: Side,
          current: Side,
          interval: Nullable(Type.Object({ lower: Type.Number(), upper: Type.Number() })),
          margin: Type.Number(),
          finding: OneOf(['no_worse', 'worse', 'unclear']),
        }),
      ),
      created_at: Timestamp,
      decided_at: Nullable(Timestamp),
    }),
  ),
  ...Envelope,
})
