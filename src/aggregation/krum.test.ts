import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { strategySettings } from '../domain/strategy-settings.ts'
import type { DType } from '../tensors/weight-file.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { createKernel, padded } from './kernel.ts'
import { decode, encode, randomNumbers, randomRow } from './kernel-oracle.fixture.ts'
import { krum, krumScores } from './krum.ts'
import { jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const run = (models: readonly (readonly number[])[], options: Record<string, number> = {}, dtype: DType = 'f32') =>
  aggregateFiles(
    jobOf({
      strategy: strategySettings('krum', options),
      updates: models.map((values, k) => ({
        id: `d${String(k).padStart(2, '0')}`,
        path: files.safetensors(`u${k}`, [tensor('w', dtype, values), tensor('steps', 'i32', [1000 * k])]),
        numSamples: 1,
      })),
      outputPath: files.path('out'),
    }),
  )

/** The updates that had weight. */
const chosenBy = async (models: readonly (readonly number[])[], options: Record<string, number>, dtype?: DType) =>
  (await run(models, options, dtype)).weights.flatMap(({ weight }, k) => (weight > 0 ? [k] : []))

/** Krum by its definition, implemented as simply as possible. */
const bestByDefinition = (models: readonly (readonly number[])[], liars: number, keep: number): number[] => {
  const distance = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0)
  const scores = models.map((model, a) =>
    models
      .flatMap((other, b) => (a === b ? [] : [distance(model, other)]))
      .sort((x, y) => x - y)
      .slice(0, models.length - liars - 2)
      .reduce((sum, each) => sum + each, 0),
  )
  const order = scores.map((_, k) => k).sort((a, b) => scores[a]! - scores[b]! || a - b)
  return order.slice(0, keep).sort((a, b) => a - b)
}

describe('Krum', () => {
  it.each<DType>(['f32', 'f64', 'f16', 'bf16'])(
    'chooses what its definition says among random %s models',
    async (dtype) => {
      const next = randomNumbers(11)
      for (const [count, liars, keep] of [
        [3, 0, 1],
        [5, 1, 1],
        [8, 2, 3],
        [13, 5, 8],
      ] as const) {
        const models = Array.from({ length: count }, (_, k) =>
          decode(
            dtype,
            encode(
              dtype,
              Array.from({ length: 45 }, () => (next() - 0.5) * (k < liars ? 40 : 4)),
            ),
          ).map(Number),
        )
        expect(await chosenBy(models, { byzantine: liars, keep }, dtype)).toEqual(bestByDefinition(models, liars, keep))
      }
    },
  )

  it('uses the chosen file unchanged, including integers', async () => {
    await run([[9], [1], [1.25], [1.125], [2]], { byzantine: 1 })
    expect(valuesIn(files.path('out'))).toEqual({ w: [1.125], steps: [3000] })
  })

  it('averages the chosen updates, including integers, if it keeps several', async () => {
    await run([[9], [1], [1.25], [1.1875], [2]], { byzantine: 1, keep: 2 })
    expect(valuesIn(files.path('out'))).toEqual({ w: [1.21875], steps: [2500] })
  })

  it('never keeps more than n - f', async () => {
    expect(await chosenBy([[900], [1], [1.25], [1.125], [2]], { byzantine: 1, keep: 5 })).toEqual([1, 2, 3, 4])
  })

  it('resolves a tie in favor of the smaller device ID', async () => {
    expect(await chosenBy([[0], [0], [0], [0], [5]], { byzantine: 1 })).toEqual([0])
  })

  it('is not misled where 32-bit sums order scores incorrectly', async () => {
    // In 32 bits, 63 squares of 2^-24 are lost if added to 1 one by one; the other pair's 2.9e-6 is less than their true sum.
    const lost = (i: number): number => (i === 0 ? 1 : i < 256 && i % 4 === 0 ? 2 ** -12 : 0)
    const kept = (i: number): number => (i === 256 ? 1 : i === 260 ? 1.75 * 2 ** -10 : 0)
    const columns = Array.from({ length: 300 }, (_, i) => i)
    const models = [columns.map(() => 0), columns.map(lost), columns.map((i) => lost(i) + kept(i))]
    expect(bestByDefinition(models, 0, 2)).toEqual([1, 2])
    expect(await chosenBy(models, { byzantine: 0, keep: 2 })).toEqual([1, 2])
  })

  it('distinguishes models whose squares are out of the range of f32 on either side', async () => {
    for (const scale of [1e-30, 1e-42, 1e25]) {
      const models = [7, 1, 3, 3.5, 4.5, 100].map((value) => [Math.fround(value * scale), 0])
      expect(await chosenBy(models, { byzantine: 1 })).toEqual(bestByDefinition(models, 1, 1))
    }
  })

  it('is not misled by values at an infinite distance', async () => {
    const models = [[1.7e308], [1], [1.5], [1.25], [-1.7e308]]
    expect(await chosenBy(models, { byzantine: 1 }, 'f64')).toEqual([3])
  })

  it('refuses fewer than 2f + 3 updates and gives the reason', async () => {
    await expect(run([[1], [2], [3], [4]], { byzantine: 1 })).rejects.toMatchObject({
      code: 'conflict',
      message:
        'Krum needs at least 2f + 3 = 5 updates to withstand f = 1 Byzantine updates, and this round has 4. ' +
        'Wait for more devices, or lower strategy_options.byzantine.',
    })
    expect(await chosenBy([[1], [2], [4]], { byzantine: 0 })).toEqual([0])
  })

  it('refuses more updates than it can store distances for', () => {
    const round = { options: strategySettings('krum').options, samples: new Array<number>(4097).fill(1) }
    expect(() =>
      krum(createKernel(), {
        ...round,
        staleness: [],
        population: 1,
        roundsBefore: 0,
        privacy: null,
        hasMeanChange: false,
      }),
    ).toThrow('Krum compares every update with every other, and this round has 4097, more than 4096.')
  })

  it('scores by the n - f - 2 nearest updates', () => {
    const points = [0, 1, 3, 7]
    expect(krumScores(4, 2, (a, b) => (points[a]! - points[b]!) ** 2)).toEqual([1 + 9, 1 + 4, 4 + 9, 16 + 36])
  })
})

describe('distances of all pairs', () => {
  it.each(['f32', 'f64'] as const)('are the sums of squared differences of %s rows for any number of rows', (lanes) => {
    for (const [rows, length] of [
      [2, 1],
      [3, 300],
      [5, 9],
      [6, 513],
      [7, 40],
      [20, 257],
    ] as const) {
      const kernel = createKernel()
      const width = lanes === 'f32' ? 4 : 8
      const stride = padded(length) * width
      const base = kernel.allocate(rows * stride)
      const out = kernel.allocate(rows * rows * 8)
      const values = Array.from({ length: rows }, (_, k) => {
        const row = encode(
          lanes,
          decode('i16', randomRow('i16', length, rows * 100 + k, false)).map((value) => Number(value) / 1000),
        )
        kernel.bytes(base + k * stride, row.length).set(row)
        return decode(lanes, row).map(Number)
      })
      kernel.pairs(lanes, base, stride, rows, length, out)
      const sums = decode('f64', kernel.bytes(out, rows * rows * 8)).map(Number)
      for (let a = 0; a < rows; a++)
        for (let b = 0; b < rows; b++) {
          const exact = values[a]!.reduce((sum, value, i) => sum + (value - values[b]![i]!) ** 2, 0)
          const bound = lanes === 'f32' ? 70 * 2 ** -24 : 1e-12
          if (b > a) expect(Math.abs(sums[a * rows + b]! - exact)).toBeLessThanOrEqual(exact * bound)
          else expect(sums[a * rows + b]).toBe(0)
        }
    }
  })
})
