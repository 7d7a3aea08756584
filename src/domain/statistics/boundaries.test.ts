import { describe, expect, it } from 'vitest'
import { alwaysValidInterval } from './always-valid.ts'
import { oneWayAnova, tukeyPairs } from './anova.ts'
import { fitTest, independenceTest } from './chi-square.ts'
import { holmAdjusted } from './holm.ts'
import { mergeMoments, momentsOf, NO_MOMENTS, quantileOf, varianceOf } from './moments.ts'
import { chiSquareUpper, fUpper, normalUpper, tCritical, tTwoSided } from './special-functions.ts'
import { tukeyUpper } from './studentized-range.ts'
import { welchTest } from './t-test.ts'

const close = (value: number) => expect.closeTo(value, 9)
const A = [1, 2, 3, 4]
const B = [2, 4, 4, 5, 7]
const scaled = (values: readonly number[], factor: number) => momentsOf(values.map((value) => value * factor))

/** Returns all numbers in a value, at any depth. */
const numbersIn = (value: unknown): number[] =>
  typeof value === 'number' ? [value] : Object.values(value ?? {}).flatMap(numbersIn)

describe('at the ends of the allowed range of reported numbers', () => {
  const LIMITS: readonly (readonly [readonly number[], readonly number[]])[] = [
    [
      [3.4e38, -3.4e38, 3.4e38],
      [3.4e38, 3.4e38, -3.4e38],
    ],
    [
      [3.4e38, 3.4e38, 3.39e38],
      [-3.4e38, -3.4e38, -3.39e38],
    ],
    [
      [1e-38, 1.0000000000000002e-38, 1e-38],
      [3.4e38, 3.4e38, 3.4e38],
    ],
    [
      [1e-38, 0, 1e-38],
      [2e-38, 1e-38, 1e-38],
    ],
    [
      [1e-38, -1e-38, 0],
      [0, 0, 3.4e38],
    ],
  ]

  it.each(LIMITS)('every statistic of %j and %j is finite', (a, b) => {
    const groups = [momentsOf(a), momentsOf(b), mergeMoments(momentsOf(a), momentsOf(b))]
    const anova = oneWayAnova(groups)!
    const found = [
      groups,
      welchTest(groups[0]!, groups[1]!),
      alwaysValidInterval(groups[0]!, groups[1]!, 0.05),
      anova,
      [...tukeyPairs(groups, anova)],
      [0, 0.3, 1].map((p) => quantileOf([...a, ...b].sort(), p)),
    ]
    expect(numbersIn(found).filter((value) => !Number.isFinite(value))).toEqual([])
  })

  it('tests do not depend on the unit', () => {
    const plain = welchTest(scaled(A, 1), scaled(B, 1))!
    const anova = oneWayAnova([scaled(A, 1), scaled(B, 1)])!
    for (const factor of [1e-38, 1e-20, 1e37]) {
      const test = welchTest(scaled(A, factor), scaled(B, factor))!
      expect(test.tStatistic).toBeCloseTo(plain.tStatistic, 9)
      expect(test.degreesOfFreedom).toBeCloseTo(plain.degreesOfFreedom, 9)
      expect(test.pValue).toBeCloseTo(plain.pValue, 9)
      expect(test.effectSize).toBeCloseTo(plain.effectSize, 9)
      expect(oneWayAnova([scaled(A, factor), scaled(B, factor)])!.fStatistic).toBeCloseTo(anova.fStatistic, 9)
    }
  })

  it('groups that are extremely far apart are compared at once', () => {
    expect([80.1, 1e6, 1e20, 1e92].map((q) => tukeyUpper(q, 3, 1e6))).toEqual([0, 0, 0, 0])
    expect(tukeyUpper(79, 3, 1e6)).toBeLessThan(1e-300)
    // With one degree of freedom the error itself may be tiny: P decreases like 1 / q.
    expect(tukeyUpper(1e10, 3, 1) / tukeyUpper(1e11, 3, 1)).toBeCloseTo(10, 6)
  })
})

describe('moments', () => {
  it('without values do not change what they are merged with, and have a variance from two values on', () => {
    const one = momentsOf([3])
    expect(momentsOf([])).toEqual(NO_MOMENTS)
    expect(mergeMoments(NO_MOMENTS, one)).toBe(one)
    expect(mergeMoments(one, NO_MOMENTS)).toBe(one)
    expect([[], [3], [3, 5]].map((values) => varianceOf(momentsOf(values)))).toEqual([null, null, 2])
  })

  it('have quantiles of a single value, and between unequal neighbors', () => {
    expect([0, 0.5, 1].map((p) => quantileOf([7], p))).toEqual([7, 7, 7])
    expect([0.5, 0.75].map((p) => quantileOf([-1, 10, 100], p))).toEqual([10, 55])
  })
})

describe("Holm's adjustment", () => {
  it('multiplies by the remaining tests, never decreases, and never exceeds 1', () => {
    expect(holmAdjusted([0.01, 0.04, null, 0.03])).toEqual([0.03, 0.06, null, 0.06])
    expect(holmAdjusted([0.01, 0.02, 0.5])).toEqual([0.03, 0.04, 0.5])
    expect(holmAdjusted([0.6, 0.7])).toEqual([1, 1])
    expect(holmAdjusted([null])).toEqual([null])
  })
})

describe('tests', () => {
  it('by Welch need two values on each side, and variation on one', () => {
    expect(welchTest(momentsOf([1, 2]), momentsOf([1]))).toBeNull()
    expect(welchTest(momentsOf([1, 1]), momentsOf([2, 2]))).toBeNull()
    const test = welchTest(momentsOf([1, 1, 1]), momentsOf([2, 4]))!
    // Only the second varies: its one degree of freedom remains.
    expect([test.tStatistic, test.degreesOfFreedom, test.pValue]).toEqual([-2, 1, close(0.2951672353008666)])
    expect(test.confidenceInterval).toEqual({
      lower: close(-14.706204736174),
      upper: close(10.706204736174),
      level: 0.95,
    })
    expect(test.effectSize).toBeCloseTo(-2 / Math.sqrt(2 / 3), 12)
  })

  it('by ANOVA need two groups, a degree of freedom within, and variation within', () => {
    expect(oneWayAnova([momentsOf([1, 2, 3])])).toBeNull()
    expect(oneWayAnova([momentsOf([1]), momentsOf([2])])).toBeNull()
    expect(oneWayAnova([momentsOf([1, 1]), momentsOf([2, 2])])).toBeNull()
    expect(oneWayAnova([momentsOf([1, 3]), momentsOf([4])])).toEqual({
      fStatistic: close(4 / 1.5 / 2),
      pValue: expect.closeTo(0.4544, 3),
      degreesOfFreedomBetween: 1,
      degreesOfFreedomWithin: 1,
      effectSize: close(8 / 3 / (8 / 3 + 2)),
      meanSquareWithin: 2,
    })
  })

  it('of pairs include only groups with values, and identify them by index', () => {
    const groups = [momentsOf([1, 2]), NO_MOMENTS, momentsOf([5, 6, 7])]
    const [pair, ...others] = [...tukeyPairs(groups, oneWayAnova(groups)!)]
    expect(others).toEqual([])
    // For two groups the range is a t.
    const { pValue } = oneWayAnova(groups)!
    expect(pair).toEqual({ a: 0, b: 2, difference: 4.5, pValue: close(pValue) })
  })

  it('of independence need two nonempty rows and two nonempty columns', () => {
    const never = [
      [[1, 2]],
      [[1], [2]],
      [
        [1, 0],
        [3, 0],
      ],
      [
        [1, 2],
        [0, 0],
      ],
      [
        [0, 0],
        [0, 0],
      ],
      [],
    ]
    expect(never.map((table) => independenceTest(table))).toEqual(never.map(() => null))
    expect(
      independenceTest([
        [3, 0],
        [0, 5],
      ]),
    ).toMatchObject({ statistic: close(8), cramersV: close(1), degreesOfFreedom: 1 })
    expect(
      independenceTest([
        [1, 1],
        [3, 5],
      ])?.smallestExpected,
    ).toBeCloseTo(0.8, 12)
    expect(
      independenceTest([
        [9, 0, 0],
        [0, 5, 5],
      ])?.cramersV,
    ).toBeCloseTo(1, 12)
  })

  it('of fit need counts, and two non-zero shares', () => {
    expect(fitTest([0, 0], [1, 1])).toBeNull()
    expect(fitTest([5], [1])).toBeNull()
    expect(fitTest([5, 5], [1, 0])).toBeNull()
    expect(fitTest([10, 30], [0.5, 1.5])).toEqual({ statistic: 0, pValue: 1, degreesOfFreedom: 1 })
    expect(fitTest([1, 3], [1, 1])?.statistic).toBe(1)
  })
})

describe('the always-valid interval', () => {
  it("matches the paper's, and is null for fewer than two values", () => {
    expect(alwaysValidInterval(momentsOf(A), momentsOf(B.slice(0, 4)), 0.05)).toEqual({
      lower: close(-20.974677035418868),
      upper: close(18.474677035418868),
    })
    expect(alwaysValidInterval(momentsOf(B), momentsOf([1, 4]), 0.05)).toEqual({
      lower: close(-37.96973408146368),
      upper: close(41.769734081463675),
    })
    // The smaller sample varies less: the pooled error is the larger one.
    expect(alwaysValidInterval(momentsOf(A), momentsOf(B), 0.05)).toEqual({
      lower: close(-24.236318502745824),
      upper: close(20.436318502745827),
    })
    expect(alwaysValidInterval(momentsOf(A), momentsOf([1]), 0.05)).toBeNull()
    expect(alwaysValidInterval(momentsOf([1]), momentsOf(B), 0.05)).toBeNull()
  })

  it('has a limit if alpha is 1', () => {
    const { lower, upper } = alwaysValidInterval(momentsOf(A), momentsOf(B), 1)!
    expect((upper - lower) / 2).toBeCloseTo(18.060177186284747, 5)
  })
})

describe('distribution functions', () => {
  it('are continuous where their methods change', () => {
    for (const [of, at] of [
      [normalUpper, 2],
      [(x: number) => chiSquareUpper(x, 6), 8],
      [(x: number) => fUpper(x, 4, 6), 1.5],
      [(x: number) => tTwoSided(x, 5), 1],
    ] as const) {
      const [before, here, after] = [of(at - 1e-6), of(at), of(at + 1e-6)]
      expect(before).toBeGreaterThan(here)
      expect(here).toBeGreaterThan(after)
      expect((before + after) / 2 / here).toBeCloseTo(1, 9)
    }
  })

  it('have critical values for levels from tiny to nearly 1', () => {
    expect([tCritical(1, 5), tCritical(2, 5)]).toEqual([0, 0])
    for (const alpha of [0.999, 0.5, 0.01, 1e-12]) {
      expect(tTwoSided(tCritical(alpha, 3), 3) / alpha).toBeCloseTo(1, 10)
    }
    expect(normalUpper(-1)).toBeCloseTo(0.8413447460685429, 12)
    expect(tukeyUpper(0, 3, 5)).toBe(1)
  })
})
