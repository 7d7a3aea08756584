import { Type } from 'typebox'
import {
  Body,
  Count,
  Envelope,
  FreeObject,
  Nullable,
  OneOf,
  Part,
  RefWith,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { QueriedDevice } from '../../delivery/experiments/experiments.schema.ts'
import { OrgQuery } from '../../fleet/devices/devices.schema.ts'
import { SecureSettings } from '../secure-rounds/secure-rounds.schema.ts'
import { examples } from '../training.examples.ts'
import { EvaluationReport } from './evaluation.schema.ts'
import { AccountantName, Sampling } from './round-settings.schema.ts'
import { ModelUpdate } from './updates.schema.ts'

const ParticipantState = OneOf(['selected', 'delivered', 'failed', 'absent'], {
  title: 'ParticipantState',
  description:
    'absent: it did not fetch the plan in time, or stopped sending heartbeats while it trained; another may replace it, but its ' +
    'update is still accepted. failed also covers devices that were not needed, as their reason says',
})

export const Participation = Body('Participation', 'Whether a device was selected, and why', examples.selection, {
  round_id: Uuid,
  device_id: Type.String(),
  selected: Type.Boolean(),
  state: Nullable(ParticipantState),
  reason: Type.String(),
})

export const ParticipantList = Body('ParticipantList', "A page of a round's devices", examples.participantList, {
  participants: Type.Array(
    Part('Participant', 'A device of a round', {
      device_id: Uuid,
      device_identifier: Type.String({ description: "The device's user-chosen id" }),
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

export const SelectionQuery = Type.Object({
  device_id: Type.Optional(QueriedDevice),
  ...OrgQuery.properties,
})

/** Explains when figures that compare an update with others are missing. */
const UNSCREENED =
  'null before the round is completed, in private and secure rounds, in rounds without a readable model, and for devices of other ' +
  'organizations of a federation'

/** Explains when figures that a device reported about its data are missing. */
const UNSHOWN = 'Null in private and secure rounds, and for devices of other organizations of a federation'
const Figure = Nullable(Type.Number({ description: UNSHOWN }))

export const RoundUpdates = Body('ModelUpdateList', "A page of a round's updates", examples.updateList, {
  updates: Type.Array(
    Part('ReviewedUpdate', 'An update and how it compares with the others', {
      ...ModelUpdate.properties,
      device_identifier: Type.String({ description: "The device's user-chosen id" }),
      local_loss: Figure,
      local_accuracy: Figure,
      training_time_seconds: Nullable(
        Type.Integer({
          minimum: 0,
          description: 'Null in private rounds, and for devices of other organizations of a federation',
        }),
      ),
      metrics: Nullable(Type.Record(Type.String(), Type.Number(), { description: UNSHOWN })),
      evaluation: Nullable(RefWith(EvaluationReport, { description: UNSHOWN })),
      norm: Nullable(Type.Number({ description: `L2 norm of the update's change; ${UNSCREENED}` })),
      cosine: Nullable(
        Type.Number({
          description: `Cosine similarity of the update's change and the coordinate-wise median change; ${UNSCREENED}`,
        }),
      ),
      non_finite: Nullable(
        Type.Integer({ minimum: 0, description: `Number of values that are NaN or infinite; ${UNSCREENED}` }),
      ),
      weight: Nullable(
        Type.Number({
          description:
            'The weight in the aggregate; null before the round is completed, and in secure rounds with max_weight above 1',
        }),
      ),
      staleness: Nullable(Count),
      base_round_id: Nullable(Uuid),
    }),
  ),
  ...Envelope,
})

const ReceiptUpdate = Part('ReceiptUpdate', 'An update that a round aggregated', {
  device_id: Type.String({ description: "The device's user-chosen id; its internal id once it is erased" }),
  org_id: Type.Optional(
    Nullable(Type.String({ description: 'Present if devices of several organizations have this device_id' })),
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
