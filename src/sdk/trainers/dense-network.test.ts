import { expect, test } from 'vitest'
import { flatten, initialModel, networkOf, unflatten } from './dense-network.ts'

const shapes = (entries: Record<string, number[]>) => Object.entries(entries).map(([name, shape]) => ({ name, shape }))

const advice = 'The built-in trainer supports fully connected layers only; use --trainer "command" for other models.'

test('weight and bias alone form a logistic regression', () => {
  expect(networkOf(shapes({ bias: [3], weight: [3, 4] }))).toEqual({
    layers: [{ inputs: 4, outputs: 3, weightName: 'weight', weightAt: 0, biasName: 'bias', biasAt: 12 }],
    inputs: 4,
    classes: 3,
    parameterCount: 15,
  })
})

test('layers are ordered by the numbers in their names, whatever their order in the file and even without biases', () => {
  const network = networkOf(shapes({ 'net.10.weight': [2, 5], 'net.2.bias': [5], 'net.2.weight': [5, 4] }))
  expect(network).toEqual({
    layers: [
      { inputs: 4, outputs: 5, weightName: 'net.2.weight', weightAt: 0, biasName: 'net.2.bias', biasAt: 20 },
      { inputs: 5, outputs: 2, weightName: 'net.10.weight', weightAt: 25, biasName: null, biasAt: 35 },
    ],
    inputs: 4,
    classes: 2,
    parameterCount: 35,
  })
})

test.each([
  [
    { 'conv.weight': [4, 1, 3, 3] },
    "Tensor 'conv.weight' has shape [4, 1, 3, 3], but a layer needs [outputs, inputs].",
  ],
  [{ weight: [3, 0] }, "Tensor 'weight' has shape [3, 0], but a layer needs [outputs, inputs]."],
  [{ weight: [3, 4], bias: [4] }, "Tensor 'bias' has shape [4], expected [3]."],
  [{ '0.weight': [8, 4], '1.weight': [3, 7] }, "Tensor '1.weight' takes 7 inputs, but '0.weight' gives 8 outputs."],
  [{ weight: [3, 4], scale: [] }, "Tensor 'scale' [] belongs to no layer."],
  [{ weight: [1, 4] }, "Tensor 'weight' gives 1 output, but a classifier needs one per class."],
  [{}, "The model has no tensor named 'weight' or '<layer>.weight'."],
])('%j is refused, naming the problem', (entries, message) => {
  expect(() => networkOf(shapes(entries))).toThrow(`${message} ${advice}`)
})

test('flattening and unflattening keeps every value', () => {
  const model = initialModel({ features: 3, hidden: [4], classes: 2, seed: 1 })
  const network = networkOf(model)
  expect(unflatten(network, flatten(network, model))).toEqual(model)
})

test('a model without hidden layers starts at zero', () => {
  expect(initialModel({ features: 2, hidden: [], classes: 3, seed: 9 })).toEqual([
    { name: 'weight', shape: [3, 2], data: new Float64Array(6) },
    { name: 'bias', shape: [3], data: new Float64Array(3) },
  ])
})

test('hidden layers start within the bound of He 2015, with the same values for the same seed', () => {
  const model = initialModel({ features: 24, hidden: [50], classes: 3, seed: 9 })
  expect(model.map(({ name, shape }) => [name, shape])).toEqual([
    ['layers.0.weight', [50, 24]],
    ['layers.0.bias', [50]],
    ['layers.1.weight', [3, 50]],
    ['layers.1.bias', [3]],
  ])
  const bound = Math.sqrt(6 / 24)
  const largest = Math.max(...model[0]!.data.map(Math.abs))
  expect(largest).toBeLessThanOrEqual(bound)
  expect(largest).toBeGreaterThan(bound * 0.98)
  expect(initialModel({ features: 24, hidden: [50], classes: 3, seed: 9 })).toEqual(model)
  expect(initialModel({ features: 24, hidden: [50], classes: 3, seed: 10 })).not.toEqual(model)
})
