import { Type } from 'typebox'
import { badRequest } from '../../../domain/errors.ts'
import { type MetricReport, type Metrics, readMetrics } from '../../../domain/metrics.ts'
import { meantBy } from '../../../domain/misspelling.ts'
import { MAX_REPORTED, outsideWarning, REPORTED_RANGE, reportedNumber } from '../../../domain/reported-number.ts'
import { parseJsonField } from '../../../platform/http/input.ts'
import { parseFields } from '../../../platform/http/validation.ts'
import { Body, Count, Nullable, RefWith, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../training.examples.ts'
import { EvaluationReport, ReportedMetrics } from './evaluation.schema.ts'
import type { UpdateReport } from './update-acceptance.service.ts'

/** The maximum of an integer column: 68 years. */
const MAX_TRAINING_SECONDS = 2_147_483_647

/** The fields in addition to `file` in the multipart body. */
export const UpdateFields = Body('NewModelUpdate', "A device's update to submit", examples.newUpdate, {
  num_samples: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      'Samples that the device trained on: the weight of its update in averages weighted by samples. Private rounds weight all devices ' +
      'equally; secure rounds cap it at max_weight',
  }),
  local_loss: Type.Optional(Type.Number({ description: REPORTED_RANGE })),
  local_accuracy: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  training_time_seconds: Type.Optional(
    Type.Integer({ minimum: 0, description: `Above ${MAX_TRAINING_SECONDS} it becomes null, with a warning` }),
  ),
  metrics: Type.Optional(
    ReportedMetrics('JSON, such as {"f1": 0.8}: metrics of the trained model besides loss and accuracy'),
  ),
  evaluation: Type.Optional(
    RefWith(EvaluationReport, { description: 'JSON: metrics of the global model on held-out data' }),
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

/** Figures that must not cost the device its work: out of range, they become null. */
const KEPT = {
  local_loss: { from: -MAX_REPORTED, to: MAX_REPORTED },
  // The schema rejects negative ones.
  training_time_seconds: { from: Number.NEGATIVE_INFINITY, to: MAX_TRAINING_SECONDS },
} as const

const INFINITE = /^([+-]?)inf(inity)?$/i

/** Parses a number; NaN for other text, which the schema then rejects with the field's name. */
const numberIn = (text: string): number => {
  const infinite = INFINITE.exec(text)
  if (infinite === null) return Number(text)
  return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** Reads what a device reports about its training, with a warning for each figure that became null. */
export const readReport = (
  fields: Readonly<Record<string, string>>,
): { readonly report: UpdateReport; readonly warnings: readonly string[] } => {
  const { metrics: metricsText, evaluation: evaluationText, ...rest } = fields
  const taken: Record<string, string> = rest
  const warnings: string[] = []
  for (const [name, { from, to }] of Object.entries(KEPT)) {
    const text = taken[name]
    const value = text === undefined ? 0 : numberIn(text)
    if (!(value < from || value > to)) continue
    delete taken[name]
    warnings.push(`${name} became null: it is ${value < from ? `below ${from}` : `above ${to}`}`)
  }
  const { num_samples, local_loss, local_accuracy, training_time_seconds } = parseFields(UpdateFields, taken)
  const metrics = metricsText === undefined ? null : readTrainingMetrics(metricsText, warnings)
  const evaluation =
    evaluationText === undefined ? null : readEvaluation(parseJsonField('evaluation', evaluationText), warnings)
  const report = {
    numSamples: num_samples,
    localLoss: local_loss === undefined ? null : reportedNumber(local_loss),
    localAccuracy: local_accuracy === undefined ? null : reportedNumber(local_accuracy),
    trainingTimeSeconds: training_time_seconds ?? null,
    metrics,
    evaluation,
  }
  return { report, warnings }
}

const bounded = (field: string, value: unknown, warnings: string[]): Metrics => {
  const { metrics, outside } = readMetrics(field, value)
  if (outside.length > 0) warnings.push(outsideWarning(field, outside))
  return metrics
}

const FIELD_OF: Readonly<Record<string, string>> = { loss: 'local_loss', accuracy: 'local_accuracy' }

const readTrainingMetrics = (text: string, warnings: string[]): Metrics | null => {
  const metrics = bounded('metrics', parseJsonField('metrics', text), warnings)
  for (const [name, field] of Object.entries(FIELD_OF)) {
    if (Object.hasOwn(metrics, name)) throw badRequest(`metrics.${name}: send it as the field ${field}.`)
  }
  return Object.keys(metrics).length === 0 ? null : metrics
}

/** The maximum number that is checked for misspellings. */
const MAX_UNKNOWN = 100
const EVALUATION_FIELDS = ['num_samples', 'metrics', 'final_model']

/** Reads the `evaluation` of an update. */
export const readEvaluation = (value: unknown, warnings: string[]): MetricReport | null => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('evaluation must be an object such as {"num_samples": 40, "metrics": {"accuracy": 0.8}}.')
  }
  const unknown = Object.keys(value).filter((name) => !EVALUATION_FIELDS.includes(name))
  for (const name of unknown.slice(0, MAX_UNKNOWN)) {
    const meant = meantBy(name, EVALUATION_FIELDS)
    if (meant !== null) throw badRequest(`unknown field \`evaluation.${name}\`; did you mean \`${meant}\`?`)
    warnings.push(`unknown field \`evaluation.${name.slice(0, 100)}\` was ignored`)
  }
  const { final_model: finalModel = false } = value as Record<string, unknown>
  if (typeof finalModel !== 'boolean') throw badRequest('evaluation.final_model must be true or false.')
  const report = readMetricReport(value, 'evaluation.', warnings)
  return report !== null && finalModel ? { ...report, finalModel } : report
}

/**
 * Returns `{num_samples, metrics}` as stored; null if no metric is left. Adds to `warnings` what became null.
 * @throws bad_request naming the invalid field after `prefix`
 */
export const readMetricReport = (
  value: object,
  prefix: 'evaluation.' | '',
  warnings: string[],
): MetricReport | null => {
  const { num_samples: numSamples, metrics } = value as Record<string, unknown>
  if (typeof numSamples !== 'number' || !Number.isSafeInteger(numSamples) || numSamples < 1) {
    throw badRequest(
      `${prefix}num_samples must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, got ${JSON.stringify(numSamples) ?? 'nothing'}.`,
    )
  }
  const kept = bounded(`${prefix}metrics`, metrics, warnings)
  return Object.keys(kept).length === 0 ? null : { numSamples, metrics: kept }
}
