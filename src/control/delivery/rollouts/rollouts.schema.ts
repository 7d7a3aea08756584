import { Type } from 'typebox'
import { REPORT_STATES } from '../../../domain/delivery-plan.ts'
import { Count, Envelope, Nullable, OneOf, Page, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { ModelParams } from '../../catalog/models/models.schema.ts'

const Percentage = Type.Integer({ minimum: 0, maximum: 100 })
const MONTH_MINUTES = 60 * 24 * 31

export const CreateRolloutBody = Type.Object({
  version: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'A version of the model; one that is not uploaded yet is taken with a warning',
  }),
  rollout_percentage: Type.Integer({ minimum: 0, maximum: 100, description: 'The first step' }),
  target_percentage: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: '100 when absent' })),
  increment_step: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '10 when absent' })),
  start_immediately: Type.Optional(Type.Boolean({ description: 'true when absent' })),
  step_interval_minutes: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: MONTH_MINUTES,
      'x-extension': true,
      description: '60 when absent; fractions down to a second are fine',
    }),
  ),
  group: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      'x-extension': true,
      description: 'Only the devices of this group (id or name)',
    }),
  ),
  auto_rollback: Type.Optional(
    Type.Boolean({
      'x-extension': true,
      description: 'Too many failures roll it back instead of pausing it; false when absent',
    }),
  ),
})

export const RolloutStatusWord = OneOf(['pending', 'active', 'paused', 'completed', 'rolled_back'])

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
  updated_at: Timestamp,
}

export const RolloutList = Type.Object({ rollouts: Type.Array(Type.Object(rolloutFields)) })
export const RolloutPage = Type.Object({ rollouts: Type.Array(Type.Object(rolloutFields)), ...Envelope })

export const Rollout = Type.Object({
  ...rolloutFields,
  model_name: Nullable(Type.String()),
  reports: Type.Object(
    { downloading: Count, verifying: Count, ready: Count, active: Count, failed: Count },
    { description: 'How many devices last reported each state' },
  ),
  warnings: Type.Array(Type.String()),
})

export { ModelParams }
export const RolloutParams = Type.Object({ ...ModelParams.properties, rollout_id: Type.String() })
export const PageQuery = Type.Object(Page({ max: 1000, default: 100 }))

export const ReasonBody = Type.Object({ reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })) })
export const PercentageBody = Type.Object({
  percentage: Type.Integer({ minimum: 0, maximum: 100, description: 'Above the target, it becomes the target' }),
})

export const Deleted = Type.Object({ rollout_id: Uuid, deleted: Type.Boolean() })

export const RolloutHistory = Type.Object({
  events: Type.Array(
    Type.Object({
      at: Timestamp,
      event: Type.String(),
      status: Type.String({ description: 'After the event' }),
      percentage: Nullable(Type.Integer()),
      reason: Nullable(Type.String()),
      actor: Nullable(Type.String({ description: 'The id of the key that asked for it; null: the service itself' })),
    }),
  ),
  ...Envelope,
})

export const AffectedDevices = Type.Object({
  devices: Type.Array(
    Type.Object({
      device_id: Type.String(),
      state: OneOf(['assigned', ...REPORT_STATES], { description: 'assigned: it has not said anything yet' }),
      version: Nullable(Type.String()),
      reason: Nullable(Type.String()),
      reported_at: Nullable(Timestamp),
      current: Type.Boolean({ description: 'Whether the rollout gives the device its version now' }),
    }),
  ),
  ...Envelope,
})

export const DryRun = Type.Object({
  model_id: Uuid,
  version: Type.String(),
  target_devices: Count,
  steps: Type.Array(Type.Object({ after_minutes: Type.Number(), percentage: Percentage, devices: Count })),
  minutes_to_target: Type.Number(),
  warnings: Type.Array(Type.String()),
})
