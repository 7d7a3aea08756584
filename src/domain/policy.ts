import { goalOf } from './metrics.ts'
import { type Moments, NO_MOMENTS, varianceOf } from './statistics/moments.ts'
import { welchTest } from './statistics/t-test.ts'

/** What to do with the aggregate of a finished round: the closed loop's knobs. */
export interface PolicySettings {
  readonly canaryPercentage: number
  /** Only devices of this group are in the canary; null: of the whole fleet. */
  readonly canaryGroupId: string | null
  /** After so long without a conclusion, the version goes back. */
  readonly observeMinutes: number
  /** Devices that must have measured on either side before a conclusion is drawn early. */
  readonly minReports: number
  /** How much lower the mean accuracy may be, in its own units. */
  readonly maxAccuracyDrop: number
  /** How much higher the mean loss may be, as a share of the current version's. */
  readonly maxLossIncrease: number
  /** Further metrics by name: how much worse the mean may be, in its own units where more is better, else as a share. */
  readonly metricMargins?: Readonly<Record<string, number>>
  readonly confidenceLevel: number
  readonly incrementStep: number
  readonly stepIntervalSeconds: number
}

export type Verdict = 'promote' | 'roll_back' | 'inconclusive'

/** By the metric's name; absent where nobody measured it. */
export type Measured = Readonly<Record<string, Moments>>

/** The margins of every metric that decides, by name. */
export const marginsOf = (settings: PolicySettings): Readonly<Record<string, number>> => ({
  accuracy: settings.maxAccuracyDrop,
  loss: settings.maxLossIncrease,
  ...settings.metricMargins,
})

export interface Comparison {
  readonly metric: string
  readonly canary: { readonly devices: number; readonly mean: number | null }
  readonly current: { readonly devices: number; readonly mean: number | null }
  /** Of canary mean - current mean; null where there is too little to say. */
  readonly interval: { readonly lower: number; readonly upper: number } | null
  /** The difference up to which the canary counts as no worse. */
  readonly margin: number
  readonly finding: 'no_worse' | 'worse' | 'unclear'
}

const side = ({ count, mean }: Moments) => ({ devices: count, mean: count === 0 ? null : mean })

/** The difference's interval by Welch; of samples that do not vary at all, the difference itself. */
const intervalOf = (canary: Moments, current: Moments, level: number): Comparison['interval'] => {
  const test = welchTest(canary, current, level)
  if (test !== null) return { lower: test.confidenceInterval.lower, upper: test.confidenceInterval.upper }
  if (varianceOf(canary) !== 0 || varianceOf(current) !== 0) return null
  return { lower: canary.mean - current.mean, upper: canary.mean - current.mean }
}

const compare = (metric: string, allowed: number, canary: Moments, current: Moments, level: number): Comparison => {
  const interval = intervalOf(canary, current, level)
  const isMaximized = goalOf(metric) === 'maximize'
  const margin = isMaximized ? allowed : allowed * Math.abs(current.mean)
  // As how much worse the canary may be: of accuracy, say, less is worse.
  const worse =
    interval === null
      ? null
      : isMaximized
        ? { least: -interval.upper, most: -interval.lower }
        : { least: interval.lower, most: interval.upper }
  const finding =
    worse === null ? 'unclear' : worse.most <= margin ? 'no_worse' : worse.least > margin ? 'worse' : 'unclear'
  return { metric, canary: side(canary), current: side(current), interval, margin, finding }
}

/**
 * Whether the canary is no worse than the current version by more than the margins (a test of non-inferiority on the
 * confidence interval of the difference of means). A metric that neither side measured says nothing; one that is unclear
 * makes the whole inconclusive: nothing is promoted for want of evidence.
 */
export const judge = (
  canary: Measured,
  current: Measured,
  settings: PolicySettings,
): { readonly verdict: Verdict; readonly comparisons: readonly Comparison[] } => {
  const comparisons = Object.entries(marginsOf(settings))
    .map(([metric, margin]) => [metric, margin, canary[metric] ?? NO_MOMENTS, current[metric] ?? NO_MOMENTS] as const)
    .filter(([, , ofCanary, ofCurrent]) => ofCanary.count + ofCurrent.count > 0)
    .map(([metric, margin, ofCanary, ofCurrent]) =>
      compare(metric, margin, ofCanary, ofCurrent, settings.confidenceLevel),
    )
  const findings = comparisons.map(({ finding }) => finding)
  if (findings.includes('worse')) return { verdict: 'roll_back', comparisons }
  const holds = findings.length > 0 && findings.every((finding) => finding === 'no_worse')
  return { verdict: holds ? 'promote' : 'inconclusive', comparisons }
}

/** Whether it may be judged before the observation is over: enough devices have measured on both sides. */
export const isJudgeable = (canary: Measured, current: Measured, settings: PolicySettings): boolean => {
  const devices = (measured: Measured) => Math.max(0, ...Object.values(measured).map(({ count }) => count))
  return devices(canary) >= settings.minReports && devices(current) >= settings.minReports
}

const signed = (value: number): string => `${value < 0 ? '' : '+'}${Number(value.toPrecision(3))}`
const rounded = (value: number | null): string => (value === null ? 'none' : String(Number(value.toPrecision(4))))

/** One sentence for each comparison, for people to read. */
export const explain = ({ metric, canary, current, interval, margin, finding }: Comparison): string => {
  const means = `${metric} ${rounded(canary.mean)} on ${canary.devices} canary devices against ${rounded(current.mean)} on ${current.devices} others`
  if (interval === null) return `${means}: too little data to compare.`
  const found = { no_worse: 'no worse', worse: 'worse', unclear: 'unclear' }[finding]
  return `${means}: difference between ${signed(interval.lower)} and ${signed(interval.upper)}, ${found} with a margin of ${rounded(margin)}.`
}
