import { goalOf } from './metric-goal.ts'
import { ownEntry } from './own-entry.ts'
import { type Moments, NO_MOMENTS, varianceOf } from './statistics/moments.ts'
import { welchTest } from './statistics/t-test.ts'

/** How to handle the aggregate of a completed round. */
export interface PolicySettings {
  readonly canaryPercentage: number
  /** Limits the canary to this group's devices; null: the whole fleet. */
  readonly canaryGroupId: string | null
  /** The version is rolled back if no conclusion is reached in this time. */
  readonly observeMinutes: number
  /** How many devices on each side must have measured before an early conclusion. */
  readonly minReports: number
  /** How much lower the mean accuracy may be, in absolute terms. */
  readonly maxAccuracyDrop: number
  /** How much higher the mean loss may be, relative to the current version's. */
  readonly maxLossIncrease: number
  /** Further metrics by name: how much worse the mean may be, absolute if more is better, otherwise relative. */
  readonly metricMargins?: Readonly<Record<string, number>>
  readonly confidenceLevel: number
  readonly incrementStep: number
  readonly stepIntervalSeconds: number
}

export type Verdict = 'promote' | 'roll_back' | 'inconclusive'

/** By metric name; absent if no device measured it. */
export type Measured = Readonly<Record<string, Moments>>

/** Returns the margins of all metrics that decide, by name. */
export const marginsOf = (settings: PolicySettings): Readonly<Record<string, number>> => ({
  accuracy: settings.maxAccuracyDrop,
  loss: settings.maxLossIncrease,
  ...settings.metricMargins,
})

export interface Comparison {
  readonly metric: string
  readonly canary: { readonly devices: number; readonly mean: number | null }
  readonly current: { readonly devices: number; readonly mean: number | null }
  /**
   * Of canary mean - current mean; null if there is too little data. If the margin is a share of the current mean, the interval
   * includes the margin's uncertainty, so that it can be compared with the margin.
   */
  readonly interval: { readonly lower: number; readonly upper: number } | null
  /** The difference up to which the canary counts as no worse. */
  readonly margin: number
  readonly finding: 'no_worse' | 'worse' | 'unclear'
}

/** The limit of the difference (canary - current), beyond which the canary is worse. */
export const limitOf = ({ metric, margin }: Pick<Comparison, 'metric' | 'margin'>): number =>
  goalOf(metric) === 'maximize' ? -margin : margin

const side = ({ count, mean }: Moments) => ({ devices: count, mean: count === 0 ? null : mean })

/** Returns the Welch interval of the difference; for samples without variance, the difference itself. */
const intervalOf = (canary: Moments, current: Moments, level: number): Comparison['interval'] => {
  const test = welchTest(canary, current, level)
  if (test !== null) return { lower: test.confidenceInterval.lower, upper: test.confidenceInterval.upper }
  if (varianceOf(canary) !== 0 || varianceOf(current) !== 0) return null
  return { lower: canary.mean - current.mean, upper: canary.mean - current.mean }
}

const compare = (metric: string, allowed: number, canary: Moments, current: Moments, level: number): Comparison => {
  const isMaximized = goalOf(metric) === 'maximize'
  const margin = isMaximized ? allowed : allowed * Math.abs(current.mean)
  // A relative limit is as uncertain as the mean that it is a share of, so the canary is compared with the limit itself.
  const factor = isMaximized ? 1 : 1 + allowed * Math.sign(current.mean)
  const base = { count: current.count, mean: current.mean * factor, m2: current.m2 * factor * factor }
  const beyond = intervalOf(canary, base, level)
  const [limit, shift] = isMaximized ? [margin, 0] : [0, margin]
  const interval = beyond && { lower: beyond.lower + shift, upper: beyond.upper + shift }
  // How much worse the canary may be: for accuracy, for example, lower is worse.
  const worse =
    beyond === null
      ? null
      : isMaximized
        ? { least: -beyond.upper, most: -beyond.lower }
        : { least: beyond.lower, most: beyond.upper }
  const finding =
    worse === null ? 'unclear' : worse.most <= limit ? 'no_worse' : worse.least > limit ? 'worse' : 'unclear'
  return { metric, canary: side(canary), current: side(current), interval, margin, finding }
}

/**
 * Decides whether the canary is no worse than the current version by more than the margins (a non-inferiority test on the
 * confidence interval of the difference of means). Metrics that neither side measured are ignored. One that is unclear makes
 * the result inconclusive, unless another is worse: promotion needs evidence.
 */
export const judge = (
  canary: Measured,
  current: Measured,
  settings: PolicySettings,
): { readonly verdict: Verdict; readonly comparisons: readonly Comparison[] } => {
  const comparisons = Object.entries(marginsOf(settings))
    .map(
      ([metric, margin]) =>
        [metric, margin, ownEntry(canary, metric) ?? NO_MOMENTS, ownEntry(current, metric) ?? NO_MOMENTS] as const,
    )
    .filter(([, , ofCanary, ofCurrent]) => ofCanary.count + ofCurrent.count > 0)
    .map(([metric, margin, ofCanary, ofCurrent]) =>
      compare(metric, margin, ofCanary, ofCurrent, settings.confidenceLevel),
    )
  const findings = comparisons.map(({ finding }) => finding)
  if (findings.includes('worse')) return { verdict: 'roll_back', comparisons }
  const holds = findings.length > 0 && findings.every((finding) => finding === 'no_worse')
  return { verdict: holds ? 'promote' : 'inconclusive', comparisons }
}

/** True if enough devices on both sides have measured for a judgment before the observation ends. */
export const isJudgeable = (canary: Measured, current: Measured, settings: PolicySettings): boolean => {
  const devices = (measured: Measured) => Math.max(0, ...Object.values(measured).map(({ count }) => count))
  return devices(canary) >= settings.minReports && devices(current) >= settings.minReports
}

const signed = (value: number): string => `${value < 0 ? '' : '+'}${Number(value.toPrecision(3))}`
const rounded = (value: number | null): string => (value === null ? 'none' : String(Number(value.toPrecision(4))))

/** Returns one sentence about a comparison, for people. */
export const explain = ({ metric, canary, current, interval, margin, finding }: Comparison): string => {
  const means = `${metric} ${rounded(canary.mean)} on ${canary.devices} canary devices against ${rounded(current.mean)} on ${current.devices} others`
  if (interval === null) return `${means}: too little data to compare.`
  const found = { no_worse: 'no worse', worse: 'worse', unclear: 'unclear' }[finding]
  return `${means}: difference between ${signed(interval.lower)} and ${signed(interval.upper)}, ${found} with a margin of ${rounded(margin)}.`
}
