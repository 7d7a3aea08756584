import { createCipheriv } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { cosSinTurns, naturalLog } from './deterministic-math.ts'
import { GaussianNoise, NOISE } from './gaussian-noise.ts'
import { randomNumbers } from './kernel-oracle.fixture.ts'

const SEED = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'

const draw = (count: number, place = 0, start = 0, seed = SEED): number[] => {
  const target = new Float64Array(count)
  new GaussianNoise(seed).fill(target, NOISE.elements, place, start)
  return [...target]
}

describe('Gaussian noise from a seed', () => {
  it('is the same for the same seed, tensor, and element, in pieces of any size', () => {
    const whole = draw(40_001, 3)
    expect([...draw(16_384, 3), ...draw(16_384, 3, 16_384), ...draw(7233, 3, 32_768)]).toEqual(whole)
    expect(draw(8, 3)).toEqual(whole.slice(0, 8))
  })

  it('is Box-Muller over AES-256 in counter mode, block by block', () => {
    const counter = Buffer.from(['00000001', '00000005', '0000000000000002'].join(''), 'hex')
    const block = createCipheriv('aes-256-ctr', Buffer.from(SEED, 'hex'), counter).update(Buffer.alloc(16))
    const first = (BigInt(block.readUInt32LE(0)) << 32n) | BigInt(block.readUInt32LE(4))
    const second = (BigInt(block.readUInt32LE(8)) << 32n) | BigInt(block.readUInt32LE(12))
    const radius = Math.sqrt(-2 * Math.log((Number(first) + 0.5) / 2 ** 64))
    const angle = 2 * Math.PI * (Number(second >> 11n) / 2 ** 53)
    const drawn = draw(2, 5, 4)
    expect(drawn[0]).toBeCloseTo(radius * Math.cos(angle), 13)
    expect(drawn[1]).toBeCloseTo(radius * Math.sin(angle), 13)
  })

  it('shares no values between tensors, purposes, and seeds', () => {
    const other = `ff${SEED.slice(2)}`
    const all = [...draw(2000), ...draw(2000, 1), ...draw(2000, 2), ...draw(2000, 0, 2000), ...draw(2000, 0, 0, other)]
    all.push(new GaussianNoise(SEED).single(NOISE.count))
    expect(new Set(all).size).toBe(10_001)
  })

  it('has the moments and tails of a normal distribution and no correlation within pairs', () => {
    const count = 200_000
    const numbers = draw(count)
    const mean = (of: (x: number, i: number) => number): number =>
      numbers.reduce((sum, x, i) => sum + of(x, i), 0) / count
    // The seed is fixed, so these bounds of five standard errors never fail by chance.
    const within = (value: number, expected: number, variance: number): void =>
      expect(Math.abs(value - expected)).toBeLessThan(5 * Math.sqrt(variance / count))
    within(
      mean((x) => x),
      0,
      1,
    )
    within(
      mean((x) => x ** 2),
      1,
      2,
    )
    within(
      mean((x) => x ** 3),
      0,
      15,
    )
    within(
      mean((x) => x ** 4),
      3,
      96,
    )
    within(
      mean((x, i) => x * (numbers[i ^ 1] ?? 0)),
      0,
      1,
    )
    // P(|x| > t) for t of 1, 2, 3, and 4.
    for (const [t, p] of [
      [1, 0.317310507862914],
      [2, 0.0455002638963584],
      [3, 0.00269979606326021],
      [4, 6.33424836662398e-5],
    ] as const)
      within(
        mean((x) => (Math.abs(x) > t ? 1 : 0)),
        p,
        p,
      )
  })

  it('has the same moments if each value combines four draws', () => {
    const count = 100_000
    const numbers = new Float64Array(count)
    new GaussianNoise(SEED).fillWithFour(numbers, new Float64Array(count), 3)
    const mean = (power: number): number => numbers.reduce((sum, x) => sum + x ** power, 0) / count
    for (const [power, expected, variance] of [
      [1, 0, 1],
      [2, 1, 2],
      [3, 0, 15],
      [4, 3, 96],
    ] as const)
      expect(Math.abs(mean(power) - expected)).toBeLessThan(5 * Math.sqrt(variance / count))
    expect([...numbers.slice(0, 4)]).not.toEqual(draw(4, 3))
  })

  it('passes the Kolmogorov-Smirnov test for a normal distribution', () => {
    const sorted = draw(50_000, 9).sort((a, b) => a - b)
    // Abramowitz and Stegun 26.2.17, absolute error below 7.5e-8.
    const below = (x: number): number => {
      const t = 1 / (1 + 0.2316419 * Math.abs(x))
      const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
      const tail = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * poly
      return x > 0 ? 1 - tail : tail
    }
    const distance = Math.max(...sorted.map((x, i) => Math.abs(below(x) - (i + 0.5) / sorted.length)))
    // Critical value at 0.1%: 1.95 / sqrt(n).
    expect(distance).toBeLessThan(1.95 / Math.sqrt(sorted.length))
  })

  it('refuses a seed that is not 32 bytes and an odd start', () => {
    expect(() => new GaussianNoise('abc')).toThrow('The noise seed must be 32 bytes in hex.')
    expect(() => draw(2, 0, 1)).toThrow('start at an even index')
  })
})

describe('logarithm and circle from basic operations', () => {
  it('agree with Math to a few units in the last place', () => {
    const next = randomNumbers(3)
    let [ofLog, ofCircle] = [0, 0]
    for (let i = 0; i < 20_000; i++) {
      const x = next() ** (1 + (i % 12)) + 2 ** -65
      ofLog = Math.max(ofLog, Math.abs((naturalLog(x) - Math.log(x)) / Math.log(x)))
      const turns = next()
      const [cos, sin] = cosSinTurns(turns)
      const angle = 2 * Math.PI * turns
      ofCircle = Math.max(ofCircle, Math.abs(cos - Math.cos(angle)), Math.abs(sin - Math.sin(angle)))
    }
    expect(ofLog).toBeLessThan(4e-16)
    expect(ofCircle).toBeLessThan(1e-15)
  })

  it('are exact where the true value is', () => {
    expect([naturalLog(1), naturalLog(2), naturalLog(0.25)]).toEqual([0, Math.LN2, -2 * Math.LN2])
    const corners = [0, 0.25, 0.5, 0.75].map((turns) => cosSinTurns(turns).map((value) => value + 0))
    expect(corners).toEqual([
      [1, 0],
      [0, 1],
      [-1, 0],
      [0, -1],
    ])
  })
})
