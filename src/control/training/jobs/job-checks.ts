import { MIN_GROUP_SIZE } from '../../../domain/disclosure.ts'
import { badRequest } from '../../../domain/errors.ts'
import { DEFAULT_METRIC, objectiveOf, requireMetric } from '../../../domain/job-metric.ts'
import { STRATEGY_RULES, type StrategyName } from '../../../domain/strategy-rules.ts'
import type { JobSettings, RoundSizes } from '../../../domain/training-job.ts'
import { showName } from '../../../tensors/shape.ts'
import type { NewJob } from './new-job.ts'

/** A warning if fewer devices are active than an asynchronous round needs updates: a device delivers once to a round. */
export const closesEarlyWith = (active: number, { minDevices, requested }: RoundSizes): string | null =>
  active >= requested
    ? null
    : `strategy_options.buffer is ${requested}, and ${active === 1 ? '1 device is' : `${active} devices are`} active. A device ` +
      `delivers once to a round, so a round closes with fewer updates, at least min_devices (${minDevices}), once all active ` +
      'devices have delivered. Lower buffer, or add devices.'

/** A warning if noise or an optimizer changes variances of a batch normalization, which then may become negative. */
export const movesVariances = (variances: string | null, strategy: StrategyName, isPrivate: boolean): string | null => {
  if (variances === null || !(isPrivate || 'beta1' in STRATEGY_RULES[strategy].options)) return null
  return (
    `model: ${isPrivate ? 'the noise' : strategy} also changes ${showName(variances)}, the variances of a batch normalization. If one ` +
    'becomes negative, the model returns NaN. Use group normalization instead.'
  )
}

/** A warning if the figures that publish or stop_when compares may be withheld from a member; `active` counts devices by member. */
export const comparesWithheld = (active: readonly number[]): string | null =>
  active.every((count) => count === 0 || count >= MIN_GROUP_SIZE)
    ? null
    : `publish: best and stop_when use only figures that all members may see, those that at least ${MIN_GROUP_SIZE} devices of each ` +
      'organization reported, and not all members have that many active devices. Without such figures, all rounds run, and the last ' +
      'result is published.'

/**
 * The job's metric and goal; nothing if the metric is the loss without a stated goal. Stores the goal even if the metric's
 * name implies it, so that it does not change when a later version interprets names differently.
 */
export const objectiveIn = (requested: Pick<NewJob, 'metric' | 'goal'>): Pick<JobSettings, 'metric' | 'goal'> => {
  const { metric = DEFAULT_METRIC, goal } = requested
  return metric === DEFAULT_METRIC && goal === undefined ? {} : objectiveOf(requested)
}

/** @throws bad_request for a metric that no round of such a job has, or that nothing in the job uses */
export const requireMeasured = ({ metric, goal, secureAggregation, stopWhen, publish }: NewJob): void => {
  if (metric === undefined && goal !== undefined) {
    throw badRequest("goal says which values of the job's metric are better. Set metric, or leave goal out.")
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

/** Rejects options that would let one device's participation in a private round depend on another's, or reveal the loss. */
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
