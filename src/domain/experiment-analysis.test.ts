import { describe, expect, it } from 'vitest'
import { analyseExperiment, type VariantSample } from './experiment-analysis.ts'
import { holmAdjusted } from './statistics/holm.ts'
import { momentsOf } from './statistics/moments.ts'

const sample = (
  name: string,
  allocation: number,
  values: readonly number[],
  devices = values.length,
): VariantSample => ({
  name,
  allocation,
  devices,
  metrics: new Map(values.length === 0 ? [] : [['accuracy', momentsOf(values)]]),
})

const analyze = (...variants: VariantSample[]) =>
  analyseExperiment({ variants, metric: 'accuracy', confidenceLevel: 0.95 })

// Student's sleep data. Expected values are from SciPy 1.17 (ttest_ind without equal variances, chisquare).
const drug1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2]
const drug2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

describe('the analysis of an experiment', () => {
  it("is Welch's test of every variant against the first, with the same values as SciPy", () => {
    const { pValue, significant, comparisons, sampleRatio, warnings } = analyze(
      sample('drug 2', 0.5, drug2),
      sample('drug 1', 0.5, drug1),
    )
    expect(pValue).toBeCloseTo(0.0793941401874, 12)
    expect(significant).toBe(false)
    expect(comparisons).toEqual([
      {
        variant: 'drug 1',
        baseline: 'drug 2',
        difference: expect.closeTo(-1.58, 12),
        welch: {
          tStatistic: expect.closeTo(-1.86081346749, 10),
          pValue: expect.closeTo(0.0793941401874, 12),
          degreesOfFreedom: expect.closeTo(17.7764735162, 9),
          confidenceInterval: {
            lower: expect.closeTo(-3.36548323071, 9),
            upper: expect.closeTo(0.205483230712, 9),
            level: 0.95,
          },
          effectSize: expect.closeTo(-0.83218108135, 9),
        },
        adjustedPValue: expect.closeTo(0.0793941401874, 12),
        alwaysValid: { lower: expect.any(Number), upper: expect.any(Number) },
        decided: false,
      },
    ])
    const [{ alwaysValid, welch }] = comparisons as [(typeof comparisons)[number]]
    expect(alwaysValid!.lower).toBeLessThan(welch!.confidenceInterval.lower)
    expect(alwaysValid!.upper).toBeGreaterThan(welch!.confidenceInterval.upper)
    expect(sampleRatio).toEqual({ statistic: 0, pValue: 1, degreesOfFreedom: 1, mismatch: false })
    expect(warnings).toEqual([])
  })

  it('compares each of several variants with the first, and adjusts for their number', () => {
    const near = drug2.map((value, index) => value + (index % 2 === 0 ? 0.3 : -0.2))
    const { pValue, comparisons } = analyze(
      sample('drug 2', 0.5, drug2),
      sample('drug 1', 0.25, drug1),
      sample('near', 0.25, near),
    )
    expect(comparisons.map(({ variant, baseline }) => [variant, baseline])).toEqual([
      ['drug 1', 'drug 2'],
      ['near', 'drug 2'],
    ])
    expect(comparisons[0]!.adjustedPValue).toBeCloseTo(2 * 0.0793941401874, 12)
    expect(comparisons[1]!.adjustedPValue).toBe(comparisons[1]!.welch!.pValue)
    expect(pValue).toBe(comparisons[0]!.adjustedPValue)
    const alone = analyze(sample('drug 2', 0.5, drug2), sample('drug 1', 0.5, drug1)).comparisons[0]!
    expect(comparisons[0]!.alwaysValid!.upper).toBeGreaterThan(alone.alwaysValid!.upper)
  })

  it('contains nulls and warnings while there is nothing to compare', () => {
    expect(analyze(sample('a', 0.5, []), sample('b', 0.5, [0.9]))).toEqual({
      pValue: null,
      significant: false,
      comparisons: [
        {
          variant: 'b',
          baseline: 'a',
          difference: null,
          welch: null,
          adjustedPValue: null,
          alwaysValid: null,
          decided: false,
        },
      ],
      sampleRatio: { statistic: 1, pValue: expect.closeTo(0.317310507863, 12), degreesOfFreedom: 1, mismatch: false },
      warnings: [
        "No device of variant 'a' has reported 'accuracy': at least 2 are needed to compare it.",
        "Only one device of variant 'b' has reported 'accuracy': at least 2 are needed to compare it.",
        'The sample-ratio check is unreliable: there are too few devices for it yet.',
      ],
    })
    expect(analyze(sample('a', 0.5, []), sample('b', 0.5, [])).sampleRatio).toBeNull()
  })

  it('makes no claim if all measurements within each variant are the same', () => {
    const same = Array.from({ length: 10 }, () => 0.5)
    const { pValue, comparisons, warnings } = analyze(
      sample('a', 0.5, same),
      sample(
        'b',
        0.5,
        same.map((v) => v + 0.1),
      ),
    )
    expect(pValue).toBeNull()
    expect(comparisons[0]).toMatchObject({ difference: expect.closeTo(0.1, 12), welch: null, alwaysValid: null })
    expect(warnings).toEqual([
      "Within 'b' and within 'a', all devices measured the same value: there is no variation to test against.",
    ])
  })

  it('finds a sample-ratio mismatch, and ignores variants without an allocation', () => {
    const half = (name: string, devices: number) => sample(name, 0.5, drug1, devices)
    const { sampleRatio, warnings } = analyze(half('a', 1000), half('b', 850), sample('none', 0, []))
    expect(sampleRatio).toEqual({
      statistic: expect.closeTo(12.1621621622, 9),
      pValue: expect.closeTo(0.000487688096076, 14),
      degreesOfFreedom: 1,
      mismatch: true,
    })
    expect(warnings.filter((warning) => warning.includes('sample-ratio mismatch'))).toHaveLength(1)
    expect(analyze(half('a', 1000), half('b', 950)).sampleRatio).toMatchObject({ mismatch: false })
  })

  it('finds a sample-ratio mismatch of the devices that are compared, even if all report other metrics', () => {
    const many = Array.from({ length: 20 }, () => drug1).flat()
    const { sampleRatio, warnings } = analyze(sample('a', 0.5, many, 300), sample('b', 0.5, many.slice(0, 100), 300))
    expect(sampleRatio).toMatchObject({ statistic: expect.closeTo(100 / 3, 9), mismatch: true })
    expect(warnings[0]).toMatch(/^The numbers of devices that reported 'accuracy' do not match the allocations/)
    const fewer = analyze(sample('a', 0.5, many, 300), sample('b', 0.5, many.slice(0, 180), 300))
    expect(fewer).toMatchObject({ sampleRatio: { statistic: 0, mismatch: false }, warnings: [] })
  })

  it('finds no sample-ratio mismatch as long as too few devices are expected of a variant', () => {
    const early = analyze(sample('a', 0.99, drug1, 18), sample('b', 0.01, drug1.slice(5), 2))
    expect(early.sampleRatio).toMatchObject({ pValue: expect.closeTo(0.0000522786578327, 12), mismatch: false })
    expect(early.warnings).toContain('The sample-ratio check is unreliable: there are too few devices for it yet.')
    expect(analyze(sample('a', 0.99, drug1, 450), sample('b', 0.01, drug1, 50)).sampleRatio!.mismatch).toBe(true)
  })

  it('decides nothing if a few devices of one variant lack the rare values of the other, and warns', () => {
    const rare = Array.from({ length: 570 }, (_, index) => (index % 20 === 0 ? 0 : 1))
    const few = Array.from({ length: 30 }, () => 1)
    const { significant, comparisons, warnings } = analyze(sample('old', 0.95, rare), sample('new', 0.05, few))
    expect([significant, comparisons[0]!.decided]).toEqual([true, false])
    expect(warnings).toEqual([
      "All devices of 'new' measured the same value: with a variance of 0 for it, the p-value of 'new' is too low if " +
        'other values are rare. Rely on the always-valid interval.',
    ])
  })

  it('warns if a significant p-value is valid only for a single planned look', () => {
    const { significant, comparisons, warnings } = analyze(
      sample('a', 0.5, drug1),
      sample(
        'b',
        0.5,
        drug2.map((value) => value + 0.5),
      ),
    )
    expect(significant).toBe(true)
    expect(comparisons[0]!.decided).toBe(false)
    expect(warnings).toEqual([
      "The p-value of 'b' is valid only if this is the only planned look: " +
        'its always-valid interval still contains zero.',
    ])
    const many = (base: readonly number[]) => Array.from({ length: 40 }, () => base).flat()
    expect(analyze(sample('a', 0.5, many(drug1)), sample('b', 0.5, many(drug2)))).toMatchObject({
      significant: true,
      comparisons: [{ decided: true }],
      warnings: [],
    })
  })
})

describe("Holm's adjustment", () => {
  it('multiplies the smallest by their number, the next by one less, and never decreases', () => {
    expect(holmAdjusted([0.01, 0.04, 0.03, 0.005])).toEqual([0.03, 0.06, 0.06, 0.02])
  })

  it('skips what could not be tested, and never exceeds 1', () => {
    expect(holmAdjusted([null, 0.6, null, 0.7])).toEqual([null, 1, null, 1])
    expect(holmAdjusted([])).toEqual([])
  })
})
