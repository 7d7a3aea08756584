import { describe, expect, it } from 'vitest'
import {
  chanceOfFewer,
  coinBound,
  leastTarget,
  MAX_MISSED_DRAWS,
  requireLikelyDraw,
  samplingOf,
} from './poisson-sampling.ts'

/** P(Binomial(n, target / n) < fewest), by adding up all terms in integers. */
const exactly = (fewest: number, target: number, n: number): number => {
  let ways = 1n
  let sum = 0n
  for (let k = 0; k < fewest; k++) {
    sum += ways * BigInt(target) ** BigInt(k) * BigInt(n - target) ** BigInt(n - k)
    ways = (ways * BigInt(n - k)) / BigInt(k + 1)
  }
  return Number((sum * 10n ** 130n) / BigInt(n) ** BigInt(n)) / 1e130
}

describe('the size of a draw', () => {
  it('is below a given number with the probability of the binomial distribution', () => {
    for (const [fewest, target, n] of [
      [1, 1, 2],
      [2, 3, 10],
      [3, 3, 4],
      [5, 5, 60],
      [9, 3, 10],
      [2, 40, 60],
      [1, 59, 60],
    ] as const) {
      expect(chanceOfFewer(fewest, samplingOf(target, n)) / exactly(fewest, target, n)).toBeCloseTo(1, 10)
    }
  })

  it('is certain if all devices are drawn, and never exceeds the fleet', () => {
    expect(chanceOfFewer(3, samplingOf(3, 3))).toBe(0)
    expect(chanceOfFewer(3, samplingOf(50, 3))).toBe(0)
    expect(chanceOfFewer(4, samplingOf(4, 3))).toBe(1)
    expect(chanceOfFewer(1, samplingOf(1, 0))).toBe(1)
    expect(chanceOfFewer(0, samplingOf(1, 10))).toBe(0)
  })

  it('keeps its precision in fleets of ten million and in tiny tails', () => {
    // Poisson with mean 10: P(X < 4) = e^-10 (1 + 10 + 50 + 1000/6).
    const few = Math.exp(-10) * (1 + 10 + 50 + 1000 / 6)
    expect(chanceOfFewer(4, samplingOf(10, 10_000_000)) / few).toBeCloseTo(1, 4)
    // None of a thousand, each with probability 1/2.
    expect(chanceOfFewer(1, samplingOf(500, 1000)) / 2 ** -1000).toBeCloseTo(1, 9)
    expect(chanceOfFewer(5_000_000, samplingOf(5_000_000, 10_000_000))).toBeCloseTo(0.5, 3)
  })
})

describe('a start that would too often draw too few devices', () => {
  it('names the lowest target that works: it does, and one less does not', () => {
    for (const [fewest, n] of [
      [1, 2],
      [2, 10],
      [3, 4],
      [10, 1000],
      [1000, 1_000_000],
    ] as const) {
      const least = leastTarget(fewest, n)!
      expect(chanceOfFewer(fewest, samplingOf(least, n))).toBeLessThanOrEqual(MAX_MISSED_DRAWS)
      expect(chanceOfFewer(fewest, samplingOf(least - 1, n))).toBeGreaterThan(MAX_MISSED_DRAWS)
      expect(() => requireLikelyDraw({ minDevices: fewest, targetDevices: least }, n)).not.toThrow()
      expect(() => requireLikelyDraw({ minDevices: fewest, targetDevices: least - 1 }, n)).toThrow(
        `Set target_devices to at least ${least}, or lower min_devices.`,
      )
    }
  })

  it('states how often that would happen, and that no target works if the fleet is too small', () => {
    expect(() => requireLikelyDraw({ minDevices: 3, targetDevices: 3 }, 4)).toThrow(
      'target_devices: a private round draws each device independently at random. 4 devices are eligible, and with a target ' +
        'of 3 the draw would be smaller than min_devices (3) in 26% of rounds; at most 1% is allowed. Set ' +
        'target_devices to at least 4, or lower min_devices.',
    )
    expect(leastTarget(3, 2)).toBeNull()
    expect(() => requireLikelyDraw({ minDevices: 3, targetDevices: 5 }, 1)).toThrow(
      'min_devices: only 1 device is eligible, so a private round that needs 3 cannot start with any target_devices.',
    )
  })
})

it('a coin draws its device with probability q, rounded down to 53 bits, and always if q is 1', () => {
  expect(coinBound(1)).toBeNull()
  expect(coinBound(0.5)).toBe('8000000000000000')
  expect(coinBound(2 ** -53)).toBe('0000000000000800')
  for (const rate of [1 / 3, 0.1, 7 / 11, 1 - 2 ** -53]) {
    const chance = Number(BigInt(`0x${coinBound(rate)}`)) / 2 ** 64
    expect(chance).toBeLessThanOrEqual(rate)
    expect(rate - chance).toBeLessThan(2 ** -53)
  }
})
