import { describe, expect, it } from 'vitest'
import { explain, isJudgeable, judge, type PolicySettings } from './policy.ts'
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
/** n values around a mean, with a spread. */
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

  it('can be read', () => {
    const { comparisons } = judge(accuracy(around(0.85)), accuracy(around(0.9)), settings)
    expect(comparisons.map(explain)).toEqual([
      'accuracy 0.85 on 20 canary devices against 0.9 on 20 others: difference between -0.0533 and -0.0467, worse by the margin of 0.02.',
    ])
    expect(judge(accuracy(around(0.85)), nothing, settings).comparisons.map(explain)).toEqual([
      'accuracy 0.85 on 20 canary devices against none on 0 others: too little to compare.',
    ])
  })

  it('is due early when enough devices have measured on both sides', () => {
    const five = accuracy(around(0.9, 0, 5))
    expect(isJudgeable(five, five, settings)).toBe(true)
    expect(isJudgeable(five, accuracy(around(0.9, 0, 4)), settings)).toBe(false)
  })
})
