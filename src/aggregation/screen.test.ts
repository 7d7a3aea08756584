import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AggregationWorkers } from './aggregation-workers.ts'
import { screenUpdates } from './screen.ts'
import { temporaryFolder, tensor } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const model = (name: string, w: readonly number[], half: readonly number[]): string =>
  files.safetensors(name, [tensor('w', 'f32', w), tensor('half', 'f16', half), tensor('steps', 'i64', [7])])

const screen = (updates: Readonly<Record<string, string>>, globalPath: string | null) =>
  screenUpdates({
    globalPath,
    updates: Object.entries(updates).map(([id, path]) => ({ id, path, rawVector: true })),
    scratchPath: files.path('scratch'),
  })

describe('screening', () => {
  it("returns each update's norm, cosine to the median change, and non-finite elements, by device ID", async () => {
    const global = model('global', [1, 1, 1], [2])
    const screened = await screen(
      {
        liar: model('x', [-29, 1, 1], [2]),
        c: model('c', [4, 1, 1], [6]),
        a: model('a', [4, 1, 1], [6]),
        broken: model('b', [7, Number.NaN, Number.POSITIVE_INFINITY], [10]),
      },
      global,
    )
    // Changes: a and c (3, 0, 0, 4), broken (6, 0, 0, 8) in its finite part, liar (-30, 0, 0, 0); median (3, 0, 0, 4).
    expect(screened).toEqual([
      { id: 'a', norm: 5, cosine: 1, nonFinite: 0 },
      { id: 'broken', norm: 10, cosine: 1, nonFinite: 2 },
      { id: 'c', norm: 5, cosine: 1, nonFinite: 0 },
      { id: 'liar', norm: 30, cosine: -0.6, nonFinite: 0 },
    ])
    expect(readdirSync(files.folder).filter((name) => name.startsWith('scratch'))).toEqual([])
  })

  it('measures from zero without a model and has no cosine for a zero change', async () => {
    expect(await screen({ a: files.raw('a', [3, 4]), b: files.raw('b', [0, 0]) }, null)).toEqual([
      { id: 'a', norm: 5, cosine: 1, nonFinite: 0 },
      { id: 'b', norm: 0, cosine: null, nonFinite: 0 },
    ])
  })

  it('handles models of several chunks and any number of updates', async () => {
    const count = 20_003
    const values = (k: number) => Array.from({ length: count }, (_, i) => (((i * 7) % 5) - 2) * k)
    const updates = Object.fromEntries(
      Array.from({ length: 31 }, (_, k) => [
        String(k).padStart(2, '0'),
        files.safetensors(`u${k}`, [tensor('w', 'f32', values(k))]),
      ]),
    )
    const screened = await screen(updates, null)
    const unit = Math.sqrt(values(1).reduce((sum, value) => sum + value ** 2, 0))
    expect(screened).toHaveLength(31)
    screened.forEach(({ norm, cosine }, k) => {
      expect(Math.abs(norm - k * unit)).toBeLessThan(1e-9 * (1 + k * unit))
      if (k === 0) expect(cosine).toBe(null)
      else expect(cosine).toBeCloseTo(1, 12)
    })
  })

  it('runs in a worker thread and names the update that cannot be compared with the others', async () => {
    const workers = new AggregationWorkers()
    try {
      const updates = [
        { id: 'a', path: files.raw('a', [3, 4]), rawVector: true },
        { id: 'b', path: files.raw('b', [1]), rawVector: true },
      ]
      const scratchPath = files.path('scratch')
      await expect(workers.screen({ globalPath: null, updates, scratchPath })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/^The update of device 'b' cannot be combined with the others\./),
      })
      expect(await workers.screen({ globalPath: null, updates: updates.slice(0, 1), scratchPath })).toEqual([
        { id: 'a', norm: 5, cosine: 1, nonFinite: 0 },
      ])
    } finally {
      await workers.close()
    }
  })
})
