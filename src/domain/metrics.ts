import { badRequest } from './errors.ts'
import { type Goal, goalOf } from './metric-goal.ts'
import { reportedNumber } from './reported-number.ts'

export { goalOf } from './metric-goal.ts'

/** A device's reported metrics, by name. */
export type Metrics = Readonly<Record<string, number>>

/** Letters, digits and `_ . : @ / + -`, starting with a letter: `f1`, `mAP@.5:.95`, `top-5`, `val/recall`. */
export const METRIC_NAME = /^[A-Za-z][\w.:@/+-]{0,63}$/
/** The maximum number of metrics in one report. */
export const MAX_REPORTED_METRICS = 32
/** The maximum kept per round: those that most devices reported. */
const MAX_SUMMARIZED_METRICS = 64

/** The prefix for metrics measured on held-out data: `evaluation.accuracy`. */
export const EVALUATION_PREFIX = 'evaluation.'

/** The direction that a job states for a metric, whose name may mislead. */
export interface StatedGoal {
  /** As the job names it: optionally after `evaluation.`. */
  readonly metric: string
  readonly goal: Goal
}

const goalFor = (name: string, stated: StatedGoal | null): Goal =>
  stated !== null && (stated.metric === name || stated.metric === EVALUATION_PREFIX + name) ? stated.goal : goalOf(name)

/**
 * Returns the mean of values, weighted by samples, in the order given; null if there are no samples. Rounding never moves it out of
 * the range of the values.
 */
export const weightedMean = (
  reported: readonly { readonly value: number; readonly numSamples: number }[],
): number | null => {
  let [sum, samples, min, max] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { value, numSamples } of reported) {
    sum += value * numSamples
    samples += numSamples
    if (numSamples > 0) [min, max] = [Math.min(min, value), Math.max(max, value)]
  }
  return samples === 0 ? null : Math.min(max, Math.max(min, sum / samples))
}

const mean = (values: readonly number[]): number => weightedMean(values.map((value) => ({ value, numSamples: 1 })))!

/** One device's report: its metrics, and the number of samples. */
export interface MetricReport {
  readonly numSamples: number
  readonly metrics: Metrics
  /** The device offers to evaluate the job's last model as well. */
  readonly finalModel?: true
}

/** The distribution of one metric over devices. */
export interface MetricSummary {
  /** Weighted by samples. */
  readonly mean: number
  readonly median: number
  /** Mean over the worst tenth of the devices, at least one of them (Li et al. 2020, "Fair Resource Allocation", section 4). */
  readonly worstTenth: number
  readonly min: number
  readonly max: number
  /** How many devices reported it. */
  readonly devices: number
}

export type MetricSummaries = Readonly<Record<string, MetricSummary>>

/** The reports on one model. */
export interface Evaluation {
  readonly devices: number
  readonly numSamples: number
  readonly metrics: MetricSummaries
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? 'nothing'

/**
 * Returns valid metrics from an object in a request; `field` is its name there. Numbers out of range are omitted and listed in
 * `outside`; null counts as absent.
 * @throws bad_request naming the field if the object, a name or a value is invalid.
 */
export const readMetrics = (
  field: string,
  value: unknown,
): { readonly metrics: Metrics; readonly outside: readonly string[] } => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest(`${field} must be an object of numbers such as {"f1": 0.8}, got ${shown(value)}.`)
  }
  const entries = Object.entries(value)
  if (entries.length > MAX_REPORTED_METRICS) {
    throw badRequest(`${field} has ${entries.length} metrics; at most ${MAX_REPORTED_METRICS} are accepted.`)
  }
  const metrics: [string, number][] = []
  const outside: string[] = []
  for (const [name, reported] of entries) {
    requireName(field, name)
    if (reported === null) continue
    if (typeof reported !== 'number') throw badRequest(`${field}.${name} must be a number, got ${shown(reported)}.`)
    if (name === 'accuracy' && (reported < 0 || reported > 1)) {
      throw badRequest(`${field}.accuracy must be from 0 to 1, got ${reported}.`)
    }
    const kept = reportedNumber(reported)
    if (kept === null) outside.push(name)
    else metrics.push([name, kept])
  }
  return { metrics: Object.fromEntries(metrics), outside }
}

const requireName = (field: string, name: string): void => {
  if (METRIC_NAME.test(name) && !name.startsWith(EVALUATION_PREFIX)) return
  throw badRequest(
    `${field}: '${name.slice(0, 80)}' is not a metric's name: at most 64 letters, digits, and _ . : @ / + -, a letter first` +
      (name.startsWith(EVALUATION_PREFIX) ? `, and not beginning with '${EVALUATION_PREFIX}'.` : '.'),
  )
}

/** Summarizes a metric. Sorted, so that sums do not depend on the order of reports. Null if no report contains the metric. */
const summarize = (name: string, reports: readonly MetricReport[], goal: Goal): MetricSummary | null => {
  const reporting = reports
    .filter(({ metrics }) => Object.hasOwn(metrics, name))
    .sort((a, b) => a.metrics[name]! - b.metrics[name]! || a.numSamples - b.numSamples)
  if (reporting.length === 0) return null
  const values = reporting.map(({ metrics }) => metrics[name]!)
  const count = values.length
  const tenth = Math.max(1, Math.floor(count / 10))
  const worst = goal === 'minimize' ? values.slice(-tenth) : values.slice(0, tenth)
  return {
    // Devices may report a metric of 0 samples.
    mean:
      weightedMean(reporting.map(({ metrics, numSamples }) => ({ value: metrics[name]!, numSamples }))) ?? mean(values),
    median: (values[(count - 1) >> 1]! + values[count >> 1]!) / 2,
    worstTenth: mean(worst),
    min: values[0]!,
    max: values[count - 1]!,
    devices: count,
  }
}

/** Returns summaries of all metrics, sorted by name; at most `MAX_SUMMARIZED_METRICS`, those that most devices reported. */
export const summarizeMetrics = (
  reports: readonly MetricReport[],
  stated: StatedGoal | null = null,
): MetricSummaries => {
  const counts = new Map<string, number>()
  for (const { metrics } of reports) {
    for (const name of Object.keys(metrics)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const names = [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MAX_SUMMARIZED_METRICS)
    .map(([name]) => name)
    .sort()
  return Object.fromEntries(names.map((name) => [name, summarize(name, reports, goalFor(name, stated))!]))
}

/** Summarizes the evaluations of one model; null without reports. */
export const summarizeEvaluation = (
  reports: readonly MetricReport[],
  stated: StatedGoal | null = null,
): Evaluation | null => {
  if (reports.length === 0) return null
  const numSamples = reports.reduce((total, report) => total + report.numSamples, 0)
  return {
    devices: reports.length,
    numSamples: Math.min(numSamples, Number.MAX_SAFE_INTEGER),
    metrics: summarizeMetrics(reports, stated),
  }
}
