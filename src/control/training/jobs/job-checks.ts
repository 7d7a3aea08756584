import { badRequest } from '../../../domain/errors.ts'
import { DEFAULT_METRIC, objectiveOf, requireMetric } from '../../../domain/job-metric.ts'
import type { JobSettings, RoundSizes } from '../../../domain/training-job.ts'
import type { NewJob } from './new-job.ts'

/** A warning where fewer devices are active than an asynchronous round wants updates: each delivers once to a round. */
export const closesEarlyWith = (active: number, { minDevices, requested }: RoundSizes): string | null =>
  active >= requested
    ? null
    : `strategy_options.buffer is ${requested}, and ${active === 1 ? '1 device is' : `${active} devices are`} active. A device ` +
      `delivers once to a round, so a round closes with fewer updates, at least min_devices (${minDevices}), once all active ` +
      'devices have delivered. Lower buffer, or add devices.'

/**
 * What the job goes by, unless that is the loss. The goal is kept also where the name tells it: a job must not change it when a
 * later version reads names otherwise.
 */
export const objectiveIn = (requested: Pick<NewJob, 'metric' | 'goal'>): Pick<JobSettings, 'metric' | 'goal'> => {
  const { metric = DEFAULT_METRIC, goal } = requested
  return metric === DEFAULT_METRIC && goal === undefined ? {} : objectiveOf(requested)
}

/** @throws bad_request for a metric that no round of such a job has */
export const requireMeasured = ({ metric, goal, secureAggregation, stopWhen, publish }: NewJob): void => {
  if (metric === undefined && goal !== undefined) {
    throw badRequest("goal says which values of the job's metric are better. Name the metric, or leave goal out.")
  }
  if (metric === undefined) return
  requireMetric(metric)
  if (stopWhen === undefined && publish !== 'best') {
    throw badRequest(
      'metric is used only by stop_when and publish: best, and this job has neither. Leave metric out, or add one of them.',
    )
  }
  if (secureAggregation !== null && metric !== 'loss' && metric !== 'accuracy') {
    throw badRequest(
      `metric: '${metric}' is not available with secure_aggregation, whose sum contains only loss and accuracy. Use one of these.`,
    )
  }
}

/** What a private round must not do, because one device's part in it would then depend on another's. */
export const requireNothingAtOdds = ({ overSelection, stopWhen, publish }: NewJob): void => {
  if (publish === 'best') {
    throw badRequest(
      'publish: best cannot be combined with privacy: it compares losses, and private rounds show none. Use last or every.',
    )
  }
  if (overSelection !== undefined && overSelection !== 1) {
    throw badRequest(
      'over_selection cannot be combined with privacy: a private round draws each device independently, and never ' +
        'closes early. Set target_devices to the expected number of drawn devices.',
    )
  }
  if (stopWhen !== undefined) {
    throw badRequest(
      'stop_when cannot be combined with privacy: it depends on the loss, whose release the privacy budget does not cover in private ' +
        'rounds. Set rounds instead.',
    )
  }
}
