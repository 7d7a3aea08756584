import { expect, it } from 'vitest'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { formOf, startWorld } from '../../../../test/world.ts'

const WHY = "Version '1.1.0' of model 'm' was deleted on 2026-01-01."

const start = async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const id = await createModel(world, key, 'm', ['1.0.0', '1.1.0'])
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await world.request(method, `/api/v1${path}`, { key, body })
    return { status, body: answer as Record<string, unknown> }
  }
  const remove = async (version: string) =>
    expect((await ask('DELETE', `/models/m/versions/${version}`)).status).toBe(204)
  return { key, id, ask, remove, world }
}

it.each(['1.1.0', '2'])(
  'a deleted version is refused in new plans, because it is not uploaded again: %s',
  async (version) => {
    const { id, ask, remove } = await start()
    await remove('1.1.0')
    const why = WHY.replace('1.1.0', version)
    const refused = (message: string) => ({ status: 400, body: { message } })
    const rollout = { version, rollout_percentage: 10 }
    expect(await ask('POST', '/models/m/rollouts', rollout)).toMatchObject(refused(`version: ${why}`))
    const deployment = { model_name: 'm', model_version: version, rollout_percentage: 100 }
    expect(await ask('POST', '/deploy/execute', deployment)).toMatchObject(refused(`model_version: ${why}`))
    const variants = ['1.0.0', version].map((one, index) => ({
      name: String(index),
      model_id: id,
      version: one,
      allocation: 0.5,
    }))
    const experiment = await ask('POST', '/experiments', { name: 'e', variants })
    expect(experiment).toMatchObject(refused(`variants: the model_id of '1': ${why}`))
  },
)

it('a pairing whose version was deleted fails with the reason', async () => {
  const { ask, remove, world } = await start()
  const { code, pairing_id } = (await ask('POST', '/pairings', { model_name: 'm', model_version: '1.1.0' })).body
  await remove('1.1.0')
  const claim = { code, device_id: 'paired', platform: 'linux' }
  expect((await world.request('POST', '/api/v1/pairings/claim', { body: claim })).status).toBe(200)
  const pairing = (await ask('GET', `/pairings/${String(pairing_id)}`)).body
  expect(pairing).toMatchObject({ status: 'failed', reason: `model_version: ${WHY}` })
})

it('a job that would begin with a deleted version says so', async () => {
  const { world, key, ask, remove } = await start()
  const weights = formOf(new Uint8Array(Float32Array.of(1, 2).buffer), {}, 'weights.f32')
  await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: weights })
  const { id, model_id } = (await ask('POST', '/training/jobs', { model: 'm', min_devices: 1, rounds: 1 })).body
  await ask('POST', `/training/jobs/${String(id)}/stop`)
  await remove('3')
  const message = `Version 3 of the model that the job's next round would distribute (${String(model_id)}) was deleted. Start another job.`
  expect(await ask('POST', `/training/jobs/${String(id)}/resume`, {})).toMatchObject({ status: 409, body: { message } })
})
