import { expect, it } from 'vitest'
import { type JobBody, play, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { startWorld } from '../../../../test/world.ts'
import { gaussianEpsilon } from '../../../domain/privacy/gaussian.ts'

const near = (epsilon: number) => expect.closeTo(epsilon, 9)

/** A model, and this many devices that can train it. */
const ready = async (devices: number) => {
  const world = await startWorld()
  const fleet = await startFleet(world, devices)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  return { world, fleet, key }
}

it('the cost of noise without a federation is shown with each round, its receipt, and the job', async () => {
  const { world, fleet, key } = await ready(3)
  const get = async (path: string) => (await world.request('GET', `/api/v1/training/${path}`, { key })).body
  const started = await startJob(world, key, {
    rounds: 2,
    min_devices: 3,
    privacy: { noise_multiplier: 2, target_delta: 1e-6, clip_norm: 1 },
  })
  const { id } = started.body as JobBody
  // A round that has started counts, however it ends.
  const one = { epsilon: near(gaussianEpsilon(2, 1e-6)), target_delta: 1e-6, accountant: 'pld', rounds: 1 }
  expect(await get(`jobs/${id}`)).toMatchObject({ privacy_spent: one })

  const job = await play(world, id, fleet)
  // All devices took part, so two rounds equal one Gaussian mechanism with less noise.
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

it('a standalone round shows its cost at the requested delta, or at 1e-5 by default', async () => {
  const { world, fleet, key } = await ready(2)
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

it('every eligible device is drawn with probability target_devices / N, whether it sent a heartbeat recently or not', async () => {
  const { world, fleet, key } = await ready(8)
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
  const started = (await startJob(world, key, { ...job, target_devices: 6 })).body as JobBody
  expect(started.privacy).toEqual({ noise_multiplier: 2, clip_norm: 1, adaptive_clip: false, target_delta: 1e-5 })
  const { id } = started
  const { body } = await world.request('GET', `/api/v1/training/jobs/${id}/rounds`, { key })
  expect(body).toMatchObject({
    rounds: [{ target_devices: 6, privacy: { sample_rate: 0.75, population: 8, sampling: 'poisson', denominator: 6 } }],
  })
  // Without target_devices, the service uses the lowest number that works.
  await world.request('POST', `/api/v1/training/jobs/${id}/stop`, { key })
  expect((await startJob(world, key, job)).body).toMatchObject({ target_devices: 5 })
})

it('options that would make one device’s participation depend on another’s, or reveal the loss, are refused with privacy', async () => {
  const { world, key } = await ready(2)
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

it('a job is charged for rounds that fail', async () => {
  const { world, key } = await ready(3)
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

it('a job without noise shows no privacy spent', async () => {
  const { world, key } = await ready(2)
  const { id } = (await startJob(world, key, { rounds: 1 })).body as JobBody
  const { body } = await world.request('GET', `/api/v1/training/jobs/${id}`, { key })
  expect(body).not.toHaveProperty('privacy_spent')
})

it('a job with a target epsilon ends when failed rounds have used it up; until then, each round costs what was planned', async () => {
  const { world, fleet, key } = await ready(3)
  const privacy = { target_epsilon: 4, clip_norm: 1 }
  const job = { rounds: 3, min_devices: 3, timeout_seconds: 60, privacy }
  const { id } = (await startJob(world, key, job)).body as JobBody
  for (let round = 0; round < 2; round++) {
    await world.advance(61)
    for (const { device } of fleet) await device.heartbeat()
    await world.service.runDueTasks()
  }
  const ended = await play(world, id, fleet)
  expect(ended.history.map(({ status }) => status).toSorted()).toEqual(['completed', 'failed', 'failed'])
  expect(ended).toMatchObject({ status: 'completed', ended_by: 'budget_spent', rounds_completed: 1 })
  expect(ended.reason).toMatch(
    /^The job's target_epsilon 4 does not allow another round: 3 rounds have spent epsilon (4|3\.99\d+), and another one at sample rate 1 would make it 4\.\d+ \(delta 0\.00001, by PLD accounting\)\. /,
  )
  expect((ended.privacy_spent as { epsilon: number }).epsilon).toBeLessThan(4.0005)
})

it('a job with a target epsilon ends early when devices leave, because the remaining ones are drawn more often', async () => {
  const { world, fleet, key } = await ready(12)
  const privacy = { target_epsilon: 2, clip_norm: 1 }
  const job = { rounds: 3, min_devices: 1, target_devices: 6, timeout_seconds: 60, privacy }
  const { id } = (await startJob(world, key, job)).body as JobBody
  // No device sends a heartbeat for five minutes; then half of them do.
  await world.advance(301)
  const ended = await play(world, id, fleet.slice(0, 6))
  expect(ended).toMatchObject({
    ended_by: 'budget_spent',
    reason: expect.stringContaining('another one at sample rate 1 would make it'),
  })
  expect((ended.privacy_spent as { epsilon: number }).epsilon).toBeLessThan(2)
})

it('a job with a target epsilon gets all the rounds that were planned', async () => {
  const { world, fleet, key } = await ready(3)
  for (const [rounds, target_epsilon] of [
    [1, 0.5],
    [4, 4],
  ]) {
    const privacy = { target_epsilon, clip_norm: 1 }
    const { id } = (await startJob(world, key, { rounds, min_devices: 3, privacy })).body as JobBody
    expect(await play(world, id, fleet)).toMatchObject({ ended_by: 'rounds_done', rounds_completed: rounds })
  }
})
