import { expect, test } from 'vitest'
import { trainLocally } from './built-in.ts'
import { flatten, initialModel, networkOf } from './dense-network.ts'
import { type Controls, controlChange, correctionOf } from './scaffold.ts'
import { minimize, type Objective } from './sgd.ts'
import { syntheticDevices } from './synthetic.ts'
import { decodeModel, encodeModel } from './weights-codec.ts'

const LEARNING_RATE = 0.1

/** f1 = x^2 + G x and f2 = -G x, whose mean has its minimum at 0 (client drift). */
const drifting = (gap: number): Objective[] => {
  const client = (slope: (x: number) => number): Objective => ({
    sampleCount: 1,
    gradient: (x, _, gradient) => {
      gradient[0] = slope(x[0]!)
      return 0
    },
  })
  return [client((x) => 2 * x + gap), client(() => -gap)]
}

const sgd = (steps: number) =>
  ({ learningRate: LEARNING_RATE, batchSize: 1, epochs: steps, l2: 0, proximal: 0, seed: 1 }) as const

test.each([
  [1, 2, 0.0555555556],
  [10, 10, 6.202902496],
])('federated averaging drifts to the closed form for G = %d, K = %d', async (gap, steps, settled) => {
  let x = 100
  for (let round = 0; round < 400; round++) {
    const results = await Promise.all(
      drifting(gap).map(async (client) => {
        const y = Float64Array.of(x)
        await minimize(client, y, sgd(steps))
        return y[0]!
      }),
    )
    x = (results[0]! + results[1]!) / 2
  }
  expect(x).toBeCloseTo(settled, 9)
})

test.each([1, 10, 100])('SCAFFOLD does not: in 50 rounds it reaches 0 for G = %d', async (gap) => {
  const steps = 10
  let x = 100
  let c = 0
  const own = [0, 0]
  for (let round = 0; round < 50; round++) {
    const parts = await Promise.all(
      drifting(gap).map(async (client, index) => {
        const controls: Controls = { global: Float64Array.of(c), own: Float64Array.of(own[index]!) }
        const from = Float64Array.of(x)
        const to = from.slice()
        const taken = await minimize(client, to, { ...sgd(steps), correction: correctionOf(controls) })
        const change = controlChange({ ...controls }, { from, to, steps: taken, learningRate: LEARNING_RATE })
        return { index, moved: to[0]! - x, changed: change[0]! }
      }),
    )
    for (const { index, changed } of parts) own[index]! += changed
    x += (parts[0]!.moved + parts[1]!.moved) / 2
    c += (parts[0]!.changed + parts[1]!.changed) / 2
  }
  expect(Math.abs(x)).toBeLessThan(1.5e-12)
})

const [device] = syntheticDevices({ alpha: 1, beta: 1, devices: 1, seed: 1, features: 4, classes: 3, maxRows: 100 })
const linear = initialModel({ features: 4, hidden: [], classes: 3, seed: 0 })
const network = networkOf(linear)
const flat = (bytes: Uint8Array): Float64Array => flatten(network, decodeModel(bytes).tensors)
const model = encodeModel(linear, new Map())
const hyperparameters = { local_epochs: 1, batch_size: 1000, learning_rate: 0.5 }
const round = { roundId: 'r-1', hyperparameters, strategy: 'scaffold' }

test("an update includes the change of the control variate in the model's layout, and keeps what it sent", async () => {
  const first = await trainLocally(model, device!, round, { deviceId: 'a' })
  // From zero variates, one full step: c_i+ = (x - y) / lr = the gradient.
  const moved = flat(first.weights).map((y, index) => (flat(model)[index]! - y) / 0.5)
  for (const [index, value] of flat(first.control!).entries()) expect(value).toBeCloseTo(moved[index]!, 6)
  expect(decodeModel(first.control!).dtypes).toEqual(decodeModel(model).dtypes)
  expect(flat(first.memory!)).toEqual(flat(first.control!))

  // With c = c_i the correction is zero: the same step, and no change.
  const again = await trainLocally(
    model,
    device!,
    round,
    { deviceId: 'a' },
    {
      control: first.control!,
      memory: first.memory!,
    },
  )
  expect(again.weights).toEqual(first.weights)
  for (const value of flat(again.control!)) expect(value).toBeCloseTo(0, 6)
})

test('a control variate of another model is refused', async () => {
  const other = encodeModel(initialModel({ features: 5, hidden: [], classes: 3, seed: 0 }), new Map())
  await expect(
    trainLocally(model, device!, round, { deviceId: 'a' }, { control: other, memory: null }),
  ).rejects.toThrow("The round's control variate has 18 values, but the model has 15.")
})

test('Ditto also trains a personal model, which stays near the global one according to lambda, and is not sent', async () => {
  const ditto = (lambda: number, memory: Uint8Array | null = null) =>
    trainLocally(
      model,
      device!,
      { roundId: 'r-1', hyperparameters: { local_epochs: 30, learning_rate: 0.05, lambda }, strategy: 'ditto' },
      { deviceId: 'a' },
      { control: null, memory },
    )
  const plain = await trainLocally(
    model,
    device!,
    { roundId: 'r-1', hyperparameters: { local_epochs: 30, learning_rate: 0.05 } },
    { deviceId: 'a' },
  )
  const [loose, tight] = await Promise.all([ditto(0), ditto(10)])
  expect(loose.weights).toEqual(plain.weights)
  expect(tight.weights).toEqual(plain.weights)
  // With lambda 0 it is plain local training; with a large one it hardly moves.
  expect(loose.memory).toEqual(plain.weights)
  const distance = (bytes: Uint8Array) => Math.hypot(...flat(bytes).map((value, index) => value - flat(model)[index]!))
  expect(distance(tight.memory!)).toBeLessThan(distance(loose.memory!) / 5)
  // The next round continues from it.
  const next = await ditto(0, loose.memory!)
  expect(distance(next.memory!)).toBeGreaterThan(distance(loose.memory!))
  expect(next.personal!.count).toBe(device!.heldOut.labels.length)
})
