import { badRequest } from './errors.ts'
import { EVALUATION_PREFIX, type Goal, goalOf, METRIC_NAME } from './metrics.ts'
import type { StopRule } from './training-job.ts'

/** What a completed round of a job measured, and the model that it made. */
export interface RoundValue {
  readonly modelId: string | null
  readonly value: number | null
}

/** The metric of a job that names none. */
export const DEFAULT_METRIC = 'loss'

/** Measured on held-out data: the value for a round's model comes with the updates of the next round, or after the last one. */
export const isMeasuredLater = (metric: string): boolean => metric.startsWith(EVALUATION_PREFIX)

/** @throws bad_request naming the field unless it is `loss`, `accuracy`, a metric's name, or one after `evaluation.` */
export const requireMetric = (metric: string): void => {
  if (METRIC_NAME.test(isMeasuredLater(metric) ? metric.slice(EVALUATION_PREFIX.length) : metric)) return
  throw badRequest(
    `metric must be loss, accuracy, a metric that devices report such as f1, or one of the held-out evaluation such as ` +
      `evaluation.f1, got ${JSON.stringify(metric.slice(0, 80))}.`,
  )
}

const goalOfReference = (metric: string): Goal =>
  goalOf(isMeasuredLater(metric) ? metric.slice(EVALUATION_PREFIX.length) : metric)

/** The values of a job's completed rounds, oldest first, as losses: what is to be maximized changes its sign. */
export const asLosses = (metric: string, values: readonly (number | null)[]): (number | null)[] =>
  goalOfReference(metric) === 'minimize' ? [...values] : values.map((value) => (value === null ? null : -value))

/** Whether the losses of a job's completed rounds, oldest first, have stopped getting better. Rounds without a loss say nothing. */
export const hasConverged = (losses: readonly (number | null)[], rule: StopRule): boolean => {
  const known = losses.filter((loss) => loss !== null)
  if (known.length <= rule.patience) return false
  const before = Math.min(...known.slice(0, -rule.patience))
  const lately = Math.min(...known.slice(-rule.patience))
  return before - lately < rule.lossImprovementBelow
}

/** Whether the last of these losses, of a job's completed rounds, is the lowest so far. A round without a loss is no best one. */
export const isBest = (losses: readonly (number | null)[]): boolean => {
  const last = losses.at(-1) ?? null
  return last !== null && losses.slice(0, -1).every((loss) => loss === null || last < loss)
}
