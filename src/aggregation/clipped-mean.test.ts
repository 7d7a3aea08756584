import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { strategySettings } from '../domain/strategy-settings.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { gridOf, noiseShares } from './clipped-mean.ts'
import { GaussianNoise, NOISE } from './gaussian-noise.ts'
import type { PrivacyPlan } from './job.ts'
import { jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files = temporaryFolder()
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const SEED = 'a5'.repeat(32)

const plan = (parts: Partial<PrivacyPlan> = {}): PrivacyPlan => ({
  clipNorm: 5,
  noiseMultiplier: 0,
  denominator: 4,
  noiseSeed: SEED,
  hardened: false,
  adaptive: null,
  ...parts,
})

const model = (name: string, w: readonly number[], b: readonly number[], steps: number): string =>
  files.safetensors(name, [tensor('w', 'f64', w), tensor('b', 'f64', b), tensor('steps', 'i64', [steps])])

/** Changes of norm 5, 10 and 0, over two tensors together. */
const job = (privacy: PrivacyPlan, name: 'fedavg' | 'fedopt' = 'fedavg') =>
  jobOf({
    strategy: strategySettings(name, name === 'fedopt' ? { variant: 'momentum' } : {}),
    privacy,
    globalPath: model('global', [1, 1], [0], 100),
    updates: [
      { id: 'a', path: model('a', [4, 1], [4], 1), numSamples: 1 },
      { id: 'b', path: model('b', [1, 7], [8], 2), numSamples: 1000 },
      { id: 'c', path: model('c', [1, 1], [0], 3), numSamples: 0 },
    ],
    outputPath: files.path('out'),
  })

const noise = (place: number, count: number): number[] => {
  const target = new Float64Array(count)
  new GaussianNoise(SEED).fill(target, NOISE.elements, place)
  return [...target]
}

const near = (actual: readonly (number | bigint)[] | undefined, expected: readonly number[]): void => {
  expect(actual).toHaveLength(expected.length)
  expected.forEach((value, i) => void expect(Math.abs(Number(actual![i]) - value)).toBeLessThan(1e-9))
}

describe('a private round', () => {
  it('clips whole updates to the norm, counts all the same and divides by the fixed denominator', async () => {
    const { privacy, weights } = await aggregateFiles(job(plan()))
    const { w, b, steps } = valuesIn(files.path('out'))
    near(w, [1 + 3 / 4, 1 + 3 / 4])
    near(b, [(4 + 4) / 4])
    expect(steps).toEqual([100n])
    expect(privacy).toEqual({ clippedFraction: null, nextClipNorm: null })
    expect(weights.map(({ weight }) => weight)).toEqual([1 / 4, 1 / 4, 1 / 4])
  })

  it('adds noise of standard deviation z C / m to every coordinate', async () => {
    await aggregateFiles(job(plan({ noiseMultiplier: 2 })))
    const [first, second] = [noise(0, 2), noise(1, 1)]
    const { w, b } = valuesIn(files.path('out'))
    near(w, [1 + (3 + 10 * first[0]!) / 4, 1 + (3 + 10 * first[1]!) / 4])
    near(b, [(8 + 10 * second[0]!) / 4])
  })

  it('gives a replay the same bytes, another seed other bytes, and never notices sample counts', async () => {
    const bytes = async (privacy: PrivacyPlan, numSamples = 1) => {
      const round = job(privacy)
      await aggregateFiles({ ...round, updates: round.updates.map((update) => ({ ...update, numSamples })) })
      return readFileSync(files.path('out'))
    }
    const first = await bytes(plan({ noiseMultiplier: 1 }))
    expect(await bytes(plan({ noiseMultiplier: 1 }), 77)).toEqual(first)
    expect(await bytes(plan({ noiseMultiplier: 1, noiseSeed: '5a'.repeat(32) }))).not.toEqual(first)
  })

  it('draws four numbers for one, and rounds the noisy sum to a grid that depends on the noise alone', async () => {
    await aggregateFiles(job(plan({ noiseMultiplier: 2, hardened: true })))
    const source = new GaussianNoise(SEED)
    const half = (place: number, at: number): number =>
      [NOISE.elements, NOISE.second, NOISE.third, NOISE.fourth].reduce((sum, purpose) => {
        const target = new Float64Array(2)
        source.fill(target, purpose, place)
        return sum + target[at]! / 2
      }, 0)
    // The standard deviation is 10: the grid is 2^3 / 2^20.
    const grid = 2 ** -17
    expect(gridOf(10)).toBe(grid)
    const { w, b } = valuesIn(files.path('out'))
    const sums = [...w!, ...b!].map((value, i) => (Number(value) - (i < 2 ? 1 : 0)) * 4)
    const clipped = [3, 3, 8]
    for (const [i, sum] of sums.entries()) {
      expect(Number.isInteger(sum / grid)).toBe(true)
      expect(Math.abs(sum - (clipped[i]! + 10 * half(i < 2 ? 0 : 1, i % 2)))).toBeLessThanOrEqual(grid / 2)
    }
  })

  it('has a grid for any noise that is a number, and none where a grid would lose the sum', () => {
    expect(gridOf(1)).toBe(2 ** -20)
    expect(gridOf(0.99)).toBe(2 ** -21)
    expect(gridOf(1e9 * 1e6)).toBe(2 ** 29)
    for (const none of [0, 1e-320, Number.NaN, Number.POSITIVE_INFINITY]) expect(gridOf(none)).toBe(0)
  })

  it('hands the noisy mean change to the optimizer on the server', async () => {
    await aggregateFiles(job(plan({ noiseMultiplier: 2 }), 'fedopt'))
    const draws = noise(0, 2)
    near(valuesIn(files.path('out')).w, [1 + (3 + 10 * draws[0]!) / 4, 1 + (3 + 10 * draws[1]!) / 4])
  })

  it('spreads noise over tensors of many chunks without repeating it', async () => {
    const count = 70_001
    const zero = files.safetensors('zero', [tensor('w', 'f32', new Array<number>(count).fill(0))])
    await aggregateFiles(
      jobOf({
        privacy: plan({ noiseMultiplier: 1, clipNorm: 1, denominator: 1 }),
        globalPath: zero,
        updates: [{ id: 'a', path: zero, numSamples: 1 }],
        outputPath: files.path('out'),
      }),
    )
    const { w } = valuesIn(files.path('out'))
    expect(w).toEqual(noise(0, count).map(Math.fround))
  })

  it('measures the share of clipped updates with noise, and moves the norm towards the quantile', async () => {
    const adaptive = { learningRate: 0.5, targetQuantile: 0.75, countNoise: 3 }
    const { privacy } = await aggregateFiles(job(plan({ noiseMultiplier: 0.5, adaptive })))
    // Two of the three updates lie within the norm.
    const share = (2 + 3 * new GaussianNoise(SEED).single(NOISE.count)) / 4
    expect(privacy!.nextClipNorm).toBeCloseTo(5 * Math.exp(-0.5 * (share - 0.75)), 12)
    expect(privacy!.clippedFraction).toBeCloseTo(Math.min(1, Math.max(0, 1 - share)), 12)
  })

  it('splits its noise between sum and count at the cost of the multiplier alone', () => {
    const { sum, count } = noiseShares(plan({ noiseMultiplier: 1.5, denominator: 100, adaptive: {} }))
    expect(count).toBe(5)
    // The Gaussian mechanism's cost is the sum of the inverse squares; the count's sensitivity is 1/2 when centered.
    expect(sum ** -2 + (2 * count) ** -2).toBeCloseTo(1.5 ** -2, 12)
    expect(noiseShares(plan({ noiseMultiplier: 1.5 }))).toEqual({ sum: 1.5, count: 0 })
    const small = plan({ noiseMultiplier: 1.5, adaptive: { countNoise: 0.75 } })
    expect(() => noiseShares(small)).toThrow('adaptive clipping needs a count_noise above 0.75')
  })

  it('is refused without a model to measure changes from', async () => {
    await expect(aggregateFiles({ ...job(plan()), globalPath: null })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^Strategy 'fedavg' with privacy measures changes from the model/),
    })
  })
})
