import type { Static } from 'typebox'
import { badRequest } from '../../../domain/errors.ts'
import { DEFAULT_METRIC } from '../../../domain/job-metric.ts'
import type { StartJobBody } from './job-requests.schema.ts'

const IMPROVEMENT =
  "a finite number of at least 0, such as 0.01: the least improvement of the job's metric over `patience` rounds with which it goes on"
const PATIENCE = 'an integer from 1 to 1000: the number of rounds that are looked at'

/** @throws bad_request unless exactly one of its two names gives the number, and the one that says loss only where it is the loss */
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
 * Before the schema names the only field that it requires of a stop condition.
 * @throws bad_request naming both fields where neither is there
 */
export const requireStopCondition = (body: unknown): void => {
  const stop = typeof body === 'object' && body !== null && 'stop_when' in body ? body.stop_when : null
  if (typeof stop !== 'object' || stop === null || Object.keys(stop).length > 0) return
  throw badRequest(
    `stop_when is empty. It requires improvement_below, ${IMPROVEMENT}; and patience, ${PATIENCE}. Or leave stop_when out.`,
  )
}
