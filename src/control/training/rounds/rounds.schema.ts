import { Type } from 'typebox'
import { ROUND_STATUSES, TIMEOUT_SECONDS } from '../../../domain/round.ts'
import {
  Body,
  Count,
  Envelope,
  FreeObject,
  FreeRequestObject,
  Nullable,
  OneOf,
  OrgId,
  Page,
  Parameter,
  Part,
  RefWith,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { SecureAggregation, SecureSettings } from '../secure-rounds/secure-rounds.schema.ts'
import { examples } from '../training.examples.ts'
import { EvaluationSummary, RoundMetrics } from './evaluation.schema.ts'
import {
  AccountantName,
  ParticipantScopeFields,
  RawVector,
  RoundPrivacy,
  Sampling,
  StrategyField,
  StrategyName,
  StrategyOptionsField,
} from './round-settings.schema.ts'

const MAX_DEVICES = 10_000_000

export const StartRoundBody = Body('NewRound', 'A training round to start', examples.newRound, {
  target_devices: Type.Integer({ minimum: 1, maximum: MAX_DEVICES, description: 'Devices to select' }),
  min_devices: Type.Integer({
    minimum: 1,
    maximum: MAX_DEVICES,
    description:
      'Minimum number of updates; with fewer, the round fails. krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine',
  }),
  timeout_seconds: Type.Optional(
    Type.Integer({
      minimum: TIMEOUT_SECONDS.min,
      maximum: TIMEOUT_SECONDS.max,
      description: `Default: ${TIMEOUT_SECONDS.default}`,
    }),
  ),
  global_model_id: Type.Optional(
    Type.String({
      description:
        "Id or name, or name@version. Default: the organization's latest aggregated model, or in a federation, the latest from its rounds there",
    }),
  ),
  org_id: Type.Optional(
    OrgId(
      'Only for keys that are not bound to an organization; default: the organization of the group or federation, or else of the device that owns the key, or else of the model',
    ),
  ),
  hyperparameters: Type.Optional(
    FreeRequestObject('Passed to the devices in the plan, such as local_epochs, batch_size, learning_rate'),
  ),
  strategy: StrategyField,
  strategy_options: StrategyOptionsField,
  ...ParticipantScopeFields,
  privacy: Type.Optional(RoundPrivacy),
  secure_aggregation: Type.Optional(SecureAggregation),
  raw_vector: Type.Optional(RawVector),
})

export const Round = Body('Round', 'A training round', examples.round, {
  id: Uuid,
  org_id: Nullable(Type.String()),
  round_number: Type.Integer({ minimum: 1 }),
  status: OneOf(ROUND_STATUSES, { title: 'RoundStatus', description: 'The state of a round' }),
  target_devices: Count,
  min_devices: Count,
  participated_devices: Count,
  completed_devices: Count,
  failed_devices: Count,
  global_model_id: Nullable(Uuid),
  global_model_path: Nullable(Type.String()),
  aggregated_model_id: Nullable(Uuid),
  model_deleted_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'When retention deleted its model' }),
  ),
  aggregated_model_path: Nullable(Type.String()),
  failure_reason: Nullable(Type.String()),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  ended_at: Nullable(Type.String({ format: 'date-time', description: 'When it completed or failed' })),
  timeout_at: Nullable(Timestamp),
  created_at: Timestamp,
  strategy: Type.Optional(StrategyName),
  strategy_options: Type.Optional(FreeObject),
  job_id: Type.Optional(Uuid),
  group_id: Type.Optional(Uuid),
  federation_id: Type.Optional(Uuid),
  wanted_updates: Type.Optional(Count),
  privacy: Type.Optional(
    Part('RoundPrivacy', 'How a private round clips, adds noise, and draws devices', {
      noise_multiplier: Type.Number(),
      clip_norm: Type.Number(),
      denominator: Count,
      sample_rate: Type.Number(),
      ...Sampling,
      closes_at: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'The latest end of the round; it ends earlier once every drawn device has delivered or failed',
        }),
      ),
      adaptive_clip: Type.Boolean(),
      target_delta: Type.Optional(Type.Number()),
      epsilon: Type.Optional(Type.Number({ description: 'The cost of the round alone; costs are not additive' })),
      accountant: Type.Optional(AccountantName),
    }),
  ),
  secure_aggregation: Type.Optional(SecureSettings),
  raw_vector: Type.Optional(RawVector),
  accuracy: Type.Optional(Nullable(Type.Number())),
  loss: Type.Optional(Nullable(Type.Number())),
  ...RoundMetrics,
  evaluation_until: Type.Optional(
    Type.String({ format: 'date-time', description: 'Deadline for devices to evaluate the new model' }),
  ),
  global_evaluation: Type.Optional(
    RefWith(EvaluationSummary, {
      description: 'Metrics of the model that the round distributed, reported with the updates',
    }),
  ),
})

const RoundId = Parameter('RoundId', Type.String({ description: 'Id of a round' }))
export const RoundParams = Type.Object({ round_id: RoundId })

export const Plan = Body('Plan', 'What a device needs to take part in a round', examples.plan, {
  round_id: Uuid,
  round_number: Type.Integer({ minimum: 1 }),
  strategy: StrategyName,
  hyperparameters: FreeObject,
  timeout_at: Timestamp,
  strategy_options: Type.Optional(FreeObject),
  job_id: Type.Optional(Uuid),
  rounds_completed: Type.Optional(
    Type.Integer({ minimum: 0, description: 'How many rounds the job had completed when this one began' }),
  ),
  asynchronous: Type.Optional(Type.Boolean({ description: 'Updates that arrive late count for a later round' })),
  control: Type.Optional(
    Nullable(
      Type.Object(
        { control_size_bytes: Count, control_hash: Type.String() },
        { description: "SCAFFOLD's global control variate; null in a job's first round, where it is zero" },
      ),
    ),
  ),
  secure_aggregation: Type.Optional(SecureSettings),
  raw_vector: Type.Optional(RawVector),
  privacy: Type.Optional(
    Part('PlanPrivacy', 'How a device clips its update', {
      noise_multiplier: Type.Number(),
      clip_norm: Type.Number(),
      denominator: Count,
      sample_rate: Type.Number(),
      ...Sampling,
    }),
  ),
  clip_norm: Type.Optional(Type.Number({ description: 'The norm that updates are clipped to before they are summed' })),
  model: Nullable(
    Type.Object({
      model_id: Uuid,
      version: Type.Integer({ minimum: 1 }),
      format: Type.String(),
      model_size_bytes: Count,
      model_hash: Type.String(),
    }),
  ),
})

export const FailureBody = Body('Failure', 'Why a device failed', examples.failure, {
  reason: Type.String({ minLength: 1, maxLength: 2000 }),
})

export const ListRoundsQuery = Type.Object(Page({ max: 1000, default: 100 }))
export const FindRoundsQuery = Type.Object({
  status: Type.Optional(Round.properties.status),
  ...Page({ max: 1000, default: 100 }),
})

export const CancelRoundBody = Body('Cancellation', 'Why a round is canceled', examples.cancellation, {
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
})

export const RoundList = Body('RoundList', 'A page of rounds', examples.roundList, {
  rounds: Type.Array(Round),
  ...Envelope,
})
