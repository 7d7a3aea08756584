import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { formOf, startWorld, type TestDevice, type World } from '../../../../test/world.ts'

const weights = readFileSync(new URL('../../../../test/fixtures/weights/net_a.safetensors', import.meta.url))

const worldWith = async (database: 'embedded' | 'postgres', size: number) => {
  const world = await startWorld({ database })
  const devices: TestDevice[] = []
  for (let n = 0; n < size; n++) devices.push(await world.register(`d${n}`))
  const { key } = devices[0]!
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  await world.request('POST', '/api/v1/models/net/versions/upload', { key, body: formOf(weights) })
  return { world, devices, key }
}

const fetchModel = (world: World, { key }: TestDevice, id: string) =>
  world.request('GET', `/api/v1/training/rounds/${id}/model`, { key })
const submit = (world: World, { key }: TestDevice, id: string) =>
  world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key, body: formOf(weights, { num_samples: 10 }) })
const roundOf = async (world: World, key: string, id: string) =>
  (await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })).body
const counted = (responses: readonly { readonly status: number }[], status: number) =>
  responses.filter((response) => response.status === status).length

describe.each(['embedded', 'postgres'] as const)('a round whose devices all arrive at once (%s)', (database) => {
  const isAbsent = database === 'postgres' && !hasPostgres()

  it.skipIf(isAbsent)('counts each device once, however often it fetches and submits', async () => {
    // More than the connections of a pool.
    const { world, devices, key } = await worldWith(database, 14)
    const started = await world.request('POST', '/api/v1/training/rounds/start', {
      key,
      body: { target_devices: 14, min_devices: 14, global_model_id: 'net' },
    })
    const { id } = started.body as { id: string }
    const fetched = await Promise.all([...devices, ...devices].map((device) => fetchModel(world, device, id)))
    expect(counted(fetched, 200)).toBe(28)
    expect(await roundOf(world, key, id)).toMatchObject({ participated_devices: 14, completed_devices: 0 })

    const early = devices.slice(0, 10)
    const responses = await Promise.all([...early, ...early].map((device) => submit(world, device, id)))
    expect([counted(responses, 201), counted(responses, 409)]).toEqual([10, 10])
    expect(await roundOf(world, key, id)).toMatchObject({
      status: 'active',
      participated_devices: 14,
      completed_devices: 10,
    })
    expect(counted(await Promise.all(devices.slice(10).map((device) => submit(world, device, id))), 201)).toBe(4)
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'completed', completed_devices: 14 })
    const { body } = await world.request('GET', `/api/v1/training/rounds/${id}/updates?limit=100`, { key })
    const { updates, total } = body as { updates: { device_id: string; weight: number }[]; total: number }
    expect(total).toBe(14)
    expect(new Set(updates.map((update) => update.device_id))).toEqual(new Set(devices.map((device) => device.id)))
    expect(updates.every((update) => Math.abs(update.weight - 1 / 14) < 1e-9)).toBe(true)
  })

  it.skipIf(isAbsent)('accepts the number of updates that it needs, and refuses the rest', async () => {
    const { world, devices, key } = await worldWith(database, 15)
    const job = await world.request('POST', '/api/v1/training/jobs', {
      key,
      body: { model: 'net', rounds: 1, target_devices: 10, min_devices: 10, over_selection: 1.5 },
    })
    const { id } = (await world.request('GET', '/api/v1/training/rounds/current', { key })).body as { id: string }
    expect(job.status).toBe(201)
    const responses = await Promise.all(devices.map((device) => submit(world, device, id)))
    expect([counted(responses, 201), counted(responses, 409)]).toEqual([10, 5])
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({
      status: 'completed',
      participated_devices: 10,
      completed_devices: 10,
      failed_devices: 5,
    })
  })
})

it('a device that fetches the model after it has delivered is not counted again', async () => {
  const { world, devices, key } = await worldWith('embedded', 2)
  const started = await world.request('POST', '/api/v1/training/rounds/start', {
    key,
    body: { target_devices: 2, min_devices: 2, global_model_id: 'net' },
  })
  const { id } = started.body as { id: string }
  expect((await submit(world, devices[1]!, id)).status).toBe(201)
  expect((await fetchModel(world, devices[1]!, id)).status).toBe(200)
  expect(await roundOf(world, key, id)).toMatchObject({ participated_devices: 1, completed_devices: 1 })
})
