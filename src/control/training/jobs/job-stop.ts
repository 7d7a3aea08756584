import type { Static } from 'typebox'
import { badRequest } from '../../../domain/errors.ts'
import { DEFAULT_METRIC } from '../../../domain/job-metric.ts'
import type { StartJobBody } from './job-requests.schema.ts'

const IMPROVEMENT =
  "a finite number of at least 0, such as 0.01: the smallest improvement of the job's metric over `patience` rounds with which the job continues"
const PATIENCE = 'an integer from 1 to 1000: the number of rounds that are compared'

/** @throws bad_request unless exactly one of the two names is given; the one with `loss` is only for jobs that use the loss */
export const improvementIn = (
  stop: NonNullable<Static<typeof StartJobBody>['stop_when']>,
  metric = DEFAULT_METRIC,
): number => {
  const { improvement_below: improvement, loss_improvement_below: ofLoss } = stop
  if (ofLoss !== undefined && (improvement !== undefined || metric !== DEFAULT_METRIC)) {
    throw badRequest(
      'stop_when.loss_improvement_below is only for jobs whose metric is the loss, and replaces improvement_below. Send only improvement_below.',
    )
  }
  const below = improvement ?? ofLoss
  if (below === undefined) throw badRequest(`stop_when.improvement_below is required: ${IMPROVEMENT}.`)
  return below
}

/**
 * Runs before schema validation, whose error for an empty stop condition would name only one field.
 * @throws bad_request naming both fields if neither is given
 */
export const requireStopCondition = (body: unknown): void => {
  const stop = typeof body === 'object' && body !== null && 'stop_when' in body ? body.stop_when : null
  if (typeof stop !== 'object' || stop === null || Object.keys(stop).length > 0) return
  throw badRequest(
    `stop_when is empty. It requires improvement_below, ${IMPROVEMENT}; and patience, ${PATIENCE}. Or leave stop_when out.`,
  )
}
