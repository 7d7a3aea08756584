import { expect, it, vi } from 'vitest'
import { comeOnce, jobOf, play, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { formOf, startWorld, type TestDevice, type World } from '../../../../test/world.ts'
import { takePart } from '../../../sdk/take-part.ts'

// The first service of a file starts slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const weights = (value: number) => new Uint8Array(Float32Array.of(value, 1).buffer)

const opened = async (devices: number) => {
  const world = await startWorld()
  const fleet: TestDevice[] = []
  for (let index = 0; index < devices; index++) fleet.push(await world.register(`d${index}`))
  const { key } = fleet[0]!
  const created = await world.request('POST', '/api/v1/models', { key, body: { name: 'm', framework: 'pytorch' } })
  const path = `/api/v1/models/${(created.body as { id: string }).id}/versions/upload`
  await world.request('POST', path, { key, body: formOf(weights(0), {}, 'w.f32') })
  return { world, fleet, key }
}

const startRound = async (world: World, key: string, count: number, fields: object = {}): Promise<string> => {
  const body = { target_devices: count, min_devices: count, ...fields }
  const { status, body: round } = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  expect([status, round]).toEqual([201, expect.anything()])
  return (round as { id: string }).id
}

const submit = (world: World, { key }: TestDevice, round: string, fields: Record<string, string | number>) =>
  world.request('POST', `/api/v1/training/rounds/${round}/updates`, {
    key,
    body: formOf(weights(1), { num_samples: 1, ...fields }, 'w.f32'),
  })

const roundOf = async (world: World, key: string, id: string) => {
  await world.service.runDueTasks()
  return (await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })).body
}

it('summarizes what devices report about the models that they trained and the one that they received', async () => {
  const { world, fleet, key } = await opened(3)
  const first = await startRound(world, key, 3, { global_model_id: 'm' })
  for (const [index, device] of fleet.entries()) {
    const evaluation = { num_samples: 10, metrics: { accuracy: index / 10, f1: 0.2 } }
    const { status } = await submit(world, device, first, {
      num_samples: index + 1,
      local_loss: 0.5,
      metrics: JSON.stringify({ f1: [0.6, 0.9, 0.3][index] }),
      ...(index < 2 && { evaluation: JSON.stringify(evaluation) }),
    })
    expect(status).toBe(201)
  }
  const round = await roundOf(world, key, first)
  expect(round).toMatchObject({
    status: 'completed',
    metrics: {
      f1: { mean: expect.closeTo(0.55), median: 0.6, worst_tenth: 0.3, min: 0.3, max: 0.9, devices: 3 },
      loss: { mean: 0.5, devices: 3 },
    },
    global_evaluation: {
      devices: 2,
      num_samples: 20,
      metrics: { accuracy: { mean: 0.05, median: 0.05, worst_tenth: 0, min: 0, max: 0.1, devices: 2 }, f1: {} },
    },
  })
  expect(round).not.toHaveProperty('evaluation')
  // The next round distributes the model that the first one made.
  const second = await startRound(world, key, 1)
  const evaluation = JSON.stringify({ num_samples: 4, metrics: { accuracy: 0.75 } })
  expect((await submit(world, fleet[0]!, second, { evaluation })).status).toBe(201)
  const accuracy = { mean: 0.75, median: 0.75, worst_tenth: 0.75, min: 0.75, max: 0.75, devices: 1 }
  const found = { devices: 1, num_samples: 4, metrics: { accuracy } }
  expect(await roundOf(world, key, second)).toMatchObject({ global_evaluation: found })
  expect(await roundOf(world, key, first)).toMatchObject({ evaluation: found })
  const listed = await world.request('GET', `/api/v1/training/rounds/${first}/updates`, { key })
  expect((listed.body as { updates: object[] }).updates[1]).toMatchObject({
    metrics: { f1: 0.9 },
    evaluation: { num_samples: 10, metrics: { accuracy: 0.1, f1: 0.2 } },
  })
})

it('drops out-of-range numbers with a warning, and accepts the update', async () => {
  const { world, fleet, key } = await opened(2)
  const round = await startRound(world, key, 2)
  const huge = '{"f1": 1e999, "loss": -1e308, "accuracy": 1e-300}'
  const response = await submit(world, fleet[0]!, round, { evaluation: `{"num_samples": 3, "metrics": ${huge}}` })
  expect([response.status, response.headers.get('x-service-warning')]).toEqual([
    201,
    expect.stringContaining("evaluation.metrics: 'f1', 'loss' became null; numbers from -3.4e38 to 3.4e38 are kept"),
  ])
  const largest = JSON.stringify({ num_samples: Number.MAX_SAFE_INTEGER, metrics: { accuracy: 1, x: 3.4e38 } })
  expect((await submit(world, fleet[1]!, round, { evaluation: largest, metrics: '{"x": -3.4e38}' })).status).toBe(201)
  expect(await roundOf(world, key, round)).toMatchObject({
    metrics: { x: { mean: -3.4e38 } },
    global_evaluation: {
      num_samples: Number.MAX_SAFE_INTEGER,
      metrics: { accuracy: { median: 0.5 }, x: { max: 3.4e38 } },
    },
  })
})

it.each([
  [{ metrics: '{"f1": NaN}' }, 'metrics must be a JSON object (NaN is not JSON)'],
  [{ metrics: '['.repeat(101) }, 'metrics is nested deeper than 100 levels.'],
  [{ metrics: '{"f1": "high"}' }, 'metrics.f1 must be a number, got "high".'],
  [{ metrics: '{"loss": 1}' }, 'metrics.loss: send it as the field local_loss.'],
  [{ metrics: '{"__proto__": 1}' }, "metrics: '__proto__' is not a metric's name"],
  [{ metric: '{"f1": 1}' }, 'did you mean `metrics`?'],
  [{ evaluation: '[]' }, 'evaluation must be an object such as'],
  [{ evaluation: '{"num_sample": 1, "metrics": {}}' }, 'did you mean `num_samples`?'],
  [{ evaluation: '{"num_samples": 0, "metrics": {}}' }, 'evaluation.num_samples must be a whole number from 1'],
  [{ evaluation: '{"num_samples": 1}' }, 'evaluation.metrics must be an object of numbers'],
  [
    { evaluation: '{"num_samples": 1, "metrics": {"accuracy": 1.5}}' },
    'evaluation.metrics.accuracy must be from 0 to 1',
  ],
])('refuses %j with the reason', async (fields, message) => {
  const { world, fleet, key } = await opened(1)
  const round = await startRound(world, key, 1)
  const { status, body } = await submit(world, fleet[0]!, round, fields as Record<string, string>)
  expect([status, (body as { message: string }).message]).toEqual([400, expect.stringContaining(message)])
})

it('stores no metrics of a private round, and says so', async () => {
  const { world, fleet, key } = await opened(1)
  const privacy = { noise_multiplier: 1, clip_norm: 1 }
  const round = await startRound(world, key, 1, { global_model_id: 'm', privacy })
  const response = await submit(world, fleet[0]!, round, {
    metrics: '{"f1": 1}',
    evaluation: '{"num_samples": 1, "metrics": {"f1": 1}}',
  })
  expect([response.status, response.headers.get('x-service-warning')]).toEqual([
    201,
    expect.stringContaining('metrics and evaluation not kept: the round is private'),
  ])
  const done = await roundOf(world, key, round)
  expect(done).toMatchObject({ status: 'completed' })
  for (const field of ['metrics', 'evaluation', 'global_evaluation']) expect(done).not.toHaveProperty(field)
})

it("shows the devices' evaluation of each model in a job's history, but not for a private job", async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const job = (await startJob(world, key, { rounds: 2, min_devices: 2 })).body as { id: string }
  await play(world, job.id, fleet)
  const [first] = (await jobOf(world, key, job.id)).history
  expect(first).toMatchObject({
    metrics: { loss: { devices: 2 }, accuracy: { devices: 2 } },
    evaluation: { devices: 2, metrics: { loss: { devices: 2 }, accuracy: { devices: 2 } } },
  })
  const privacy = { noise_multiplier: 1, clip_norm: 1 }
  const hidden = (await startJob(world, key, { rounds: 1, min_devices: 2, privacy })).body as { id: string }
  await comeOnce(fleet)
  await world.service.runDueTasks()
  const [round] = (await jobOf(world, key, hidden.id)).history
  expect(round).not.toHaveProperty('metrics')
})

it('counts an evaluation for the model that the device received, even if its update counts for a later round', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2, true)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const fields = { rounds: 3, min_devices: 1, target_devices: 2, strategy: 'fedbuff', strategy_options: { buffer: 1 } }
  const job = (await startJob(world, key, fields)).body as { id: string }
  const given = []
  for (const { device } of fleet) given.push((await device.heartbeat()).pendingRoundId!)
  expect(given[1]).toBe(given[0])
  for (const { device, trainer } of fleet) {
    await takePart(device, given[0]!, trainer)
    await world.service.runDueTasks()
  }
  expect(await jobOf(world, key, job.id)).toMatchObject({ rounds_completed: 2 })
  expect(await roundOf(world, key, given[0]!)).toMatchObject({ global_evaluation: { devices: 2 } })
})
