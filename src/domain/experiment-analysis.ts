import { alwaysValidInterval } from './statistics/always-valid.ts'
import { type ChiSquare, fitTest } from './statistics/chi-square.ts'
import { holmAdjusted } from './statistics/holm.ts'
import { type Moments, NO_MOMENTS } from './statistics/moments.ts'
import { type TTest, welchTest } from './statistics/t-test.ts'

/**
 * The measurements of one variant's devices. Devices were sampled, not readings, so each device counts once, with its mean:
 * frequent reports carry no extra weight.
 */
export interface VariantSample {
  readonly name: string
  readonly allocation: number
  /** Devices that reported any metric. */
  readonly devices: number
  /** Moments of the devices' means, by metric. */
  readonly metrics: ReadonlyMap<string, Moments>
}

/** A comparison of a variant with the first one. Differences are the variant's mean minus the first's. */
export interface Comparison {
  readonly variant: string
  readonly baseline: string
  readonly difference: number | null
  readonly welch: TTest | null
  /** Adjusted for the number of comparisons by Holm's method. */
  readonly adjustedPValue: number | null
  /** Valid however often it is checked; widened for the number of comparisons (Bonferroni). */
  readonly alwaysValid: { readonly lower: number; readonly upper: number } | null
  /** True if the always-valid interval excludes zero. */
  readonly decided: boolean
}

export interface ExperimentAnalysis {
  /** The smallest adjusted p-value; null while nothing can be compared. */
  readonly pValue: number | null
  readonly significant: boolean
  readonly comparisons: readonly Comparison[]
  /**
   * Whether device counts match their allocations; null without any devices. Of the devices that reported any metric, unless
   * only those that reported the metric, and so are compared, do not match.
   */
  readonly sampleRatio: (ChiSquare & { readonly mismatch: boolean }) | null
  readonly warnings: readonly string[]
}

/** Below this p-value the shares are wrong, which invalidates all results (Fabijan et al. 2019). */
const MISMATCH_BELOW = 0.001
const MIN_DEVICES = 2
/** Pearson's test is unreliable if fewer are expected (Cochran 1954). */
const MIN_EXPECTED = 5

/** Analyzes an experiment in one metric, from its measurements so far. `confidenceLevel` lies between 0 and 1. */
export const analyseExperiment = (experiment: {
  readonly variants: readonly VariantSample[]
  readonly metric: string
  readonly confidenceLevel: number
}): ExperimentAnalysis => {
  const { variants, metric, confidenceLevel } = experiment
  const [baseline, ...others] = variants
  const alpha = 1 - confidenceLevel
  const sampleOf = (variant: VariantSample): Moments => variant.metrics.get(metric) ?? NO_MOMENTS
  const first = baseline === undefined ? NO_MOMENTS : sampleOf(baseline)
  const tests = others.map((variant) => welchTest(sampleOf(variant), first, confidenceLevel))
  const adjusted = holmAdjusted(tests.map((test) => test?.pValue ?? null))
  const comparisons = others.map((variant, index): Comparison => {
    const sample = sampleOf(variant)
    const welch = tests[index] ?? null
    // Without variance, a zero-width interval would claim a certainty that the data does not support.
    const alwaysValid = welch === null ? null : alwaysValidInterval(sample, first, alpha / others.length)
    return {
      variant: variant.name,
      baseline: baseline!.name,
      difference: sample.count === 0 || first.count === 0 ? null : sample.mean - first.mean,
      welch,
      adjustedPValue: adjusted[index] ?? null,
      alwaysValid,
      decided: alwaysValid !== null && (alwaysValid.lower > 0 || alwaysValid.upper < 0),
    }
  })
  const made = comparisons.flatMap(({ adjustedPValue }) => (adjustedPValue === null ? [] : [adjustedPValue]))
  const pValue = made.length === 0 ? null : Math.min(...made)
  const reporting = ratioOf(variants, ({ devices }) => devices)
  const compared = ratioOf(variants, (variant) => sampleOf(variant).count)
  const isMetricMissing = reporting?.mismatch === false && compared?.mismatch === true
  const sampleRatio = isMetricMissing ? compared : reporting
  return {
    pValue,
    significant: pValue !== null && pValue < alpha,
    comparisons,
    sampleRatio,
    warnings: [
      ...thinWarnings(variants, metric),
      ...ratioWarnings(variants, sampleRatio, isMetricMissing ? `devices that reported '${metric}'` : 'devices'),
      ...comparisonWarnings(comparisons, variants, sampleOf, alpha),
    ],
  }
}

const allocated = (variants: readonly VariantSample[]) => variants.filter(({ allocation }) => allocation > 0)

const ratioOf = (
  variants: readonly VariantSample[],
  countOf: (variant: VariantSample) => number,
): ExperimentAnalysis['sampleRatio'] => {
  const drawn = allocated(variants)
  const test = fitTest(
    drawn.map(countOf),
    drawn.map(({ allocation }) => allocation),
  )
  return (
    test && { ...test, mismatch: test.pValue < MISMATCH_BELOW && smallestExpected(variants, countOf) >= MIN_EXPECTED }
  )
}

const smallestExpected = (variants: readonly VariantSample[], countOf: (variant: VariantSample) => number): number => {
  const whole = variants.reduce((sum, variant) => sum + countOf(variant), 0)
  return Math.min(...allocated(variants).map(({ allocation }) => allocation * whole))
}

const thinWarnings = (variants: readonly VariantSample[], metric: string): string[] =>
  variants.flatMap(({ name, metrics }) => {
    const count = metrics.get(metric)?.count ?? 0
    if (count >= MIN_DEVICES) return []
    const have = count === 0 ? 'No device' : 'Only one device'
    return [`${have} of variant '${name}' has reported '${metric}': at least ${MIN_DEVICES} are needed to compare it.`]
  })

const ratioWarnings = (
  variants: readonly VariantSample[],
  ratio: ExperimentAnalysis['sampleRatio'],
  counted: string,
): string[] => {
  if (ratio === null) return []
  if (ratio.mismatch) {
    return [
      `The numbers of ${counted} do not match the allocations of the variants (sample-ratio mismatch): ` +
        'something keeps the devices of one variant from reporting. Find the cause before trusting any comparison.',
    ]
  }
  return smallestExpected(variants, ({ devices }) => devices) < MIN_EXPECTED
    ? ['The sample-ratio check is unreliable: there are too few devices for it yet.']
    : []
}

const comparisonWarnings = (
  comparisons: readonly Comparison[],
  variants: readonly VariantSample[],
  sampleOf: (variant: VariantSample) => Moments,
  alpha: number,
): string[] =>
  comparisons.flatMap(({ variant, baseline, welch, adjustedPValue, decided }) => {
    const pair = variants.filter(({ name }) => name === variant || name === baseline)
    if (welch === null && pair.every((one) => sampleOf(one).count >= MIN_DEVICES)) {
      return [
        `Within '${variant}' and within '${baseline}', all devices measured the same value: ` +
          'there is no variation to test against.',
      ]
    }
    const constant = pair.find((one) => sampleOf(one).count >= MIN_DEVICES && sampleOf(one).m2 === 0)
    if (welch !== null && constant !== undefined) {
      return [
        `All devices of '${constant.name}' measured the same value: with a variance of 0 for it, the p-value of '${variant}' ` +
          'is too low if other values are rare. Rely on the always-valid interval.',
      ]
    }
    if (adjustedPValue !== null && adjustedPValue < alpha && !decided) {
      return [
        `The p-value of '${variant}' is valid only if this is the only planned look: ` +
          'its always-valid interval still contains zero.',
      ]
    }
    return []
  })
