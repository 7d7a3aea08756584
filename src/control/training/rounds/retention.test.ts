import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { formOf, startWorld, type TestDevice, type World } from '../../../../test/world.ts'

const DAY = 24 * 60 * 60
const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The hashes of all stored files. */
const stored = async (world: World): Promise<string[]> => {
  const entries = await readdir(join(world.dataDir, 'blobs', 'sha256'), { recursive: true })
  return entries.map((entry) => entry.slice(3)).filter((name) => name.length === 64)
}

/** A round to which devices have submitted these files; it is completed if every device has submitted one. */
const playRound = async (world: World, devices: readonly TestDevice[], updates: readonly Uint8Array[]) => {
  const key = devices[0]!.key
  const body = { target_devices: devices.length, min_devices: devices.length, timeout_seconds: 60 }
  const started = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  const { id } = started.body as { id: string }
  for (const [n, file] of updates.entries()) {
    const form = formOf(file, { num_samples: 1 })
    const path = `/api/v1/training/rounds/${id}/updates`
    expect((await world.request('POST', path, { key: devices[n]!.key, body: form })).status).toBe(201)
  }
  await world.service.runDueTasks()
  const path = `/api/v1/training/rounds/${id}`
  return {
    status: async () => (await world.request('GET', `${path}/status`, { key })).body as Record<string, string | null>,
    receipt: async () => (await world.request('GET', `${path}/receipt`, { key })).body,
    replay: async () => (await world.request('POST', `${path}/receipt/replay`, { key })).body,
    download: async (model: string) =>
      (await world.request('GET', `/api/v1/models/${model}/versions/1/download`, { key })).status,
  }
}

describe('the updates of a round', () => {
  it('are kept for the retention period after its end; then their files are deleted, but the model and receipt remain', async () => {
    const world = await startWorld({ config: { updateRetentionDays: 7 } })
    const devices = [await world.register('a'), await world.register('b')]
    const updates = [floats(1, 2), floats(3, 4)]
    const aggregate = sha256(floats(2, 3))
    const round = await playRound(world, devices, updates)
    const receipt = await round.receipt()
    const { aggregated_model_id } = await round.status()

    await world.advance(7 * DAY - 1)
    await world.service.runRetention()
    expect((await stored(world)).sort()).toEqual([...updates.map(sha256), aggregate].sort())
    expect(await round.replay()).toMatchObject({ matches: true })

    await world.advance(1)
    await world.service.runRetention()
    expect(await stored(world)).toEqual([aggregate])
    expect(await round.download(aggregated_model_id!)).toBe(200)
    expect(await round.receipt()).toEqual(receipt)
    expect(await round.replay()).toEqual({
      error: 'conflict',
      message: 'The updates of this round were deleted after their retention period; it cannot be replayed.',
      status_code: 409,
    })
  })

  it('leave a file in place if a model or another round also refers to it', async () => {
    const world = await startWorld({ config: { updateRetentionDays: 1 } })
    const device = await world.register('a')
    const { key } = device
    const model = await world.request('POST', '/api/v1/models', { key, body: { framework: 'pytorch' } })
    const { id } = model.body as { id: string }
    const path = `/api/v1/models/${id}/versions/upload`
    const shared = floats(5, 6)
    expect((await world.request('POST', path, { key, body: formOf(shared) })).status).toBe(201)
    const first = await playRound(world, [device, await world.register('b')], [shared, floats(7, 8)])
    expect(await first.status()).toMatchObject({ status: 'completed' })
    await world.advance(DAY / 2)
    // The mean of a single update is that update: the same bytes, both as an update and as a model.
    const second = await playRound(world, [device], [floats(7, 8)])
    await world.advance(DAY / 2)
    await world.service.runRetention()
    expect((await stored(world)).sort()).toEqual([shared, floats(6, 7), floats(7, 8)].map(sha256).sort())
    expect(await second.replay()).toMatchObject({ matches: true })
    await world.advance(DAY)
    await world.service.runRetention()
    expect((await stored(world)).sort()).toEqual([shared, floats(6, 7), floats(7, 8)].map(sha256).sort())
    expect(await first.download(id)).toBe(200)
  })

  it('are deleted from a round that failed too, but kept in one that is still in progress', async () => {
    const world = await startWorld({ config: { updateRetentionDays: 0 } })
    const devices = [await world.register('a'), await world.register('b')]
    const round = await playRound(world, devices, [floats(1)])
    await world.service.runRetention()
    expect(await stored(world)).toEqual([sha256(floats(1))])
    await world.advance(61)
    expect(await round.status()).toMatchObject({ status: 'failed' })
    // Released at once, and collected after the bytes were not needed for an hour.
    await world.service.runRetention()
    expect(await stored(world)).toEqual([sha256(floats(1))])
    await world.advance(60 * 60)
    await world.service.runRetention()
    expect(await stored(world)).toEqual([])
  })
})
