import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { strategySettings } from '../domain/strategy-settings.ts'
import { aggregateFiles } from './aggregate-files.ts'
import type { PrivacyPlan } from './aggregation-messages.ts'
import { centeredCount, gridOf, noiseShares } from './clipped-mean.ts'
import { GaussianNoise, NOISE } from './gaussian-noise.ts'
import { jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
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

/** Changes of norm 5, 10, and 0, over both tensors. */
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
  it('clips whole updates to the norm, weights all equally, and divides by the fixed denominator', async () => {
    const { privacy, weights } = await aggregateFiles(job(plan()))
    const { w, b, steps } = valuesIn(files.path('out'))
    near(w, [1 + 3 / 4, 1 + 3 / 4])
    near(b, [(4 + 4) / 4])
    expect(steps).toEqual([100n])
    expect(privacy).toEqual({ clippedFraction: null, nextClipNorm: null })
    expect(weights.map(({ weight }) => weight)).toEqual([1 / 4, 1 / 4, 1 / 4])
  })

  it('adds noise with standard deviation z C / m to every coordinate', async () => {
    await aggregateFiles(job(plan({ noiseMultiplier: 2 })))
    const [first, second] = [noise(0, 2), noise(1, 1)]
    const { w, b } = valuesIn(files.path('out'))
    near(w, [1 + (3 + 10 * first[0]!) / 4, 1 + (3 + 10 * first[1]!) / 4])
    near(b, [(8 + 10 * second[0]!) / 4])
  })

  it('gives a replay the same bytes, another seed other bytes, and ignores sample counts', async () => {
    const bytes = async (privacy: PrivacyPlan, numSamples = 1) => {
      const round = job(privacy)
      await aggregateFiles({ ...round, updates: round.updates.map((update) => ({ ...update, numSamples })) })
      return readFileSync(files.path('out'))
    }
    const first = await bytes(plan({ noiseMultiplier: 1 }))
    expect(await bytes(plan({ noiseMultiplier: 1 }), 77)).toEqual(first)
    expect(await bytes(plan({ noiseMultiplier: 1, noiseSeed: '5a'.repeat(32) }))).not.toEqual(first)
  })

  it('draws four numbers per element and rounds the noisy sum to a grid that depends only on the noise', async () => {
    await aggregateFiles(job(plan({ noiseMultiplier: 2, hardened: true })))
    const source = new GaussianNoise(SEED)
    const half = (place: number, at: number): number =>
      [NOISE.elements, NOISE.second, NOISE.third, NOISE.fourth].reduce((sum, purpose) => {
        const target = new Float64Array(2)
        source.fill(target, purpose, place)
        return sum + target[at]! / 2
      }, 0)
    // The standard deviation is 10, so the grid is 2^3 / 2^20.
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

  it('has a grid for any finite noise, except where a grid would lose the sum', () => {
    expect(gridOf(1)).toBe(2 ** -20)
    expect(gridOf(0.99)).toBe(2 ** -21)
    expect(gridOf(1e9 * 1e6)).toBe(2 ** 29)
    for (const none of [0, 1e-320, Number.NaN, Number.POSITIVE_INFINITY]) expect(gridOf(none)).toBe(0)
  })

  it('passes the noisy mean change to the server optimizer', async () => {
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

  it('measures the share of clipped updates with noise and moves the norm toward the quantile', async () => {
    const adaptive = { learningRate: 0.5, targetQuantile: 0.75, countNoise: 3 }
    const { privacy } = await aggregateFiles(job(plan({ noiseMultiplier: 0.5, adaptive })))
    // Two of the three updates lie within the norm: 1/2 + 1/2 - 1/2.
    const share = (0.5 + 3 * new GaussianNoise(SEED).single(NOISE.count)) / 4 + 0.5
    expect(privacy!.nextClipNorm).toBeCloseTo(5 * Math.exp(-0.5 * (share - 0.75)), 12)
    expect(privacy!.clippedFraction).toBeCloseTo(Math.min(1, Math.max(0, 1 - share)), 12)
  })

  it('changes the count that it publishes by exactly half when a device is added, whether its update is clipped or not', async () => {
    const round = job(plan({ noiseMultiplier: 0.5, adaptive: { countNoise: 3 } }))
    const publish = async (...ids: string[]) => {
      const updates = round.updates.filter(({ id }) => ids.includes(id))
      const { clippedFraction, nextClipNorm } = (await aggregateFiles({ ...round, updates })).privacy!
      // Both as the round publishes them, from share = count / 4 + 1/2.
      const shareOfNorm = 0.5 - Math.log(nextClipNorm! / 5) / 0.2
      return { count: 4 * (shareOfNorm - 0.5), clippedFraction: clippedFraction! }
    }
    const fewer = await publish('c')
    const [within, clipped] = [await publish('a', 'c'), await publish('b', 'c')]
    expect(within.count - fewer.count).toBeCloseTo(0.5, 9)
    expect(clipped.count - fewer.count).toBeCloseTo(-0.5, 9)
    expect(centeredCount([], 5)).toBe(0)
    expect(centeredCount([4, 5, 6, 5.000001], 5)).toBe(0)
  })

  it('keeps the norm where it is on average when the target quantile is clipped, however many devices are drawn', async () => {
    const round = job(plan({ adaptive: { countNoise: 0 } }))
    const updates = round.updates.filter(({ id }) => id !== 'c')
    const { privacy } = await aggregateFiles({ ...round, updates })
    expect(privacy).toEqual({ clippedFraction: 0.5, nextClipNorm: 5 })
  })

  it('splits the noise between sum and count at no more than the cost of the multiplier', () => {
    const { sum, count } = noiseShares(plan({ noiseMultiplier: 1.5, denominator: 100, adaptive: {} }))
    expect(count).toBe(5)
    // The cost of the Gaussian mechanism is the sum of inverse squares; the centered count has sensitivity 1/2.
    expect(sum ** -2 + (2 * count) ** -2).toBeCloseTo(1.5 ** -2, 12)
    expect(noiseShares(plan({ noiseMultiplier: 1.5 }))).toEqual({ sum: 1.5, count: 0 })
    const small = plan({ noiseMultiplier: 1.5, adaptive: { countNoise: 0.75 } })
    expect(() => noiseShares(small)).toThrow('adaptive clipping needs a count_noise above 0.75')
  })

  it('clips changes whose squares exceed the range of 64-bit floats like all others', async () => {
    const round = job(plan())
    const huge = [
      { id: 'a', path: model('huge', [1e200, 1], [0], 1), numSamples: 1 },
      { id: 'b', path: model('hugest', [-1.7e308, 1], [1.7e308], 1), numSamples: 1 },
    ]
    const { privacy } = await aggregateFiles({
      ...round,
      privacy: plan({ adaptive: { countNoise: 0 } }),
      updates: [...huge, round.updates[2]!],
    })
    const { w, b } = valuesIn(files.path('out'))
    near(w, [1 + (5 - 5 * Math.SQRT1_2) / 4, 1])
    near(b, [(5 * Math.SQRT1_2) / 4])
    expect(privacy!.clippedFraction).toBe(0.625)
  })

  it('names no device, element, or value when it fails', async () => {
    const failure = async (path: string, name: 'fedavg' | 'fedopt' = 'fedavg', globalPath?: string) => {
      const round = job(plan({ noiseMultiplier: 1 }), name)
      const updates = [round.updates[0]!, { id: 'secret-phone', path, numSamples: 1 }]
      return aggregateFiles({ ...round, updates, globalPath: globalPath ?? round.globalPath }).then(
        () => expect.unreachable(),
        (error: Error) => error.message,
      )
    }
    expect(await failure(model('nan', [1, Number.NaN], [0], 1))).toBe(
      'An update contains NaN or infinity: its training diverged. Nothing was aggregated. Lower the learning rate of the devices; a ' +
        'private round does not tell which device it was.',
    )
    const text = files.path('text')
    writeFileSync(text, 'not weights')
    const other = files.safetensors('other', [tensor('v', 'f64', [1])])
    for (const path of [text, other]) {
      const message = await failure(path)
      expect(message).toMatch(/^The update of a device /)
      expect(message).not.toContain('secret-phone')
    }
    const broken = model('broken', [Number.POSITIVE_INFINITY, 1], [0], 1)
    expect(await failure(model('fine', [1, 1], [0], 1), 'fedavg', broken)).toBe(
      'The model of the round contains NaN or infinity in tensor "w". Nothing was aggregated: start from another version of the model.',
    )
  })

  it('is refused without a model to measure changes from', async () => {
    await expect(aggregateFiles({ ...job(plan()), globalPath: null })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^Strategy 'fedavg' with privacy measures changes from the model/),
    })
  })
})
