import { Type } from 'typebox'
import { REPORTED_RANGE } from '../../../domain/reported-number.ts'
import { Beside, Body, Count, Envelope, Nullable, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../training.examples.ts'
import { EvaluationReport, ReportedMetrics } from './metrics.schema.ts'
import { ListRoundsQuery } from './rounds.schema.ts'

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
