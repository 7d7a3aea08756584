import { Type } from 'typebox'
import { Body, Count, FreeObject, Nullable, Part, Uuid } from '../../../platform/http/wire.schema.ts'
import { SecureSettings } from '../secure-rounds/secure-rounds.schema.ts'
import { examples } from '../training.examples.ts'
import { AccountantName, Sampling } from './privacy.schema.ts'

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
