import { badRequest } from './errors.ts'
import { reportedNumber } from './reported-number.ts'

/** Metrics by name, as a device reports them. */
export type Metrics = Readonly<Record<string, number>>

/** Letters, digits and `_ . : @ / + -`, a letter first: `f1`, `mAP@.5:.95`, `top-5`, `val/recall`. */
export const METRIC_NAME = /^[A-Za-z][\w.:@/+-]{0,63}$/
/** So many metrics may come with one report. */
export const MAX_REPORTED_METRICS = 32
/** So many are kept of a round: those that most devices reported. */
const MAX_SUMMARIZED_METRICS = 64

/** What a reference to a metric begins with that is measured on held-out data: `evaluation.accuracy`. */
export const EVALUATION_PREFIX = 'evaluation.'

/** What one device reported: its metrics, and on how many samples. */
export interface MetricReport {
  readonly numSamples: number
  readonly metrics: Metrics
  /** The device offers to evaluate the job's last model, too. */
  readonly finalModel?: true
}

/** How one metric spreads over devices. */
export interface MetricSummary {
  /** Weighted by samples. */
  readonly mean: number
  readonly median: number
  /** Mean over the worst tenth of the devices, at least one of them (Li et al. 2020, "Fair Resource Allocation", section 4). */
  readonly worstTenth: number
  readonly min: number
  readonly max: number
  /** How many reported it. */
  readonly devices: number
}

/** By name. */
export type MetricSummaries = Readonly<Record<string, MetricSummary>>

/** The reports on one model. */
export interface Evaluation {
  readonly devices: number
  readonly numSamples: number
  readonly metrics: MetricSummaries
}

const LOWER_IS_BETTER =
  /(^|[^a-z])(loss|error|err|perplexity|ppl|mae|mape|mse|rmse|nll|wer|cer|ece|brier|fid|fpr|fnr|latency|time|seconds|ms)($|[^a-z])|loss$|error$|perplexity$/i

export type Goal = 'minimize' | 'maximize'

/** Which values of a metric are better, told by its name: losses, errors and times are minimized, all else is maximized. */
export const goalOf = (name: string): Goal => (LOWER_IS_BETTER.test(name) ? 'minimize' : 'maximize')

/** The first value is better than the second. */
export const isBetter = (goal: Goal, value: number, than: number): boolean =>
  goal === 'minimize' ? value < than : value > than

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? 'nothing'

/**
 * Metrics as they are kept, from an object of a request; `field` is its name there. A number out of range is left out, and named
 * in `outside`; null counts as absent.
 * @throws bad_request naming the field where the object, a name or a value is not what it must be.
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
    throw badRequest(`${field} has ${entries.length} metrics; at most ${MAX_REPORTED_METRICS} are taken.`)
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
    `${field}: '${name.slice(0, 80)}' is not a metric's name: at most 64 letters, digits and _ . : @ / + -, a letter first` +
      (name.startsWith(EVALUATION_PREFIX) ? `, and not beginning with '${EVALUATION_PREFIX}'.` : '.'),
  )
}

/** Of the reports that name it, whose sums do not depend on the order in which they came. Null where none does. */
const summarize = (name: string, reports: readonly MetricReport[]): MetricSummary | null => {
  const reporting = reports
    .filter(({ metrics }) => Object.hasOwn(metrics, name))
    .sort((a, b) => a.metrics[name]! - b.metrics[name]! || a.numSamples - b.numSamples)
  if (reporting.length === 0) return null
  let sum = 0
  let samples = 0
  for (const { metrics, numSamples } of reporting) {
    sum += metrics[name]! * numSamples
    samples += numSamples
  }
  const values = reporting.map(({ metrics }) => metrics[name]!)
  const count = values.length
  const tenth = Math.max(1, Math.floor(count / 10))
  const worst = goalOf(name) === 'minimize' ? values.slice(-tenth) : values.slice(0, tenth)
  return {
    mean: sum / samples,
    median: (values[(count - 1) >> 1]! + values[count >> 1]!) / 2,
    worstTenth: worst.reduce((total, value) => total + value, 0) / tenth,
    min: values[0]!,
    max: values[count - 1]!,
    devices: count,
  }
}

/** Every metric of these reports, in the order of names; of very many the `MAX_SUMMARIZED_METRICS` that most devices reported. */
export const summarizeMetrics = (reports: readonly MetricReport[]): MetricSummaries => {
  const counts = new Map<string, number>()
  for (const { metrics } of reports) {
    for (const name of Object.keys(metrics)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const names = [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MAX_SUMMARIZED_METRICS)
    .map(([name]) => name)
    .sort()
  return Object.fromEntries(names.map((name) => [name, summarize(name, reports)!]))
}

/** What devices found of one model; null where nobody evaluated it. */
export const summarizeEvaluation = (reports: readonly MetricReport[]): Evaluation | null => {
  if (reports.length === 0) return null
  const numSamples = reports.reduce((total, report) => total + report.numSamples, 0)
  return {
    devices: reports.length,
    numSamples: Math.min(numSamples, Number.MAX_SAFE_INTEGER),
    metrics: summarizeMetrics(reports),
  }
}
