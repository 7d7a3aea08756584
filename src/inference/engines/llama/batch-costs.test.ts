import { afterAll, beforeAll, expect, test } from 'vitest'
import { costsWhenIdle, fasterApart, measureCosts } from './batch-costs.ts'
import { type BatchContext, openContext } from './binding/batch-context.ts'
import { loadAddon } from './binding/load-addon.ts'
import { loadModel } from './binding/load-model.ts'

let context: BatchContext
beforeAll(async () => {
  const model = await loadModel('models/starter.gguf', await loadAddon(null))
  context = await openContext(model, { slots: 1, contextTokens: 300, batchTokens: 128, threads: 1 })
})
afterAll(() => context.close())

/** A fake clock on which batches take as long as `costs`, after one warm-up batch. */
const clockOf = (costs: readonly number[]) => {
  let readings = 0
  let time = 0
  return (): number => {
    const batch = (readings - 1) / 2
    if (readings % 2 === 1) time += batch === 0 ? 1000 : costs[(batch - 1) % costs.length]!
    readings += 1
    return time
  }
}

test('unmeasured sizes are interpolated linearly, and sizes beyond the last grow in proportion', async () => {
  const costs = (await measureCosts(context, clockOf([14, 21, 27, 21, 35, 36])))!
  expect([1, 2, 3, 4, 5, 6, 8, 16].map(costs.of)).toEqual([14, 21, 27, 21, 28, 35, 36, 72])
  expect([1, 2, 3, 4, 8, 9].map((streams) => fasterApart(costs, streams))).toEqual(Array(6).fill(false))
})

test('few streams run one after another if their batch costs more than that', async () => {
  const costs = (await measureCosts(context, clockOf([10, 30, 50, 41, 70, 80])))!
  expect([1, 2, 3, 4, 6, 8, 9].map((streams) => fasterApart(costs, streams))).toEqual([
    false,
    true,
    true,
    false,
    true,
    false,
    false,
  ])
})

test('costs are measured while idle and again after an interruption; until then no streams run one after another', async () => {
  const contexts = { opened: 0, closed: 0 }
  // Work arrives during the first measurement.
  const idle = [true, true, true, false]
  const model = await loadModel('models/starter.gguf', await loadAddon(null))
  const costs = costsWhenIdle({
    open: async () => {
      contexts.opened++
      const own = await openContext(model, { slots: 1, contextTokens: 32, batchTokens: 8, threads: 1 })
      const close = async (): Promise<void> => {
        contexts.closed++
        await own.close()
      }
      return { ...own, close }
    },
    clock: clockOf([10, 30, 50, 41, 70, 80]),
    isIdle: () => idle.shift() ?? true,
  })
  expect([1, 2, 8].map(costs.of)).toEqual([1, 2, 8])
  expect(fasterApart(costs, 2)).toBe(false)
  await expect.poll(() => contexts, { timeout: 20_000 }).toEqual({ opened: 2, closed: 2 })
  expect(costs.of(8)).not.toBe(8)
})
