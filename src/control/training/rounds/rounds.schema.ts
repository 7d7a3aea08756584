import { Type } from 'typebox'
import { REPORTED_RANGE } from '../../../domain/reported-number.ts'
import { TIMEOUT_SECONDS } from '../../../domain/round.ts'
import {
  Beside,
  Body,
  Count,
  Envelope,
  FreeObject,
  Nullable,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { QueriedDevice } from '../../delivery/experiments/experiments.schema.ts'
import { SecureAggregation, SecureSettings } from '../secure-rounds/secure-rounds.schema.ts'
import { examples } from '../training.examples.ts'
import { EvaluationReport, EvaluationSummary, ReportedMetrics, RoundMetrics } from './metrics.schema.ts'
import { ReachFields } from './reach-body.schema.ts'
import { StrategyField, StrategyName, StrategyOptionsField } from './strategy-options.schema.ts'

const MAX_DEVICES = 10_000_000

export const NoiseMultiplier = Type.Number({ exclusiveMinimum: 0, maximum: 1000 })
export const ClipNorm = Type.Number({ exclusiveMinimum: 0, maximum: 1e9 })

export const TargetDelta = Type.Number({
  exclusiveMinimum: 0,
  exclusiveMaximum: 1,
  description: 'The delta at which epsilon is reported; 1e-5 when absent',
})
export const AccountantName = OneOf(['rdp', 'pld'], {
  title: 'Accountant',
  description: 'Which bound is the tighter one',
})

/** Clipping and noise: what can be said of a round, and of a job. */
export const RoundPrivacy = Type.Object(
  {
    noise_multiplier: NoiseMultiplier,
    clip_norm: ClipNorm,
    adaptive_clip: Type.Optional(Type.Boolean()),
    target_delta: Type.Optional(TargetDelta),
  },
  {
    title: 'NewRoundPrivacy',
    'x-extension': true,
    description: 'Every update is clipped to clip_norm, and their sum gets Gaussian noise',
  },
)

export const RawVector = Type.Boolean({
  description: 'The model, where there is one, and the updates are bare little-endian float32 vectors',
})

/** How a private round draws its devices; absent in rounds of before version 1.1. */
const Sampling = {
  sampling: Type.Optional(
    OneOf(['poisson'], { description: 'Every eligible device is drawn independently with the same probability' }),
  ),
  population: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Eligible devices N; sample_rate is target_devices / N, both fixed before the draw',
    }),
  ),
  adjacency: Type.Optional(
    OneOf(['zero-out'], {
      description: 'What epsilon compares: a device that takes part with the same device sending nothing, N unchanged',
    }),
  ),
}

export const StartRoundBody = Body('NewRound', 'A training round to start', examples.newRound, {
  target_devices: Type.Integer({ minimum: 1, maximum: MAX_DEVICES, description: 'Devices to select' }),
  min_devices: Type.Integer({ minimum: 1, maximum: MAX_DEVICES, description: 'Updates without which the round fails' }),
  timeout_seconds: Type.Optional(Type.Integer({ minimum: TIMEOUT_SECONDS.min, maximum: TIMEOUT_SECONDS.max })),
  global_model_id: Type.Optional(
    Type.String({ description: 'Id or name, or name@version; the latest aggregated model when absent' }),
  ),
  org_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, 'x-extension': true, description: 'For keys without an org_id' }),
  ),
  hyperparameters: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      ...FreeObject,
      'x-extension': true,
      description: 'Passed to the devices in the plan, such as local_epochs, batch_size, learning_rate',
    }),
  ),
  strategy: StrategyField,
  strategy_options: StrategyOptionsField,
  ...ReachFields,
  privacy: Type.Optional(RoundPrivacy),
  secure_aggregation: Type.Optional(SecureAggregation),
  raw_vector: Type.Optional(RawVector),
})

export const Round = Body('Round', 'A training round', examples.round, {
  id: Uuid,
  org_id: Nullable(Type.String()),
  round_number: Type.Integer({ minimum: 1 }),
  status: OneOf(['pending', 'active', 'aggregating', 'completed', 'failed'], {
    title: 'RoundStatus',
    description: 'The state of a round',
  }),
  target_devices: Count,
  min_devices: Count,
  participated_devices: Count,
  completed_devices: Count,
  failed_devices: Count,
  global_model_id: Nullable(Uuid),
  global_model_path: Nullable(Type.String()),
  aggregated_model_id: Nullable(Uuid),
  model_deleted_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'When retention deleted its model; it has none since' }),
  ),
  aggregated_model_path: Nullable(Type.String()),
  failure_reason: Nullable(Type.String()),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  timeout_at: Nullable(Timestamp),
  created_at: Timestamp,
  strategy: Type.Optional(Beside(StrategyName, { 'x-extension': true })),
  strategy_options: Type.Optional(FreeObject),
  job_id: Type.Optional(Uuid),
  group_id: Type.Optional(Uuid),
  federation_id: Type.Optional(Uuid),
  wanted_updates: Type.Optional(Count),
  privacy: Type.Optional(
    Part('RoundPrivacy', 'How a private round clips, adds noise and draws devices', {
      noise_multiplier: Type.Number(),
      clip_norm: Type.Number(),
      denominator: Count,
      sample_rate: Type.Number(),
      ...Sampling,
      closes_at: Type.Optional(
        Type.String({ format: 'date-time', description: 'The end of the round; updates do not change it' }),
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
    Type.String({ format: 'date-time', description: 'Devices are asked to evaluate its new model until then' }),
  ),
  global_evaluation: Type.Optional(
    Beside(EvaluationSummary, { description: 'Of the model that the round distributed, as its updates brought it' }),
  ),
})

const RoundId = Parameter('RoundId', Type.String({ description: 'Id of a round' }))
export const RoundParams = Type.Object({ round_id: RoundId })

/** What an integer column holds: 68 years. */
export const MAX_TRAINING_SECONDS = 2_147_483_647

/** The fields beside `file` in the multipart body. */
export const UpdateFields = Body('NewModelUpdate', "A device's update to submit", examples.newUpdate, {
  num_samples: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Samples that the device trained on: the weight of its update',
  }),
  local_loss: Type.Optional(Type.Number({ description: REPORTED_RANGE })),
  local_accuracy: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  training_time_seconds: Type.Optional(
    Type.Integer({ minimum: 0, description: `Above ${MAX_TRAINING_SECONDS} it becomes null, with a warning` }),
  ),
  metrics: Type.Optional(ReportedMetrics('JSON, such as {"f1": 0.8}: of the trained model, beside loss and accuracy')),
  evaluation: Type.Optional(
    Beside(EvaluationReport, { description: 'JSON: of the global model that the plan names, on held-out data' }),
  ),
})

export const ModelUpdate = Body('ModelUpdate', "A device's update", examples.update, {
  id: Uuid,
  round_id: Uuid,
  device_id: Uuid,
  model_path: Type.String(),
  model_size_bytes: Count,
  model_hash: Type.String(),
  num_samples: Count,
  local_loss: Nullable(Type.Number()),
  local_accuracy: Nullable(Type.Number()),
  training_time_seconds: Nullable(Count),
  created_at: Timestamp,
})

export const Plan = Body('Plan', 'What a device needs to take part in a round', examples.plan, {
  round_id: Uuid,
  round_number: Type.Integer({ minimum: 1 }),
  strategy: StrategyName,
  hyperparameters: FreeObject,
  timeout_at: Timestamp,
  strategy_options: Type.Optional(FreeObject),
  job_id: Type.Optional(Uuid),
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

const ListRoundsPage = Type.Object(Page({ max: 1000, default: 100 }))

const ParticipantState = OneOf(['selected', 'delivered', 'failed', 'absent'], {
  title: 'ParticipantState',
  description: 'absent: it did not fetch the plan in time; another may replace it, but its update is still accepted',
})

export const Participation = Body('Participation', 'Whether a device was selected, and why', examples.selection, {
  round_id: Uuid,
  device_id: Type.String(),
  selected: Type.Boolean(),
  state: Nullable(ParticipantState),
  reason: Type.String(),
})

export const ListParticipantsQuery = ListRoundsPage

export const ParticipantList = Body('ParticipantList', "A page of a round's devices", examples.participantList, {
  participants: Type.Array(
    Part('Participant', 'A device of a round', {
      device_id: Uuid,
      device_identifier: Type.String({ description: 'The id that the device chose for itself' }),
      org_id: Nullable(Type.String()),
      state: ParticipantState,
      chosen: OneOf(['drawn', 'starter', 'joined'], { description: 'How the device was selected' }),
      selected_at: Timestamp,
      acknowledged_at: Nullable(Timestamp),
      model_fetched_at: Nullable(Timestamp),
      reported_at: Nullable(Timestamp),
      reason: Nullable(Type.String({ description: 'Why the device failed or is absent' })),
    }),
  ),
  ...Envelope,
})

export const CancelRoundBody = Body('Cancellation', 'Why a round is canceled', examples.cancellation, {
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
})

export const SelectionQuery = Type.Object({
  device_id: Type.Optional(QueriedDevice),
})

const ReceiptUpdate = Part('ReceiptUpdate', 'An update that a round aggregated', {
  device_id: Type.String(),
  org_id: Type.Optional(
    Nullable(Type.String({ description: 'Present where devices of several organizations have this device_id' })),
  ),
  update_id: Uuid,
  sha256: Type.String(),
  num_samples: Count,
  weight: Nullable(Type.Number()),
  control_sha256: Type.Optional(Type.String()),
  base_model_sha256: Type.Optional(Type.String()),
  staleness: Type.Optional(Count),
})

export const Receipt = Body('Receipt', 'What a round aggregated, and the result', examples.receipt, {
  round_id: Uuid,
  strategy: Type.String(),
  kernel: Type.Object({ name: Type.String(), version: Type.String() }),
  order: Type.String(),
  global_model_sha256: Nullable(Type.String()),
  updates: Type.Array(ReceiptUpdate),
  output_sha256: Type.String(),
  strategy_options: Type.Optional(FreeObject),
  population: Type.Optional(Count),
  secure_aggregation: Type.Optional(SecureSettings),
  state_sha256: Type.Optional(Nullable(Type.String())),
  next_state_sha256: Type.Optional(Nullable(Type.String())),
  next_control_sha256: Type.Optional(Nullable(Type.String())),
  privacy: Type.Optional(
    Part('ReceiptPrivacy', 'How a private round was aggregated', {
      noise_multiplier: Type.Number(),
      clip_norm: Type.Number(),
      denominator: Count,
      adaptive_clip: Type.Boolean(),
      sample_rate: Type.Optional(Type.Number()),
      ...Sampling,
      target_delta: Type.Optional(Type.Number()),
      epsilon: Type.Optional(Type.Number()),
      accountant: Type.Optional(AccountantName),
      noise_seed_sha256: Type.String(),
    }),
  ),
})

export const Replay = Body('Replay', 'A receipt compared with a new aggregation', examples.replay, {
  round_id: Uuid,
  matches: Type.Boolean(),
  expected_sha256: Type.String(),
  replayed_sha256: Type.String(),
})

export const ListRoundsQuery = ListRoundsPage
export const RoundList = Body('RoundList', 'A page of rounds', examples.roundList, {
  rounds: Type.Array(Round),
  ...Envelope,
})

export const ListUpdatesQuery = ListRoundsQuery

export const RoundUpdates = Body('ModelUpdateList', "A page of a round's updates", examples.updateList, {
  updates: Type.Array(
    Part('ReviewedUpdate', 'An update and how it compares with the others', {
      ...ModelUpdate.properties,
      device_identifier: Type.String({ description: 'The id that the device chose for itself' }),
      metrics: Nullable(Type.Record(Type.String(), Type.Number())),
      evaluation: Nullable(EvaluationReport),
      norm: Nullable(
        Type.Number({ description: "L2 norm of the update's change; null before the round is completed" }),
      ),
      cosine: Nullable(Type.Number({ description: 'Between its change and the median change of every coordinate' })),
      non_finite: Nullable(Count),
      weight: Nullable(Type.Number({ description: 'The weight in the aggregate; null before the round is completed' })),
      staleness: Nullable(Count),
      base_round_id: Nullable(Uuid),
    }),
  ),
  ...Envelope,
})
