import { expect, test } from 'vitest'
import { settingsFrom } from './settings.ts'

const defaults = {
  learningRate: 0.01,
  batchSize: 10,
  epochs: 20,
  l2: 0,
  proximal: 0,
  personal: 0,
  maxSeconds: null,
  seed: 0,
  hidden: [],
  classes: null,
}

test('omitted settings have defaults, and names used by other trainers are ignored', () => {
  expect(settingsFrom({ optimizer: 'adam' })).toEqual(defaults)
})

test('all settings can be given', () => {
  const given = {
    learning_rate: 0.5,
    batch_size: 32,
    local_epochs: 3,
    weight_decay: 0.1,
    mu: 1,
    lambda: 0.5,
    max_seconds: 60,
    seed: 9,
    hidden_layers: [32, 16],
    classes: ['cat', 7],
  }
  expect(settingsFrom(given)).toEqual({
    learningRate: 0.5,
    batchSize: 32,
    epochs: 3,
    l2: 0.1,
    proximal: 1,
    personal: 0.5,
    maxSeconds: 60,
    seed: 9,
    hidden: [32, 16],
    classes: ['cat', '7'],
  })
  expect(settingsFrom({ proximal_mu: 2 }).proximal).toBe(2)
  expect(settingsFrom({ hidden_layers: 8, classes: 10 })).toEqual({ ...defaults, hidden: [8], classes: 10 })
})

test.each([
  ['learning_rate', 0, 'a number above 0'],
  ['learning_rate', '0.1', 'a number above 0'],
  ['batch_size', 2.5, 'a whole number of at least 1'],
  ['local_epochs', 0, 'a whole number of at least 1'],
  ['weight_decay', -1, 'a number of at least 0'],
  ['proximal_mu', true, 'a number of at least 0'],
  ['mu', -1, 'a number of at least 0'],
  ['lambda', '1', 'a number of at least 0'],
  ['max_seconds', 0, 'a number above 0'],
  ['seed', 1.5, 'a whole number of at least 0'],
  ['hidden_layers', [8, 0], 'sizes such as [32, 16]'],
  ['classes', ['a', 'a'], 'a list of at least two different class names, or how many classes there are'],
  ['classes', 1, 'a list of at least two different class names, or how many classes there are'],
])('%s = %j is refused', (name, value, expected) => {
  expect(() => settingsFrom({ [name]: value })).toThrow(
    `The round's hyperparameter ${name} must be ${expected}, got ${JSON.stringify(value)}.`,
  )
})
