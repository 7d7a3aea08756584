import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { strategySettings } from '../domain/strategy-settings.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const model = (name: string, values: readonly number[], steps: number): string =>
  files.safetensors(name, [tensor('w', 'f64', values), tensor('steps', 'i64', [steps])])

describe('buffered asynchronous aggregation', () => {
  it("moves the current model by each device's change from its starting model, less for late ones", async () => {
    const base = model('base', [0, 1], 0)
    const { weights } = await aggregateFiles(
      jobOf({
        strategy: strategySettings('fedbuff', { server_learning_rate: 0.5, staleness_exponent: 0.5 }),
        globalPath: model('global', [10, 20], 5),
        updates: [
          { id: 'late', path: model('a', [4, 1], 1), numSamples: 999, basePath: base, staleness: 3 },
          { id: 'later', path: model('b', [0, -8], 2), numSamples: 1, basePath: base, staleness: 8 },
          { id: 'fresh', path: model('c', [11, 21], 4), numSamples: 1 },
        ],
        outputPath: files.path('out'),
      }),
    )
    // s = 1/2, 1/3, and 1; changes (4, 0), (0, -9), and (1, 1).
    const expected = [10 + 0.5 * ((4 / 2 + 0 / 3 + 1) / 3), 20 + 0.5 * ((0 / 2 - 9 / 3 + 1) / 3)]
    const { w, steps } = valuesIn(files.path('out'))
    expected.forEach((value, i) => void expect(Math.abs(Number(w![i]) - value)).toBeLessThan(1e-9))
    expect(steps).toEqual([2n])
    const total = 1 / 2 + 1 / 3 + 1
    const scaled = { fresh: 1, late: 1 / 2, later: 1 / 3 }
    expect(weights.map(({ id }) => id)).toEqual(Object.keys(scaled))
    Object.values(scaled).forEach((scale, k) => void expect(weights[k]!.weight).toBeCloseTo(scale / total, 12))
  })

  it('names the device whose starting model has another layout', async () => {
    const other = files.safetensors('other', [tensor('w', 'f64', [1])])
    const job = jobOf({
      strategy: strategySettings('fedbuff'),
      globalPath: model('global', [1, 2], 0),
      updates: [{ id: 'a', path: model('a', [1, 2], 0), numSamples: 1, basePath: other, staleness: 1 }],
      outputPath: files.path('out'),
    })
    await expect(aggregateFiles(job)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^The model that device 'a' started from cannot be combined with the others\./),
    })
  })
})
