import { expect, test } from 'vitest'
import { minimize, type Objective, type SgdOptions } from './sgd.ts'

const options: SgdOptions = { learningRate: 0.1, batchSize: 1, epochs: 1, l2: 0, proximal: 0, seed: 1 }

/** F(w) = (a/2) ||w - c||^2 */
const quadratic = (a: number, center: readonly number[]): Objective => ({
  sampleCount: 1,
  gradient: (parameters, _, gradient) => {
    let loss = 0
    center.forEach((c, index) => {
      gradient[index] = a * (parameters[index]! - c)
      loss += (a / 2) * (parameters[index]! - c) ** 2
    })
    return loss
  },
})

test('one step follows w -= lr * (g + l2 * w)', async () => {
  const parameters = Float64Array.of(1, 2)
  await minimize(quadratic(3, [0, 4]), parameters, { ...options, l2: 0.5 })
  expect([...parameters]).toEqual([1 - 0.1 * (3 + 0.5), 2 - 0.1 * (-6 + 1)])
})

test('with the proximal term it converges to (a c + mu w_start) / (a + mu), the closed form for a quadratic', async () => {
  const parameters = Float64Array.of(5, -3)
  await minimize(quadratic(2, [1, 1]), parameters, { ...options, epochs: 500, proximal: 3 })
  expect(parameters[0]).toBeCloseTo((2 * 1 + 3 * 5) / 5, 12)
  expect(parameters[1]).toBeCloseTo((2 * 1 + 3 * -3) / 5, 12)
})

test('a correction is added to every gradient, and the anchor may differ from the start', async () => {
  const corrected = Float64Array.of(1, 2)
  await minimize(quadratic(3, [0, 4]), corrected, { ...options, correction: Float64Array.of(10, -1) })
  expect([...corrected]).toEqual([1 - 0.1 * (3 + 10), 2 - 0.1 * (-6 - 1)])

  // Ditto's personal model: (a c + lambda w) / (a + lambda), wherever it started.
  const personal = Float64Array.of(100, -100)
  const anchor = Float64Array.of(5, -3)
  await minimize(quadratic(2, [1, 1]), personal, { ...options, epochs: 500, proximal: 3, anchor })
  expect(personal[0]).toBeCloseTo((2 * 1 + 3 * 5) / 5, 12)
  expect(personal[1]).toBeCloseTo((2 * 1 + 3 * -3) / 5, 12)
})

test('it returns the number of steps, even if its time ended before the last', async () => {
  const { objective } = recording(10)
  expect(await minimize(objective, new Float64Array(1), { ...options, batchSize: 4, epochs: 2 })).toBe(6)
  expect(await minimize(objective, new Float64Array(1), { ...options, batchSize: 4, maxSeconds: 1e-9 })).toBe(1)
})

/** Records the samples in each batch. */
const recording = (sampleCount: number): { objective: Objective; batches: number[][] } => {
  const batches: number[][] = []
  const gradient: Objective['gradient'] = (_, samples) => {
    batches.push([...samples])
    return 0
  }
  return { objective: { sampleCount, gradient }, batches }
}

test('every epoch uses every sample once, in batches, the last one smaller, in a new order', async () => {
  const { objective, batches } = recording(10)
  await minimize(objective, new Float64Array(1), { ...options, batchSize: 4, epochs: 2 })
  expect(batches.map((batch) => batch.length)).toEqual([4, 4, 2, 4, 4, 2])
  const epochs = [batches.slice(0, 3).flat(), batches.slice(3).flat()]
  const all = Array.from({ length: 10 }, (_, index) => index)
  for (const epoch of epochs) expect([...epoch].sort()).toEqual(all)
  expect(epochs[0]).not.toEqual(epochs[1])
})

test('the seed determines the order', async () => {
  const orders = await Promise.all(
    [1, 1, 2].map(async (seed) => {
      const { objective, batches } = recording(20)
      await minimize(objective, new Float64Array(1), { ...options, seed })
      return batches.flat()
    }),
  )
  expect(orders[1]).toEqual(orders[0])
  expect(orders[2]).not.toEqual(orders[0])
})

test('a loss that is no longer finite stops the training with advice', async () => {
  const run = minimize(quadratic(1, [0]), Float64Array.of(1e10), { ...options, learningRate: 1e6, epochs: 100 })
  await expect(run).rejects.toThrow(
    /^Training diverged: the loss is Infinity in epoch \d+\. Lower learning_rate \(it is 1000000\), or scale the features to similar ranges\.$/,
  )
})

test('an endless training lets timers run and stops when aborted', async () => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(new Error('enough')), 5)
  const endless = { ...options, epochs: Number.POSITIVE_INFINITY, signal: stop.signal }
  await expect(minimize(quadratic(1, [0]), Float64Array.of(1), endless)).rejects.toThrow('enough')
})
