/**
 * The limit for numbers that devices report: float32's. Squares of sums of such numbers, and products of two of those, stay
 * finite and above zero in the doubles used for statistics.
 */
export const MAX_REPORTED = 3.4e38
/** Smaller magnitudes become 0. */
const MIN_REPORTED = 1e-38

/** Text for the API document. */
export const REPORTED_RANGE =
  'A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0'

/** Returns the number as stored: 0 if tiny, null if out of range or not a number. */
export const reportedNumber = (value: number): number | null => {
  const magnitude = Math.abs(value)
  if (magnitude < MIN_REPORTED) return 0
  return magnitude <= MAX_REPORTED ? value : null
}

export interface Reported<Values> {
  /** Usually the same object, since no number needs changing. */
  readonly values: Values
  /** The keys of numbers that became null. */
  readonly outside: readonly string[]
}

/** Returns metrics or capabilities as stored, with every number checked, at any depth. */
export const reportedValues = <Values extends object>(values: Values): Reported<Values> => {
  const outside: string[] = []
  return { values: within(values, outside) as Values, outside }
}

const within = (values: object, outside: string[]): object => {
  let changed: Record<string, unknown> | null = null
  for (const [key, value] of Object.entries(values)) {
    let kept: unknown = value
    if (typeof value === 'number') {
      kept = reportedNumber(value)
      if (kept === null) outside.push(key)
    } else if (typeof value === 'object' && value !== null) {
      kept = within(value, outside)
    }
    if (Object.is(kept, value)) continue
    changed ??= (Array.isArray(values) ? [...values] : { ...values }) as Record<string, unknown>
    changed[key] = kept
  }
  return changed ?? values
}

/** A pattern for the names of metrics: part of a database key. */
export const METRIC_NAME = '^.{1,100}$'

const isMetricName = new RegExp(METRIC_NAME, 'u')

/** Returns the metrics with valid names, and the invalid names. */
export const namedMetrics = <Value>(metrics: Readonly<Record<string, Value>>) => {
  const unnamed = Object.keys(metrics).filter((name) => !isMetricName.test(name))
  if (unnamed.length === 0) return { metrics, unnamed }
  return { metrics: Object.fromEntries(Object.entries(metrics).filter(([name]) => isMetricName.test(name))), unnamed }
}

const MAX_NAMED = 5

const listed = (keys: readonly string[]): string => {
  const named = keys.slice(0, MAX_NAMED).map((key) => `'${key.slice(0, 100)}'`)
  return `${named.join(', ')}${keys.length > MAX_NAMED ? `, and ${keys.length - MAX_NAMED} more` : ''}`
}

/** Returns a warning for a device whose metrics have invalid names. */
export const unnamedWarning = (field: string, unnamed: readonly string[]): string =>
  `${field}: ${listed(unnamed)} left out; a name has 1 to 100 characters and no line break`

/** Returns a warning for a device whose numbers became null. */
export const outsideWarning = (field: string, outside: readonly string[]): string =>
  `${field}: ${listed(outside)} became null; numbers from -3.4e38 to 3.4e38 are kept`
