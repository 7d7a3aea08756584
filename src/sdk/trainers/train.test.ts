import { expect, test } from 'vitest'
import type { Dataset } from './dataset.ts'
import { initialModel } from './dense-network.ts'
import { seededRandom } from './random.ts'
import { evaluate, train } from './train.ts'

const sgd = { learningRate: 0.1, batchSize: 10, epochs: 30, l2: 0, proximal: 0, seed: 1 }

/** Three well-separated clouds in the plane. */
const clouds = (rows: number, seed: number): Dataset => {
  const random = seededRandom(seed)
  const labels = Uint32Array.from({ length: rows }, (_, row) => row % 3)
  const features = new Float64Array(rows * 2)
  labels.forEach((label, row) => {
    const angle = (label * 2 * Math.PI) / 3
    features[row * 2] = random.normal(3 * Math.cos(angle), 0.5)
    features[row * 2 + 1] = random.normal(3 * Math.sin(angle), 0.5)
  })
  return { featureCount: 2, features, labels }
}

/** Exclusive or: no straight line separates it. */
const crossed = (rows: number): Dataset => {
  const random = seededRandom(3)
  const features = Float64Array.from({ length: rows * 2 }, () => 2 * random.uniform() - 1)
  const labels = Uint32Array.from({ length: rows }, (_, row) =>
    features[row * 2]! * features[row * 2 + 1]! > 0 ? 1 : 0,
  )
  return { featureCount: 2, features, labels }
}

test('logistic regression separates three clouds, including unseen data', async () => {
  const model = initialModel({ features: 2, hidden: [], classes: 3, seed: 1 })
  expect(evaluate(model, clouds(300, 2))).toEqual({
    count: 300,
    loss: expect.closeTo(Math.log(3), 12),
    accuracy: 1 / 3,
  })
  const { tensors, ...rest } = await train(model, clouds(300, 1), sgd)
  expect(rest).toEqual({
    numSamples: 300,
    loss: evaluate(tensors, clouds(300, 1)).loss,
    accuracy: 1,
    seconds: expect.any(Number),
    steps: 900,
  })
  const unseen = evaluate(tensors, clouds(300, 2))
  expect(unseen.accuracy).toBeGreaterThan(0.99)
  expect(unseen.loss).toBeLessThan(0.05)
})

test('a perceptron learns exclusive or, which a logistic regression cannot', async () => {
  const accuracyOf = async (hidden: number[]): Promise<number> => {
    const model = initialModel({ features: 2, hidden, classes: 2, seed: 1 })
    return (await train(model, crossed(400), { ...sgd, epochs: 60 })).accuracy
  }
  expect(await accuracyOf([16])).toBeGreaterThan(0.97)
  expect(await accuracyOf([])).toBeLessThan(0.7)
})

test('the same seed trains to the same weights, and the initial model is unchanged', async () => {
  const model = initialModel({ features: 2, hidden: [8], classes: 3, seed: 1 })
  const before = structuredClone(model)
  const first = await train(model, clouds(60, 1), sgd)
  expect(model).toEqual(before)
  expect((await train(model, clouds(60, 1), sgd)).tensors).toEqual(first.tensors)
  expect((await train(model, clouds(60, 1), { ...sgd, seed: 2 })).tensors).not.toEqual(first.tensors)
})

test('a larger proximal term ends nearer to the start', async () => {
  const model = initialModel({ features: 2, hidden: [], classes: 3, seed: 1 })
  const distances: number[] = []
  for (const proximal of [0, 1, 10]) {
    const { tensors } = await train(model, clouds(60, 1), { ...sgd, learningRate: 0.05, proximal })
    distances.push(tensors.reduce((sum, tensor) => sum + tensor.data.reduce((part, value) => part + value ** 2, 0), 0))
  }
  expect(distances[1]).toBeLessThan(distances[0]!)
  expect(distances[2]).toBeLessThan(distances[1]!)
  expect(distances[2]).toBeGreaterThan(0)
})

test('data that does not match the model is refused, naming the problem', async () => {
  const model = initialModel({ features: 3, hidden: [], classes: 2, seed: 1 })
  const empty = { featureCount: 3, features: new Float64Array(0), labels: new Uint32Array(0) }
  const strange = { featureCount: 3, features: new Float64Array(6), labels: Uint32Array.of(1, 2) }
  await expect(train(model, clouds(3, 1), sgd)).rejects.toThrow('The model takes 3 features, but the data has 2.')
  await expect(train(model, empty, sgd)).rejects.toThrow('There are no rows of data.')
  await expect(train(model, strange, sgd)).rejects.toThrow('Row 2 has label 2, but the model has 2 classes (0 to 1).')
})
