import { describe, expect, it } from 'vitest'
import { alwaysValidInterval } from './always-valid.ts'
import { oneWayAnova, tukeyPairs } from './anova.ts'
import { fitTest, independenceTest } from './chi-square.ts'
import { mergeMoments, momentsOf, NO_MOMENTS, quantileOf } from './moments.ts'
import { chiSquareUpper, fUpper, normalUpper, tCritical, tTwoSided } from './special-functions.ts'
import { tukeyUpper } from './studentized-range.ts'
import { welchTest } from './t-test.ts'

/** Equal to a relative 1e-9. */
const expectClose = (found: number, expected: number) =>
  expect(Math.abs(found / expected - 1), `${found} instead of ${expected}`).toBeLessThan(1e-9)

// Values from R 4.3, and from SciPy 1.14 if R has none.
describe('distribution functions', () => {
  it.each([
    ['qt(.975, 10)', tCritical(0.05, 10), 2.22813885198627],
    ['qt(.9999995, 2.5)', tCritical(1e-6, 2.5), 290.523061599015],
    ['pf(34.7, 5, 66, upper)', fUpper(34.7, 5, 66), 3.18750801260911e-17],
    ['pchisq(500, 3, upper)', chiSquareUpper(500, 3), 4.77167203191276e-108],
    ['2 * pt(-40, 30)', tTwoSided(40, 30), 1.3726045194406417e-27],
    ['pnorm(8, upper)', normalUpper(8), 6.22096057427178e-16],
    ['ptukey(3.5, 3, 20, upper)', tukeyUpper(3.5, 3, 20), 0.0558918490820594],
    ['ptukey(10, 2, 1, upper)', tukeyUpper(10, 2, 1), 0.08943852195031543],
    ['ptukey(50, 4, 1, upper)', tukeyUpper(50, 4, 1), 0.03283816978792786],
  ])('%s', (_, found, expected) => expectClose(found, expected))

  it('agree for two groups, where the range is a t: P(Q > q) = P(|T| > q / sqrt 2), far out as well', () => {
    for (const [q, df] of [
      [1, 10],
      [12, 7.5],
      [40, 30],
      [6, 1e7],
      [100, 5],
    ] as const) {
      expectClose(tukeyUpper(q, 2, df), tTwoSided(q / Math.SQRT2, df))
    }
  })

  it('are 1 at zero and 0 at infinity', () => {
    expect([fUpper(0, 3, 4), chiSquareUpper(0, 3), tTwoSided(0, 3), tukeyUpper(0, 3, 4)]).toEqual([1, 1, 1, 1])
    expect([fUpper(Infinity, 3, 4), chiSquareUpper(Infinity, 3), tTwoSided(Infinity, 3)]).toEqual([0, 0, 0])
  })
})

const SLEEP = [
  [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2],
  [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
] as const

const PLANT_GROWTH = [
  [4.17, 5.58, 5.18, 6.11, 4.5, 4.61, 5.17, 4.53, 5.33, 5.14],
  [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
  [6.31, 5.12, 5.54, 5.5, 5.37, 5.29, 4.92, 6.15, 5.8, 5.26],
] as const

describe("Welch's t-test", () => {
  it('of the sleep data matches R', () => {
    const found = welchTest(momentsOf(SLEEP[0]), momentsOf(SLEEP[1]))!
    expectClose(found.tStatistic, -1.86081346749)
    expectClose(found.degreesOfFreedom, 17.7764735162)
    expectClose(found.pValue, 0.0793941401874)
    expectClose(found.confidenceInterval.lower, -3.36548323071)
    expectClose(found.confidenceInterval.upper, 0.205483230712)
    expectClose(found.effectSize, -0.83218108135)
  })

  it('returns null for too few values, or samples without variance', () => {
    expect(welchTest(momentsOf([1]), momentsOf([1, 2]))).toBeNull()
    expect(welchTest(momentsOf([1, 1]), momentsOf([2, 2]))).toBeNull()
  })
})

describe('one-way analysis of variance', () => {
  it('of PlantGrowth matches R, including its pairs', () => {
    const groups = PLANT_GROWTH.map(momentsOf)
    const found = oneWayAnova(groups)!
    expect([found.degreesOfFreedomBetween, found.degreesOfFreedomWithin]).toEqual([2, 27])
    expectClose(found.fStatistic, 4.84608786238)
    expectClose(found.pValue, 0.0159099583256)
    expectClose(found.effectSize, 0.264148296832)
    const pairs = [...tukeyPairs(groups, found)]
    expect(pairs.map(({ a, b }) => [a, b])).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
    ])
    expectClose(pairs[2]!.pValue, 0.0120064239795)
  })

  it('keeps its precision where sums of squares lose it: nine groups around 1e12 that differ by tenths', () => {
    const tenths = (level: number) =>
      Array.from({ length: 21 }, (_, n) => 1e12 + level + (n === 0 ? 0 : n % 2 === 1 ? -0.1 : 0.1))
    const levels = [0.4, 0.3, 0.5, 0.2, 0.6, 0.1, 0.7, 0, 0.8]
    const offset = oneWayAnova(levels.map((level) => momentsOf(tenths(level))))!
    const centered = oneWayAnova(levels.map((level) => momentsOf(tenths(level).map((value) => value - 1e12))))!
    // At 1e12 the values themselves carry only four digits after the decimal point.
    expect(Math.abs(offset.fStatistic / centered.fStatistic - 1)).toBeLessThan(1e-3)
  })

  it('ignores empty groups and needs two others', () => {
    expect(oneWayAnova([momentsOf([1, 2]), NO_MOMENTS])).toBeNull()
    const [a, b] = [momentsOf([1, 2, 4]), momentsOf([3, 5])]
    expect(oneWayAnova([a, NO_MOMENTS, b])).toEqual(oneWayAnova([a, b]))
  })
})

describe('chi-square tests', () => {
  it('of independence match R on the party data', () => {
    const found = independenceTest([
      [762, 327, 468],
      [484, 239, 477],
    ])!
    expectClose(found.statistic, 30.0701490958)
    expectClose(found.pValue, 2.95358918321e-7)
    expectClose(found.cramersV, 0.104435802356)
    expect([found.degreesOfFreedom, found.smallestExpected > 5]).toEqual([2, true])
  })

  it('ignore empty rows and columns, and need two of each', () => {
    expect(
      independenceTest([
        [1, 0, 5],
        [0, 0, 0],
        [4, 0, 2],
      ]),
    ).toEqual(
      independenceTest([
        [1, 5],
        [4, 2],
      ]),
    )
    expect(independenceTest([[1, 2, 3]])).toBeNull()
  })

  it('of fit: 60 throws of a die', () => {
    const found = fitTest([5, 8, 9, 8, 10, 20], [1, 1, 1, 1, 1, 1])!
    expectClose(found.statistic, 13.4)
    expectClose(found.pValue, 0.01990522033477438)
  })
})

describe('moments', () => {
  it('of parts merge into those of the whole, however it is split', () => {
    const values = Array.from({ length: 100 }, (_, n) => Math.sin(n) * 10 + 1e6)
    const whole = momentsOf(values)
    for (const cut of [0, 1, 37, 99, 100]) {
      const merged = mergeMoments(momentsOf(values.slice(0, cut)), momentsOf(values.slice(cut)))
      expect(merged.count).toBe(100)
      expectClose(merged.mean, whole.mean)
      expectClose(merged.m2, whole.m2)
    }
  })

  it('include quantiles between neighbors', () => {
    expect([0, 0.25, 0.5, 0.9, 1].map((p) => quantileOf([1, 2, 3, 4], p))).toEqual([1, 1.75, 2.5, 3.7, 4])
    expect(quantileOf([], 0.5)).toBeNull()
  })
})

describe('the always-valid interval', () => {
  /** Seeded standard normal numbers, by Box and Muller. */
  const normals = (seed: number) => {
    let state = seed
    const next = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return (state + 0.5) / 2 ** 32
    }
    return () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next())
  }

  it('misses the true difference in at most 5% of runs when checked after every pair, where a fixed test misses it more often', () => {
    let missed = 0
    let fixed = 0
    for (let run = 0; run < 200; run++) {
      const next = normals(run + 1)
      let [a, b] = [NO_MOMENTS, NO_MOMENTS]
      let everMissed = false
      let everFixed = false
      for (let n = 0; n < 400; n++) {
        a = mergeMoments(a, { count: 1, mean: next(), m2: 0 })
        b = mergeMoments(b, { count: 1, mean: next(), m2: 0 })
        if (n < 10) continue
        const interval = alwaysValidInterval(a, b, 0.05)!
        everMissed ||= interval.lower > 0 || interval.upper < 0
        if (n % 20 === 0) everFixed ||= welchTest(a, b)!.pValue < 0.05
      }
      if (everMissed) missed += 1
      if (everFixed) fixed += 1
    }
    expect(missed).toBeLessThanOrEqual(10)
    expect(fixed).toBeGreaterThan(30)
  })

  it('misses in at most 5% of runs even if one sample is small and the values are 0 or, rarely, 1', () => {
    const missed = Array.from({ length: 200 }, (_, run) => {
      const next = normals(run + 1)
      let [large, small] = [NO_MOMENTS, NO_MOMENTS]
      for (let n = 1; n <= 600; n++) {
        const value = { count: 1, mean: next() > 1.645 ? 1 : 0, m2: 0 }
        if (n % 20 === 0) small = mergeMoments(small, value)
        else large = mergeMoments(large, value)
        const interval = alwaysValidInterval(small, large, 0.05)
        if (interval !== null && large.m2 > 0 && (interval.lower > 0 || interval.upper < 0)) return true
      }
      return false
    })
    expect(missed.filter(Boolean).length).toBeLessThanOrEqual(10)
  })
})
