import { expect, test } from 'vitest'
import { pickRows } from './dataset.ts'
import { initialModel } from './dense-network.ts'
import { syntheticDevices } from './synthetic.ts'
import { train } from './train.ts'

const options = { alpha: 1, beta: 1, devices: 30, seed: 1 }

test('thirty devices have at least 50 rows of 60 features each, a tenth of them held out', () => {
  const devices = syntheticDevices(options)
  expect(devices).toHaveLength(30)
  for (const { train: kept, heldOut } of devices) {
    const count = kept.labels.length + heldOut.labels.length
    expect(count).toBeGreaterThanOrEqual(50)
    expect(heldOut.labels.length).toBe(Math.floor(count / 10))
    expect(kept.features.length).toBe(kept.labels.length * 60)
  }
  const labels = new Set(devices.flatMap((device) => [...device.train.labels]))
  expect([...labels].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test("the same seed gives the same rows, another seed gives others, and a device's rows can be capped", () => {
  const inputs = (seed: number): number[] => [...syntheticDevices({ ...options, seed, devices: 3 })[2]!.train.features]
  expect(inputs(1)).toEqual(inputs(1))
  expect(inputs(2)).not.toEqual(inputs(1))
  const capped = syntheticDevices({ ...options, maxRows: 60 })
  expect(Math.max(...capped.map((device) => device.train.labels.length + device.heldOut.labels.length))).toBe(60)
})

test("inputs vary as in the paper: variance j^-1.2 around the device's center", () => {
  const [device] = syntheticDevices({ ...options, devices: 1, seed: 6, features: 4 })
  const { features, labels } = device!.train
  const variances = [0, 1, 2, 3].map((column) => {
    const values = Array.from(labels, (_, row) => features[row * 4 + column]!)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  })
  variances.forEach((variance, column) => {
    const expected = (column + 1) ** -1.2
    expect(Math.abs(variance / expected - 1)).toBeLessThan(0.5)
  })
})

test('the labels are a linear function of the inputs, which a logistic regression learns', async () => {
  const largest = syntheticDevices(options).sort((a, b) => b.train.labels.length - a.train.labels.length)[0]!
  const some = pickRows(
    largest.train,
    Uint32Array.from({ length: 200 }, (_, row) => row),
  )
  // A device's inputs are far from zero and close together, which makes descent slow; centering them keeps the rule linear.
  for (let column = 0; column < 60; column++) {
    let mean = 0
    for (let row = 0; row < 200; row++) mean += some.features[row * 60 + column]! / 200
    for (let row = 0; row < 200; row++) some.features[row * 60 + column]! -= mean
  }
  const model = initialModel({ features: 60, hidden: [], classes: 10, seed: 1 })
  const sgd = { learningRate: 0.2, batchSize: 10, epochs: 100, l2: 0, proximal: 0, seed: 1 }
  expect((await train(model, some, sgd)).accuracy).toBeGreaterThan(0.97)
})
