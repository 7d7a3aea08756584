import { Type } from 'typebox'
import { TIMEOUT_SECONDS } from '../../domain/round.ts'
import { Count, FreeObject, Nullable, OneOf, Timestamp, Uuid } from '../wire.schema.ts'

const MAX_DEVICES = 10_000_000

export const StartRoundBody = Type.Object({
  target_devices: Type.Integer({ minimum: 1, maximum: MAX_DEVICES }),
  min_devices: Type.Integer({ minimum: 1, maximum: MAX_DEVICES }),
  timeout_seconds: Type.Optional(Type.Integer({ minimum: TIMEOUT_SECONDS.min, maximum: TIMEOUT_SECONDS.max })),
  global_model_id: Type.Optional(Type.String({ description: 'Id or name; the latest aggregated model when absent' })),
  org_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Ours: for keys bound to no org' })),
  hyperparameters: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      ...FreeObject,
      description: 'Ours: handed to the devices with the plan, e.g. local_epochs, batch_size, learning_rate',
    }),
  ),
})

export const Round = Type.Object({
  id: Uuid,
  org_id: Nullable(Type.String()),
  round_number: Type.Integer({ minimum: 1 }),
  status: OneOf(['pending', 'active', 'aggregating', 'completed', 'failed']),
  target_devices: Count,
  min_devices: Count,
  participated_devices: Count,
  completed_devices: Count,
  failed_devices: Count,
  global_model_id: Nullable(Uuid),
  global_model_path: Nullable(Type.String()),
  aggregated_model_id: Nullable(Uuid),
  aggregated_model_path: Nullable(Type.String()),
  failure_reason: Nullable(Type.String()),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  timeout_at: Nullable(Timestamp),
  created_at: Timestamp,
})

export const RoundParams = Type.Object({ round_id: Type.String() })

/** The fields beside `file` in the multipart body. */
export const UpdateFields = Type.Object({
  num_samples: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  local_loss: Type.Optional(Type.Number()),
  local_accuracy: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  training_time_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
})

export const ModelUpdate = Type.Object({
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

export const Plan = Type.Object({
  round_id: Uuid,
  round_number: Type.Integer({ minimum: 1 }),
  strategy: OneOf(['fedavg']),
  hyperparameters: FreeObject,
  timeout_at: Timestamp,
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

export const FailureBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 2000 }) })

export const Participation = Type.Object({
  round_id: Uuid,
  device_id: Type.String(),
  selected: Type.Boolean(),
  state: Nullable(OneOf(['selected', 'delivered', 'failed'])),
  reason: Type.String(),
})

export const SelectionQuery = Type.Object({
  device_id: Type.Optional(
    Type.String({ description: 'The device asked about; the one that owns the key when absent' }),
  ),
})

const ReceiptUpdate = Type.Object({
  device_id: Type.String(),
  update_id: Uuid,
  sha256: Type.String(),
  num_samples: Count,
  weight: Type.Number(),
})

export const Receipt = Type.Object({
  round_id: Uuid,
  strategy: Type.String(),
  kernel: Type.Object({ name: Type.String(), version: Type.String() }),
  order: Type.String(),
  global_model_sha256: Nullable(Type.String()),
  updates: Type.Array(ReceiptUpdate),
  output_sha256: Type.String(),
})

export const Replay = Type.Object({
  round_id: Uuid,
  matches: Type.Boolean(),
  expected_sha256: Type.String(),
  replayed_sha256: Type.String(),
})

export const ListRoundsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  offset: Type.Integer({ minimum: 0, default: 0 }),
})
export const RoundList = Type.Object({ rounds: Type.Array(Round), total: Count, limit: Type.Integer(), offset: Count })
