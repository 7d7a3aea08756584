import { Type } from 'typebox'
import { DEVICE_STATES } from '../../../domain/delivery-plan.ts'
import { ROLLOUT_ENDED_BY } from '../../../domain/rollout.ts'
import {
  Body,
  Count,
  Envelope,
  Line,
  Nullable,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { ModelParams } from '../../catalog/models/models.schema.ts'
import { EndedSince, historyFields, WITHDRAWN } from '../assignments/plans.schema.ts'
import { examples } from '../delivery.examples.ts'

const Percentage = Type.Integer({ minimum: 0, maximum: 100 })
const MONTH_MINUTES = 60 * 24 * 31

export const CreateRolloutBody = Body('NewRollout', 'A rollout to create', examples.newRollout, {
  version: Line(
    200,
    'A version of the model, latest, or an alias; one that has not been uploaded yet is accepted with a warning, except where the start needs approval',
  ),
  rollout_percentage: Type.Integer({ minimum: 0, maximum: 100, description: 'The first step' }),
  target_percentage: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'Default: 100' })),
  increment_step: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 10' })),
  start_immediately: Type.Optional(Type.Boolean({ description: 'Default: true' })),
  step_interval_minutes: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: MONTH_MINUTES,
      description: 'Default: 60; may be a fraction, down to one second',
    }),
  ),
  group: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Only the devices of this group (id or name)',
    }),
  ),
  auto_rollback: Type.Optional(
    Type.Boolean({
      description:
        'Whether too many failures roll it back instead of pausing it; default: false. Always true if the organization has automatic_rollback',
    }),
  ),
})

const STATUSES = ['pending', 'active', 'paused', 'completed', 'rolled_back'] as const
const RolloutStatusWord = OneOf(STATUSES, { title: 'RolloutStatus', description: 'The state of a rollout' })

const rolloutFields = {
  rollout_id: Uuid,
  model_id: Uuid,
  org_id: Nullable(Type.String()),
  version: Type.String(),
  status: RolloutStatusWord,
  percentage: Percentage,
  initial_percentage: Percentage,
  target_percentage: Percentage,
  increment_step: Type.Integer({ minimum: 1 }),
  step_interval_minutes: Type.Number(),
  group_id: Nullable(Uuid),
  auto_rollback: Type.Boolean(),
  reason: Nullable(Type.String({ description: 'Why it was paused or rolled back' })),
  next_step_at: Nullable(Timestamp),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  ended_at: Nullable(Timestamp),
  ended_by: Nullable(
    OneOf(ROLLOUT_ENDED_BY, {
      description:
        'user: a person or key completed it or rolled it back; service: its steps, its health, or a policy did, as `reason` says',
    }),
  ),
  updated_at: Timestamp,
}

const RolloutSummary = Part('RolloutSummary', 'A rollout in a list', rolloutFields)
export const RolloutList = Body('ActiveRolloutList', 'The active rollouts', examples.activeRolloutList, {
  rollouts: Type.Array(RolloutSummary),
})
const ListedRollout = Part('ListedRollout', 'A rollout with the name of its model', {
  ...rolloutFields,
  model_name: Nullable(Type.String()),
})
export const RolloutPage = Body('RolloutList', 'A page of rollouts', examples.rolloutList, {
  rollouts: Type.Array(ListedRollout),
  ...Envelope,
})

export const AllRolloutsQuery = Type.Object({
  ...Page({ max: 1000, default: 100 }),
  status: Type.Optional(OneOf(STATUSES, { description: 'Only rollouts in this state' })),
  ended_by: Type.Optional(OneOf(ROLLOUT_ENDED_BY, { description: 'Only rollouts that a user or the service ended' })),
  ended_since: EndedSince,
})
export const AllRollouts = Body('AllRollouts', 'A page of the rollouts of all models', examples.allRollouts, {
  rollouts: Type.Array(ListedRollout),
  ...Envelope,
})

const RolloutHealth = Part('RolloutHealth', 'The share of failures that pauses a rollout or rolls it back', {
  since: Nullable(Timestamp),
  reports: Type.Integer({
    minimum: 0,
    description: 'Devices that have reported the version as active or failed since `since`',
  }),
  failed: Count,
  max_failure_share: Type.Number({ description: 'Maximum share of failures among the reports' }),
  min_reports: Type.Integer({ description: 'Minimum number of reports before the share counts' }),
})

const FailureReason = Part('FailureReason', 'Why devices failed', { reason: Nullable(Type.String()), devices: Count })

export const Rollout = Body('Rollout', 'A rollout with what its devices reported', examples.rollout, {
  ...rolloutFields,
  model_name: Nullable(Type.String()),
  reports: Type.Object(
    {
      downloading: Count,
      verifying: Count,
      ready: Count,
      active: Count,
      failed: Count,
      withdrawn: Type.Optional(Count),
    },
    { description: `How many devices last reported each state; of a rolled-back rollout, ${WITHDRAWN}` },
  ),
  health: RolloutHealth,
  failures: Type.Array(FailureReason, { description: 'The ten most frequent failure reasons' }),
  approval_id: Type.Optional(
    Type.String({ format: 'uuid', description: 'The pending approval that its start waits for, if any' }),
  ),
  warnings: Type.Array(Type.String()),
})

export { ModelParams }

const RolloutId = Parameter('RolloutId', Type.String({ description: 'Id of a rollout' }))
export const RolloutParams = Type.Object({ ...ModelParams.properties, rollout_id: RolloutId })

export const PercentageBody = Body('RolloutPercentage', 'The percentage of devices to reach', examples.percentage, {
  percentage: Type.Integer({
    minimum: 0,
    maximum: 100,
    description: 'A value above the target raises the target; an active rollout that reaches it is completed',
  }),
})

export const Deleted = Body('DeletedRollout', 'A deleted rollout', examples.deletedRollout, {
  rollout_id: Uuid,
  deleted: Type.Boolean(),
})

export const RolloutHistory = Body(
  'RolloutHistory',
  'A page of the events of a rollout',
  examples.rolloutHistory,
  historyFields,
)

export const AffectedDevices = Body('RolloutDeviceList', "A page of a rollout's devices", examples.rolloutDeviceList, {
  devices: Type.Array(
    Part('RolloutDevice', 'A device of a rollout and what it reported', {
      device_id: Type.String(),
      state: OneOf(['assigned', ...DEVICE_STATES], { description: `assigned: no report yet; ${WITHDRAWN}` }),
      version: Nullable(Type.String()),
      reason: Nullable(Type.String()),
      reported_at: Nullable(Timestamp),
      current: Type.Boolean({ description: 'Whether the rollout currently assigns its version to the device' }),
    }),
  ),
  states: Type.Record(Type.String(), Count, {
    description: 'How many of the devices with `current` are in each state, on all pages',
  }),
  ...Envelope,
})

export const DryRun = Body('RolloutPreview', 'The schedule of a rollout that stays healthy', examples.rolloutPreview, {
  model_id: Uuid,
  version: Type.String(),
  target_devices: Count,
  steps: Type.Array(Type.Object({ after_minutes: Type.Number(), percentage: Percentage, devices: Count })),
  minutes_to_target: Type.Number(),
  warnings: Type.Array(Type.String()),
})
