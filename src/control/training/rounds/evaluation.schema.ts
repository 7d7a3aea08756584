import { Type } from 'typebox'
import { Body, Count, FreeObject, ReportedValues, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../training.examples.ts'
import { RawVector } from './rounds.schema.ts'

export const EvaluationPlan = Body(
  'EvaluationPlan',
  'What a device needs to evaluate a model',
  examples.evaluationPlan,
  {
    round_id: Uuid,
    round_number: Type.Integer({ minimum: 1 }),
    hyperparameters: FreeObject,
    timeout_at: Timestamp,
    job_id: Type.Optional(Uuid),
    raw_vector: Type.Optional(RawVector),
    model: Type.Object({
      model_id: Uuid,
      version: Type.Integer({ minimum: 1 }),
      format: Type.String(),
      model_size_bytes: Count,
      model_hash: Type.String(),
    }),
  },
)

export const NewEvaluation = Body('NewEvaluation', 'What a device found, or why nothing', examples.newEvaluation, {
  num_samples: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Samples that the model was evaluated on',
    }),
  ),
  metrics: Type.Optional(ReportedValues),
  failure_reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: 'In place of the others: the device cannot evaluate it',
    }),
  ),
})

export const EvaluationTaken = Body('EvaluationTaken', 'An evaluation that was taken', examples.evaluationTaken, {
  round_id: Uuid,
})
