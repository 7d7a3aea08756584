import { expect, test } from 'vitest'
import { trainLocally } from './built-in.ts'
import type { Dataset } from './dataset.ts'
import { initialModel } from './dense-network.ts'
import { syntheticDevices } from './synthetic.ts'
import { evaluate } from './train.ts'
import { decodeModel, encodeModel } from './weights-codec.ts'

const [device] = syntheticDevices({ alpha: 1, beta: 1, devices: 1, seed: 1, features: 4, classes: 3, maxRows: 100 })
const none: Dataset = { featureCount: 4, features: new Float64Array(0), labels: new Uint32Array(0) }
const linear = initialModel({ features: 4, hidden: [], classes: 3, seed: 0 })
const round = { roundId: 'r-1', hyperparameters: { local_epochs: 2 } }

test('an update has the names, shapes and types of the model it was trained from', async () => {
  const types = new Map([
    ['weight', 'f64'],
    ['bias', 'bf16'],
  ] as const)
  const { weights } = await trainLocally(encodeModel(linear, types), device!, round, { deviceId: 'a' })
  const update = decodeModel(weights)
  expect(update.tensors.map(({ name, shape }) => [name, shape])).toEqual([
    ['weight', [3, 4]],
    ['bias', [3]],
  ])
  expect(update.dtypes).toEqual(types)
})

test('reports the metrics of held-out rows, and the number of rows trained on', async () => {
  const { weights, report, globalModel } = await trainLocally(encodeModel(linear, new Map()), device!, round, {
    deviceId: 'a',
  })
  const after = evaluate(decodeModel(weights).tensors, device!.heldOut)
  expect(globalModel).toEqual(evaluate(linear, device!.heldOut))
  expect(report).toEqual({
    numSamples: device!.train.labels.length,
    localLoss: expect.closeTo(after.loss, 5),
    localAccuracy: after.accuracy,
    trainingTimeSeconds: expect.any(Number),
    evaluation: {
      numSamples: globalModel!.count,
      metrics: { loss: globalModel!.loss, accuracy: globalModel!.accuracy },
    },
  })
})

test('without held-out rows, the rows trained on are reported, and the received model is not evaluated', async () => {
  const data = { train: device!.train, heldOut: none }
  const { weights, report, globalModel } = await trainLocally(encodeModel(linear, new Map()), data, round, {
    deviceId: 'a',
  })
  expect(globalModel).toBeNull()
  expect(report.localAccuracy).toBe(evaluate(decodeModel(weights).tensors, device!.train).accuracy)
})

test('the same round, device and seed give the same bytes; another device uses another order of rows', async () => {
  const run = async (deviceId: string, hyperparameters = {}): Promise<Uint8Array> =>
    (await trainLocally(encodeModel(linear, new Map()), device!, { roundId: 'r-1', hyperparameters }, { deviceId }))
      .weights
  expect(await run('a')).toEqual(await run('a'))
  expect(await run('b')).not.toEqual(await run('a'))
  expect(await run('a', { seed: 1 })).not.toEqual(await run('a'))
})

test('a round without a model starts the same on every device, if it names the classes', async () => {
  const begin = (hyperparameters: Record<string, unknown>) =>
    trainLocally(null, device!, { roundId: 'r-1', hyperparameters }, { deviceId: 'a' })
  const { weights, globalModel } = await begin({ classes: ['a', 'b', 'c'], hidden_layers: [5], learning_rate: 1e-12 })
  const { tensors, dtypes } = decodeModel(weights)
  const start = initialModel({ features: 4, hidden: [5], classes: 3, seed: 0 })
  expect(globalModel).toBeNull()
  expect([...dtypes.values()]).toEqual(['f32', 'f32', 'f32', 'f32'])
  expect(tensors.map(({ name, shape }) => [name, shape])).toEqual(start.map(({ name, shape }) => [name, shape]))
  expect(tensors[0]!.data[7]).toBeCloseTo(start[0]!.data[7]!, 6)
  await expect(begin({})).rejects.toThrow(
    'The round distributes no model, so all devices must be given the same number of classes',
  )
})

test('a model with integer tensors is left to other trainers', async () => {
  const model = encodeModel(linear, new Map([['bias', 'i32']]))
  await expect(trainLocally(model, device!, round, { deviceId: 'a' })).rejects.toThrow(
    `Tensor 'bias' has type i32; the built-in trainer trains floating point only. Use --trainer "command" for this model.`,
  )
})
