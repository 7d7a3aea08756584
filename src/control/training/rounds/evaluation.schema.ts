import { Type } from 'typebox'
import { MAX_REPORTED_METRICS } from '../../../domain/metrics.ts'
import { REPORTED_RANGE } from '../../../domain/reported-number.ts'
import {
  Body,
  Count,
  FreeObject,
  Nullable,
  Part,
  RefWith,
  ReportedValues,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { examples } from '../training.examples.ts'
import { RawVector } from './round-settings.schema.ts'

const WITHHELD = "Null in a federation's round if it would reveal too much about other organizations' devices"

export const MetricSummary = Part('MetricSummary', 'Distribution of a metric over the devices that reported it', {
  mean: Type.Number({ description: 'Weighted by samples' }),
  median: Nullable(Type.Number({ description: WITHHELD })),
  worst_tenth: Nullable(
    Type.Number({ description: `Mean over the worst 10% of the devices (at least one). ${WITHHELD}` }),
  ),
  min: Nullable(Type.Number({ description: WITHHELD })),
  max: Nullable(Type.Number({ description: WITHHELD })),
  devices: Type.Integer({ minimum: 1 }),
})

const MetricSummaries = Type.Record(Type.String(), MetricSummary)

/** Metrics by name. Code checks what devices send, so that an out-of-range number does not cost the device its work. */
export const ReportedMetrics = (of: string) =>
  Type.Record(Type.String(), Type.Number(), {
    description: `${of}. At most ${MAX_REPORTED_METRICS}; names: at most 64 letters, digits, and _ . : @ / + -, a letter first. ${REPORTED_RANGE}`,
  })

export const EvaluationReport = Part('EvaluationReport', "A device's metrics for a model on its held-out data", {
  num_samples: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  metrics: ReportedMetrics('May include loss and accuracy (0 to 1)'),
  final_model: Type.Optional(
    Type.Boolean({
      description:
        "Only with an update: whether the device will evaluate the job's last model if a heartbeat response asks for it",
    }),
  ),
})

export const EvaluationSummary = Part('Evaluation', "Metrics for a model on the devices' held-out data", {
  devices: Count,
  num_samples: Count,
  metrics: MetricSummaries,
})

/** Metrics of a round and of a job's history; absent if none were reported. */
export const RoundMetrics = {
  metrics: Type.Optional(
    Type.Record(Type.String(), MetricSummary, {
      description: 'Metrics of the models that the devices trained, as reported with their updates',
    }),
  ),
  evaluation: Type.Optional(
    RefWith(EvaluationSummary, {
      description:
        "Metrics for the round's new model, from the next round's updates or the evaluation after the job's last round",
    }),
  ),
}

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

export const NewEvaluation = Body(
  'NewEvaluation',
  "A device's evaluation, or why it cannot evaluate",
  examples.newEvaluation,
  {
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
        description: 'Instead of metrics: the device cannot evaluate the model',
      }),
    ),
  },
)

export const EvaluationTaken = Body('EvaluationTaken', 'An accepted evaluation', examples.evaluationTaken, {
  round_id: Uuid,
})
