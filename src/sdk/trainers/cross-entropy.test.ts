import { expect, test } from 'vitest'
import { crossEntropy, crossEntropyPass } from './cross-entropy.ts'
import type { Dataset } from './dataset.ts'
import { flatten, initialModel, networkOf } from './dense-network.ts'
import { seededRandom } from './random.ts'

const randomData = (rows: number, featureCount: number, classes: number): Dataset => {
  const random = seededRandom(4)
  return {
    featureCount,
    features: Float64Array.from({ length: rows * featureCount }, () => random.normal(0, 1)),
    labels: Uint32Array.from({ length: rows }, () => Math.floor(random.uniform() * classes)),
  }
}

test.each([
  ['logistic regression', []],
  ['a perceptron with one hidden layer', [7]],
  ['a perceptron with two hidden layers', [6, 5]],
])('the gradient of %s agrees with central differences', (_, hidden) => {
  const data = randomData(9, 4, 3)
  const model = initialModel({ features: 4, hidden, classes: 3, seed: 1 })
  const network = networkOf(model)
  const random = seededRandom(2)
  const parameters = flatten(network, model).map((value) => value + random.normal(0, 0.3))
  const objective = crossEntropy(network, data)
  const samples = Uint32Array.from([0, 3, 8, 8, 5])
  const gradient = new Float64Array(network.parameterCount)
  const ignored = new Float64Array(network.parameterCount)
  objective.gradient(parameters, samples, gradient)
  const step = 1e-6
  parameters.forEach((value, index) => {
    parameters[index] = value + step
    const above = objective.gradient(parameters, samples, ignored)
    parameters[index] = value - step
    const below = objective.gradient(parameters, samples, ignored)
    parameters[index] = value
    expect(gradient[index]).toBeCloseTo((above - below) / (2 * step), 7)
  })
  expect(gradient.some((slope) => Math.abs(slope) > 0.01)).toBe(true)
})

test('the loss is that of the softmax, computed by hand', () => {
  const network = networkOf([{ name: 'weight', shape: [3, 2] }])
  const data = { featureCount: 2, features: Float64Array.of(1, 2), labels: Uint32Array.of(1) }
  const pass = crossEntropyPass(network, data)
  // Scores 1, 2 and 3.
  const loss = pass.forward(Float64Array.of(1, 0, 0, 1, 1, 1), 0)
  expect(loss).toBeCloseTo(Math.log(Math.E + Math.E ** 2 + Math.E ** 3) - 2, 12)
  expect(pass.predicted()).toBe(2)
})

test('scores too large for exp still give a finite loss', () => {
  const network = networkOf([{ name: 'weight', shape: [2, 1] }])
  const data = { featureCount: 1, features: Float64Array.of(1e4), labels: Uint32Array.of(1) }
  expect(crossEntropyPass(network, data).forward(Float64Array.of(1, -1), 0)).toBe(2e4)
})

test('a model containing NaN has a NaN loss, even behind a ReLU', () => {
  const model = initialModel({ features: 2, hidden: [3], classes: 2, seed: 1 })
  const network = networkOf(model)
  const parameters = flatten(network, model)
  parameters[0] = Number.NaN
  const data = { featureCount: 2, features: Float64Array.of(1, 1), labels: Uint32Array.of(0) }
  expect(crossEntropyPass(network, data).forward(parameters, 0)).toBeNaN()
})
