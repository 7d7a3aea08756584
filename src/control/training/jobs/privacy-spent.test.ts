import { expect, it } from 'vitest'
import { type JobBody, play, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { startWorld } from '../../../../test/world.ts'
import { gaussianEpsilon } from '../../../domain/privacy/gaussian.ts'

const near = (epsilon: number) => expect.closeTo(epsilon, 9)

it('noise that no federation pays for is told with each round, its receipt, and the job', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 3)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const get = async (path: string) => (await world.request('GET', `/api/v1/training/${path}`, { key })).body
  const started = await startJob(world, key, {
    rounds: 2,
    min_devices: 3,
    privacy: { noise_multiplier: 2, target_delta: 1e-6, clip_norm: 1 },
  })
  const { id } = started.body as JobBody
  // A round that has started is charged, however it ends.
  const one = { epsilon: near(gaussianEpsilon(2, 1e-6)), target_delta: 1e-6, accountant: 'pld', rounds: 1 }
  expect(await get(`jobs/${id}`)).toMatchObject({ privacy_spent: one })

  const job = await play(world, id, fleet)
  // Everybody took part, so two rounds are one Gaussian mechanism with less noise.
  expect(job).toMatchObject({
    status: 'completed',
    privacy_spent: {
      epsilon: near(gaussianEpsilon(2 / Math.SQRT2, 1e-6)),
      target_delta: 1e-6,
      accountant: 'pld',
      rounds: 2,
    },
  })
  const cost = { target_delta: 1e-6, epsilon: near(gaussianEpsilon(2, 1e-6)), accountant: 'pld' }
  const { rounds } = (await get(`jobs/${id}/rounds`)) as { rounds: { id: string }[] }
  for (const round of rounds) expect(round).toMatchObject({ privacy: { noise_multiplier: 2, sample_rate: 1, ...cost } })
  expect(await get(`rounds/${rounds[0]!.id}/receipt`)).toMatchObject({ privacy: { sample_rate: 1, ...cost } })
})

it('a round by itself tells what it costs at the delta it was asked for, 1e-5 unless named', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  for (const target_delta of [undefined, 1e-8]) {
    const privacy = { noise_multiplier: 4, clip_norm: 1, ...(target_delta && { target_delta }) }
    const body = { target_devices: 2, min_devices: 2, global_model_id: 'beginner', privacy }
    const { body: round } = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
    const delta = target_delta ?? 1e-5
    expect(round).toMatchObject({
      privacy: { target_delta: delta, epsilon: near(gaussianEpsilon(4, delta)), accountant: 'pld' },
    })
    await world.advance(301)
    for (const { device } of fleet) await device.heartbeat()
  }
})

it('every eligible device has the same chance, target_devices of N, whether it was heard from lately or not', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 8)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  await world.advance(1)
  for (const { device } of fleet.slice(0, 3)) await device.heartbeat()
  const job = { rounds: 1, min_devices: 2, privacy: { noise_multiplier: 2, clip_norm: 1 } }
  const refusal = await startJob(world, key, { ...job, target_devices: 3 })
  expect(refusal).toMatchObject({
    status: 400,
    body: {
      message: expect.stringMatching(/^target_devices: .* Set target_devices to at least 5, or lower min_devices\.$/),
    },
  })
  const { id } = (await startJob(world, key, { ...job, target_devices: 6 })).body as JobBody
  const { body } = await world.request('GET', `/api/v1/training/jobs/${id}/rounds`, { key })
  expect(body).toMatchObject({
    rounds: [{ target_devices: 6, privacy: { sample_rate: 0.75, population: 8, sampling: 'poisson', denominator: 6 } }],
  })
  // Without a target, it is the least that works.
  await world.request('POST', `/api/v1/training/jobs/${id}/stop`, { key })
  expect((await startJob(world, key, job)).body).toMatchObject({ target_devices: 5 })
})

it('what would make one device’s part depend on another’s, or show the loss, is refused with privacy', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const privacy = { noise_multiplier: 2, clip_norm: 1 }
  for (const [field, value] of [
    ['over_selection', 1.5],
    ['stop_when', { loss_improvement_below: 0.1, patience: 2 }],
  ] as const) {
    expect(await startJob(world, key, { privacy, [field]: value })).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(new RegExp(`^${field} cannot be combined with privacy: `)) },
    })
  }
})

it('a job whose rounds fail pays for them', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 3)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const privacy = { noise_multiplier: 2, clip_norm: 1 }
  const { id } = (await startJob(world, key, { rounds: 2, min_devices: 3, privacy })).body as JobBody
  await world.request('POST', `/api/v1/training/jobs/${id}/stop`, { key })
  const { body } = await world.request('GET', `/api/v1/training/jobs/${id}`, { key })
  expect(body).toMatchObject({
    status: 'stopped',
    rounds_completed: 0,
    privacy_spent: { epsilon: near(gaussianEpsilon(2, 1e-5)), rounds: 1 },
  })
})

it('a job without noise tells of no privacy spent', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const { id } = (await startJob(world, key, { rounds: 1 })).body as JobBody
  const { body } = await world.request('GET', `/api/v1/training/jobs/${id}`, { key })
  expect(body).not.toHaveProperty('privacy_spent')
})
