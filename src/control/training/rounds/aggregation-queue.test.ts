import { createHash } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { formOf, type World } from '../../../../test/world.ts'
import { blobPath } from '../../../platform/blobs/blob-store.ts'
import { openLeague } from '../../federations/federation.fixture.ts'

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)

/** A round of two devices, by their keys, with an update of each: about to be aggregated. */
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

it('a round whose result cannot be stored does not hold up another, and leaves no file behind; it completes when it can', async () => {
  const { world, admin, send, keyOf } = await openLeague()
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
  // A file stands where the folder of the first round's result would be.
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
