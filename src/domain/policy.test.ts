import { describe, expect, it } from 'vitest'
import { explain, isJudgeable, judge, limitOf, type Measured, type PolicySettings } from './policy.ts'
import { momentsOf, NO_MOMENTS } from './statistics/moments.ts'

const settings: PolicySettings = {
  canaryPercentage: 10,
  canaryGroupId: null,
  observeMinutes: 60,
  minReports: 5,
  maxAccuracyDrop: 0.02,
  maxLossIncrease: 0.1,
  confidenceLevel: 0.95,
  incrementStep: 10,
  stepIntervalSeconds: 3600,
}
/** n values around a mean, with the given spread. */
const around = (mean: number, spread = 0.005, n = 20) =>
  momentsOf(Array.from({ length: n }, (_, k) => mean + spread * (k % 2 === 0 ? 1 : -1)))
const nothing = { accuracy: NO_MOMENTS, loss: NO_MOMENTS }
const accuracy = (moments: typeof NO_MOMENTS) => ({ ...nothing, accuracy: moments })
const verdict = (canary: typeof nothing, current: typeof nothing) => judge(canary, current, settings).verdict

describe('a verdict', () => {
  it.each([
    ['promotes what is better', accuracy(around(0.95)), accuracy(around(0.9)), 'promote'],
    ['promotes what is as good', accuracy(around(0.9)), accuracy(around(0.9)), 'promote'],
    ['promotes what is worse by less than the margin', accuracy(around(0.89)), accuracy(around(0.9)), 'promote'],
    ['rolls back what is worse', accuracy(around(0.85)), accuracy(around(0.9)), 'roll_back'],
    [
      'is open where the spread hides the difference',
      accuracy(around(0.9, 0.3)),
      accuracy(around(0.9, 0.3)),
      'inconclusive',
    ],
    ['is open where one side measured nothing', accuracy(around(0.9)), nothing, 'inconclusive'],
    ['is open where one side has one value', accuracy(around(0.9)), accuracy(around(0.9, 0, 1)), 'inconclusive'],
    ['is open where nobody measured anything', nothing, nothing, 'inconclusive'],
    ['knows values that do not vary at all', accuracy(around(0.9, 0)), accuracy(around(0.9, 0)), 'promote'],
    [
      'judges by the loss too',
      { accuracy: around(0.95), loss: around(0.5) },
      { accuracy: around(0.9), loss: around(0.4) },
      'roll_back',
    ],
    [
      'lets the loss rise by its share',
      { ...nothing, loss: around(0.42) },
      { ...nothing, loss: around(0.4) },
      'promote',
    ],
    [
      'is open when one of two metrics is',
      { accuracy: around(0.9), loss: around(0.4, 0.5) },
      { accuracy: around(0.9), loss: around(0.4, 0.5) },
      'inconclusive',
    ],
  ])('%s', (_title, canary, current, expected) => {
    expect(verdict(canary, current)).toBe(expected)
  })

  // Halves and quarters are exact, so that a margin can be met exactly.
  const exact = { ...settings, maxAccuracyDrop: 0.25, maxLossIncrease: 0.5 }
  const constant = (value: number) => around(value, 0, 5)
  const lossOf = (value: number) => ({ ...nothing, loss: constant(value) })
  const tick = 2 ** -30

  it.each([
    ['an accuracy lower by just the margin', accuracy(constant(0.5)), accuracy(constant(0.75)), 'promote'],
    ['one lower by a little more', accuracy(constant(0.5 - tick)), accuracy(constant(0.75)), 'roll_back'],
    ['a loss higher by just the share', lossOf(1.5), lossOf(1), 'promote'],
    ['one higher by a little more', lossOf(1.5 + tick), lossOf(1), 'roll_back'],
    ['a negative loss higher by just the share of its size', lossOf(-0.5), lossOf(-1), 'promote'],
    ['one higher by a little more', lossOf(-0.5 + tick), lossOf(-1), 'roll_back'],
  ])('for %s is %s', (_title, canary, current, expected) => {
    expect(judge(canary, current, exact).verdict).toBe(expected)
  })

  it('for samples without variance uses the difference itself as both ends of the interval', () => {
    const { comparisons } = judge(accuracy(constant(0.5)), accuracy(constant(0.75)), exact)
    expect(comparisons).toEqual([
      {
        metric: 'accuracy',
        canary: { devices: 5, mean: 0.5 },
        current: { devices: 5, mean: 0.75 },
        interval: { lower: -0.25, upper: -0.25 },
        margin: 0.25,
        finding: 'no_worse',
      },
    ])
  })

  it('is inconclusive while either side has a single value, whatever the other has', () => {
    const one = accuracy(momentsOf([0.9]))
    for (const [canary, current] of [
      [one, accuracy(constant(0.9))],
      [accuracy(constant(0.9)), one],
      [one, one],
    ] as const) {
      expect(judge(canary, current, settings)).toMatchObject({
        verdict: 'inconclusive',
        comparisons: [{ interval: null, finding: 'unclear' }],
      })
    }
  })

  it('considers further metrics: more is better, except for losses, errors and times, whose margin is relative', () => {
    const further = { ...settings, metricMargins: { f1: 0.05, latency_ms: 0.2 } }
    const of = (f1: number, latency: number) => ({ f1: around(f1), latency_ms: around(latency, 1) })
    const outcome = (canary: Measured, current: Measured) => judge(canary, current, further)
    expect(outcome(of(0.8, 110), of(0.8, 100)).verdict).toBe('promote')
    expect(outcome(of(0.7, 100), of(0.8, 100)).verdict).toBe('roll_back')
    expect(outcome(of(0.8, 130), of(0.8, 100))).toMatchObject({
      verdict: 'roll_back',
      comparisons: [
        { metric: 'f1', margin: 0.05, finding: 'no_worse' },
        { metric: 'latency_ms', margin: 20, finding: 'worse' },
      ],
    })
    const limits = ['accuracy', 'f1', 'loss', 'latency_ms'].map((metric) => limitOf({ metric, margin: 0.02 }))
    expect(limits).toEqual([-0.02, -0.02, 0.02, 0.02])
  })

  it('counts a relative margin as uncertain as the mean that it is a share of', () => {
    const doubled = { ...settings, metricMargins: { crash_rate: 1 } }
    const of = (share: number, n: number) => ({
      crash_rate: momentsOf(Array.from({ length: n }, (_, k) => (k < share * n ? 1 : 0))),
    })
    // Twice 0.1 is 0.2 +- 0.052 (500 devices), and the canary's 0.14 +- 0.030: the difference is -0.06 +- 0.060.
    const [comparison] = judge(of(0.14, 500), of(0.1, 500), doubled).comparisons
    expect(comparison!.finding).toBe('unclear')
    expect(comparison!.margin).toBeCloseTo(0.1, 12)
    expect(comparison!.interval!.lower).toBeCloseTo(0.04 - 0.0609, 3)
    expect(comparison!.interval!.upper).toBeCloseTo(0.04 + 0.0609, 3)
  })

  it('can be explained', () => {
    const { comparisons } = judge(accuracy(around(0.85)), accuracy(around(0.9)), settings)
    expect(comparisons.map(explain)).toEqual([
      'accuracy 0.85 on 20 canary devices against 0.9 on 20 others: difference between -0.0533 and -0.0467, worse with a margin of 0.02.',
    ])
    expect(judge(accuracy(around(0.85)), nothing, settings).comparisons.map(explain)).toEqual([
      'accuracy 0.85 on 20 canary devices against none on 0 others: too little data to compare.',
    ])
  })

  it('is possible early if enough devices have measured on both sides', () => {
    const five = accuracy(around(0.9, 0, 5))
    expect(isJudgeable(five, five, settings)).toBe(true)
    expect(isJudgeable(five, accuracy(around(0.9, 0, 4)), settings)).toBe(false)
    expect(isJudgeable(accuracy(around(0.9, 0, 4)), five, settings)).toBe(false)
    const byLoss = { ...nothing, loss: around(1, 0, 5) }
    expect(isJudgeable(byLoss, { ...five, loss: around(1, 0, 1) }, settings)).toBe(true)
  })
})
