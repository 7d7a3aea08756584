import { expect, it, vi } from 'vitest'
import { apiOf, formOf, startWorld, type World } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

// The first service of a file starts slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const DAY = 24 * 3600

const weights = (value: number): Uint8Array => {
  const [weight, bias] = initialModel({ features: 2, hidden: [], classes: 2, seed: 0 })
  weight!.data.fill(value)
  return encodeModel([weight!, bias!], new Map())
}

/** A job's rounds with one device, which submits a different number in each. */
const trainer = async (world: World, key: string, deviceKey = key, model = 'net') => {
  const ask = apiOf(world, key)
  await ask('POST', '/models', { name: model })
  await world.request('POST', `/api/v1/models/${model}/versions/upload`, { key, body: formOf(weights(0)) })
  const play = async (fields: object, count: number) => {
    const made = await ask('POST', '/training/jobs', {
      model,
      min_devices: 1,
      rounds: count,
      publish: 'none',
      ...fields,
    })
    expect(made).toMatchObject({ status: 201 })
    const id = made.body.id as string
    for (let round = 1; round <= count; round++) {
      await world.service.runDueTasks()
      const { history } = (await ask('GET', `/training/jobs/${id}`)).body as { history: { round_id: string }[] }
      const path = `/api/v1/training/rounds/${history.at(-1)!.round_id}/updates`
      const form = formOf(weights(Math.random()), { num_samples: 1, local_loss: 1 })
      expect(await world.request('POST', path, { key: deviceKey, body: form })).toMatchObject({ status: 201 })
      await world.service.runDueTasks()
    }
    return id
  }
  interface JobRound {
    readonly round_id: string
    readonly aggregated_model_id: string | null
  }
  const modelsOf = async (id: string) =>
    ((await ask('GET', `/training/jobs/${id}`)).body as { history: JobRound[] }).history.map(
      ({ aggregated_model_id }) => aggregated_model_id,
    )
  const download = async (id: string) => (await ask('GET', `/models/${id}/versions/1/download`)).status
  return { ask, play, modelsOf, download }
}

it('round models are deleted after their updates, except the latest of each job and those still in use', async () => {
  const world = await startWorld({ config: { roundModelsKept: 2, updateRetentionDays: 1 } })
  const { key } = await world.register('trainer')
  const { ask, play, modelsOf, download } = await trainer(world, key)
  const id = await play({ publish: 'last' }, 9)
  const other = await play({}, 3)
  const made = (await modelsOf(id)) as string[]
  await ask('PUT', `/models/${made[1]}/aliases/champion`, { version: '1' })
  await ask('POST', `/models/${made[2]}/rollouts`, { version: '1', rollout_percentage: 10 })
  expect((await ask('PUT', `/models/${made[3]}/policy`, { enabled: false })).status).toBeLessThan(300)
  // A job that began from the model of a round and has not ended.
  expect((await ask('POST', '/training/jobs', { model: made[4], min_devices: 5 })).status).toBe(201)

  await world.service.runRetention()
  expect(await modelsOf(id)).toEqual(made)
  const othersBefore = await modelsOf(other)

  await world.advance(DAY + 3600)
  await world.service.runRetention()
  const kept = await modelsOf(id)
  expect(kept).toEqual([null, made[1], made[2], made[3], made[4], null, null, made[7], made[8]])
  expect(await modelsOf(other)).toEqual([null, ...othersBefore.slice(1)])
  expect(await Promise.all([0, 1, 8].map((at) => download(made[at]!)))).toEqual([404, 200, 200])
  // The published version has the same file as the last round's model.
  expect(await download('net')).toBe(200)
  expect((await ask('GET', '/models?limit=100')).body.total).toBe(kept.filter((one) => one !== null).length + 3)
  const rounds = (await ask('GET', `/training/jobs/${id}/rounds`)).body as { rounds: Record<string, unknown>[] }
  expect(rounds.rounds.at(-1)).toMatchObject({
    aggregated_model_id: null,
    aggregated_model_path: null,
    model_deleted_at: '2026-01-02T01:00:00.000Z',
  })
  // The job continues from its last round, even though earlier models are gone.
  expect(await ask('POST', `/training/jobs/${id}/extend`, { rounds: 1 })).toMatchObject({ status: 200 })
})

it('what a round publishes is kept, and so is its model', async () => {
  const world = await startWorld({ config: { roundModelsKept: 1, updateRetentionDays: 0 } })
  const { key } = await world.register('trainer')
  const { ask, play, modelsOf, download } = await trainer(world, key)
  const id = await play({ publish: 'every' }, 3)
  const made = await modelsOf(id)
  await world.advance(3600)
  await world.service.runRetention()
  expect(await modelsOf(id)).toEqual(made)
  for (const { version } of ((await ask('GET', '/models/net')).body as { versions: { version: number }[] }).versions)
    expect((await ask('GET', `/models/net/versions/${version}/download`)).status).toBe(200)
  expect(await download(made[0]!)).toBe(200)
})

it('a result shared by hand stays available to the federation; one shared automatically is deleted', async () => {
  const { world, send, keyOf, found } = await openFederation({ config: { roundModelsKept: 1, updateRetentionDays: 0 } })
  const acme = await keyOf('acme')
  const rival = await keyOf('rival')
  const federation = await found(['rival'])
  const registered = await send(acme, 'POST', '/devices/register', { device_id: 'trainer' })
  const { play, modelsOf } = await trainer(world, acme, registered.body.api_key as string)
  const id = await play({ federation }, 3)
  const made = (await modelsOf(id)) as string[]
  expect((await send(acme, 'POST', `/federations/${federation}/models`, { model_id: made[0] })).status).toBeLessThan(
    300,
  )
  await world.advance(3600)
  await world.service.runRetention()
  expect(await modelsOf(id)).toEqual([made[0], null, made[2]])
  expect((await send(rival, 'GET', `/models/${made[0]}`)).status).toBe(200)
})

it("a strategy's state is deleted after its retention period, and the job says so when it is extended", async () => {
  const world = await startWorld({ config: { jobStateRetentionDays: 2 } })
  const { key } = await world.register('trainer')
  const { ask, play } = await trainer(world, key)
  const adam = await play({ strategy: 'fedadam' }, 2)
  const mean = await play({ strategy: 'fedavg' }, 2)
  expect((await ask('GET', `/training/jobs/${adam}`)).body).toMatchObject({ optimizer_state: 'kept' })
  await world.advance(2 * DAY + 1)
  await world.service.runRetention()
  const job = (await ask('GET', `/training/jobs/${adam}`)).body as { latest_model_id: string; optimizer_state: string }
  expect(job.optimizer_state).toBe('deleted')
  expect(await ask('POST', `/training/jobs/${adam}/extend`, { rounds: 1 })).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining(`Start another job from its result, model ${job.latest_model_id}`) },
  })
  expect(await ask('POST', `/training/jobs/${mean}/extend`, { rounds: 1 })).toMatchObject({ status: 200 })
})
