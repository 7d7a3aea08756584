import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { formOf, startWorld, type World } from '../../../../test/world.ts'
import { AggregationWorkers } from '../../../aggregation/aggregation-workers.ts'
import { blobPath } from '../../../platform/blobs/blob-store.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)

/** A round with one update of each of these devices (given by their keys), ready for aggregation. */
const collectedRound = async (world: World, key: string, keys: readonly string[], updates: readonly Uint8Array[]) => {
  const body = { target_devices: 2, min_devices: 2 }
  const started = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  expect(started.status).toBe(201)
  const { id } = started.body as { id: string }
  for (const [index, own] of keys.entries()) {
    const form = formOf(updates[index]!, { num_samples: 1 })
    const sent = await world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key: own, body: form })
    expect(sent.status).toBe(201)
  }
  return id
}

it('a round whose result cannot be stored does not hold up another or leave a file behind, and completes when it can', async () => {
  const { world, admin, send, keyOf } = await openFederation()
  const collected = async (org: string, ...updates: readonly Uint8Array[]) => {
    const key = await keyOf(org)
    const registered = ['a', 'b'].map((device_id) => send(key, 'POST', '/devices/register', { device_id }))
    const devices = await Promise.all(registered)
    return collectedRound(
      world,
      key,
      devices.map(({ body }) => body.api_key as string),
      updates,
    )
  }
  const mean = createHash('sha256').update(floats(2, 20)).digest('hex')
  // A file blocks the path of the folder for the first round's result.
  const obstacle = dirname(join(world.dataDir, 'blobs', blobPath(mean)))
  await rm(obstacle, { recursive: true, force: true })
  await writeFile(obstacle, '')
  const stuck = await collected('acme', floats(1, 10), floats(3, 30))
  const other = await collected('beta', floats(5, 50), floats(7, 70))
  const statusOf = async (id: string) => (await send(admin, 'GET', `/training/rounds/${id}/status`)).body.status
  await world.service.runDueTasks()
  await expect.poll(() => statusOf(other)).toBe('completed')
  expect(await statusOf(stuck)).toBe('aggregating')
  await expect.poll(() => readdir(join(world.dataDir, 'blobs', 'staging'))).toEqual([])
  await rm(obstacle)
  await expect
    .poll(async () => {
      await world.service.runDueTasks()
      return statusOf(stuck)
    })
    .toBe('completed')
})

it('a round times out while another is being aggregated', async () => {
  const held: (() => void)[] = []
  class Held extends AggregationWorkers {
    override async aggregate(...job: Parameters<AggregationWorkers['aggregate']>) {
      await new Promise<void>((resolve) => held.push(resolve))
      return super.aggregate(...job)
    }
  }
  const workers = new Held()
  onTestFinished(() => workers.close())
  const { world, send, keyOf } = await openFederation({ workers })
  const release = (): void => {
    for (const resolve of held) resolve()
  }
  // Otherwise the service could not close.
  onTestFinished(release)
  const begin = async (org: string) => {
    const key = await keyOf(org)
    const device = (await send(key, 'POST', '/devices/register', { device_id: 'a' })).body.api_key as string
    const body = { target_devices: 1, min_devices: 1, timeout_seconds: 60 }
    const { status, body: round } = await send(key, 'POST', '/training/rounds/start', body)
    expect(status).toBe(201)
    return { id: round.id as string, device }
  }
  // Reads the database, because the service processes due rounds before it answers.
  const statusOf = async ({ id }: { id: string }) =>
    (await world.database!.sql.selectFrom('rounds').select('status').where('id', '=', id).executeTakeFirst())?.status
  const [aggregated, late] = [await begin('acme'), await begin('beta')]
  const form = formOf(floats(1, 2), { num_samples: 1 })
  await world.request('POST', `/api/v1/training/rounds/${aggregated.id}/updates`, {
    key: aggregated.device,
    body: form,
  })
  await expect.poll(() => held.length).toBe(1)
  const dueTasks = world.advance(61)
  await expect.poll(() => statusOf(late)).toBe('failed')
  expect(await statusOf(aggregated)).toBe('aggregating')
  release()
  await dueTasks
  await expect.poll(() => statusOf(aggregated)).toBe('completed')
})

it('a round reads the tensors of its model once, however many devices submit', async () => {
  let reads = 0
  class Counting extends AggregationWorkers {
    override inspect(...job: Parameters<AggregationWorkers['inspect']>) {
      if (job[1].expected === null) reads++
      return super.inspect(...job)
    }
  }
  const workers = new Counting()
  onTestFinished(() => workers.close())
  const world = await startWorld({ workers })
  const keys = [(await world.register('a')).key, (await world.register('b')).key]
  const [key] = keys as [string, string]
  const file = readFileSync(new URL('../../../../test/fixtures/weights/net_a.safetensors', import.meta.url))
  await world.request('POST', '/api/v1/models', { key, body: { name: 'm' } })
  const uploaded = await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: formOf(file) })
  expect(uploaded.status).toBe(201)
  const body = { global_model_id: 'm', target_devices: 2, min_devices: 2 }
  const before = reads
  const started = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  expect(started.status).toBe(201)
  const { id } = started.body as { id: string }
  for (const own of keys) {
    const form = formOf(file, { num_samples: 1 })
    expect(
      (await world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key: own, body: form })).status,
    ).toBe(201)
  }
  const look = () => world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })
  await expect.poll(async () => (await look()).body).toMatchObject({ status: 'completed' })
  expect(reads - before).toBe(1)
})
