import { expect, it } from 'vitest'
import { jobOf, judge, play, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { startWorld } from '../../../../test/world.ts'

/** All rows in one batch, so that their order, which differs from round to round, has no effect. */
const hyperparameters = { local_epochs: 3, learning_rate: 0.05, batch_size: 1000 }
/** Publishes nothing, so that the second job begins from the same version as the first. */
const SECURE = { target_devices: 4, rounds: 2, secure_aggregation: {}, hyperparameters, publish: 'none' }

it.each(['fedavg', 'fedadam'])(
  'a job of secure rounds trains with %s just like one that sees every update',
  async (strategy) => {
    const world = await startWorld()
    const fleet = await startFleet(world, 4, true)
    const { key } = fleet[0]!
    await uploadModel(world, key)
    const results = []
    for (const fields of [SECURE, { ...SECURE, secure_aggregation: undefined }]) {
      const started = await startJob(world, key, { strategy, ...fields })
      expect(started).toMatchObject({ status: 201 })
      const job = await play(world, (started.body as { id: string }).id, fleet)
      expect(job).toMatchObject({ status: 'completed', ended_by: 'rounds_done', rounds_completed: 2 })
      const { round_id, loss, accuracy } = job.history.at(-1)!
      results.push({ loss, accuracy, judged: await judge(world, round_id, fleet) })
    }
    const [secure, plain] = results
    // The tolerance: fixed point with steps of 2^-25 on every device, and two rounds.
    expect(secure!.judged.loss).toBeCloseTo(plain!.judged.loss, 5)
    // Reported values come out of the sum in steps of 2^-18.
    expect(secure!.loss).toBeCloseTo(plain!.loss!, 4)
    expect(secure!.accuracy).toBeCloseTo(plain!.accuracy!, 4)
  },
)

it('a job of secure rounds waits for as many devices as must stay until the end', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const started = await startJob(world, key, { ...SECURE, min_devices: 2, wait_for_devices_seconds: 60 })
  const { id } = started.body as { id: string }
  await world.advance(61)
  expect(await jobOf(world, key, id)).toMatchObject({
    status: 'failed',
    ended_by: 'no_devices',
    secure_aggregation: {},
    reason: expect.stringContaining('at least 3 active devices'),
    history: [],
  })
})

it('a job warns, when it starts and when it is resumed, of settings that lose much of the updates', async () => {
  const world = await startWorld()
  const { key } = (await startFleet(world, 2))[0]!
  await uploadModel(world, key)
  const fields = { ...SECURE, over_selection: 1.5, secure_aggregation: { range: 1000, max_weight: 1000 } }
  const started = await startJob(world, key, fields)
  const { id } = started.body as { id: string }
  await world.request('POST', `/api/v1/training/jobs/${id}/stop`, { key })
  const resumed = await world.request('POST', `/api/v1/training/jobs/${id}/resume`, { key, body: {} })
  for (const response of [started, resumed]) {
    expect(response.headers.get('x-service-warning')).toBe(
      'secure_aggregation: with range 1000, max_weight 1000, and 6 devices, an update of weight 1 is rounded to multiples of ' +
        '0.00391, and its loss and accuracy to multiples of 0.00391: lower max_weight or range.',
    )
  }
})
