import { badRequest } from './errors.ts'
import { type Goal, goalOf } from './metric-goal.ts'
import { EVALUATION_PREFIX, METRIC_NAME } from './metrics.ts'
import type { StopRule } from './training-job.ts'

/** A completed round's metric value and model. */
export interface RoundValue {
  readonly modelId: string | null
  readonly value: number | null
}

/** The metric of a job that does not name one. */
export const DEFAULT_METRIC = 'loss'

/** True for held-out metrics: the value for a round's model arrives with the next round's updates, or after the last round. */
export const isMeasuredLater = (metric: string): boolean => metric.startsWith(EVALUATION_PREFIX)

/**
 * @throws bad_request naming the field unless it is a metric's name (`loss`, `accuracy`, ...), optionally after `evaluation.`
 */
export const requireMetric = (metric: string): void => {
  if (METRIC_NAME.test(isMeasuredLater(metric) ? metric.slice(EVALUATION_PREFIX.length) : metric)) return
  throw badRequest(
    `metric must be loss, accuracy, a metric that devices report such as f1, or one from the held-out evaluation such as ` +
      `evaluation.f1, got ${JSON.stringify(metric.slice(0, 80))}.`,
  )
}

/** A job's metric, and which of its values are better: as the job states it, otherwise by the name. */
export const objectiveOf = ({
  metric = DEFAULT_METRIC,
  goal,
}: {
  readonly metric?: string | undefined
  readonly goal?: Goal | undefined
}): { readonly metric: string; readonly goal: Goal } => ({
  metric,
  goal: goal ?? goalOf(isMeasuredLater(metric) ? metric.slice(EVALUATION_PREFIX.length) : metric),
})

/** Returns the values of a job's completed rounds, oldest first, as losses: the sign of metrics to be maximized is flipped. */
export const asLosses = (goal: Goal, values: readonly (number | null)[]): (number | null)[] =>
  goal === 'minimize' ? [...values] : values.map((value) => (value === null ? null : -value))

/** True if the losses of a job's completed rounds, oldest first, have stopped improving. Rounds without a loss are ignored. */
export const hasConverged = (losses: readonly (number | null)[], rule: StopRule): boolean => {
  const known = losses.filter((loss) => loss !== null)
  if (known.length <= rule.patience) return false
  const before = Math.min(...known.slice(0, -rule.patience))
  const lately = Math.min(...known.slice(-rule.patience))
  return before - lately < rule.lossImprovementBelow
}

/** True if the last loss is lower than those of all earlier completed rounds. A round without a loss is never the best. */
export const isBest = (losses: readonly (number | null)[]): boolean => {
  const last = losses.at(-1) ?? null
  return last !== null && losses.slice(0, -1).every((loss) => loss === null || last < loss)
}
