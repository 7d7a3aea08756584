import { describe, expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { formOf, startWorld, type World } from '../../../../test/world.ts'

const openOrganization = organizations()

const ROUNDS = '/api/v1/training/rounds'
const floats = new Uint8Array(new Float32Array([1, 2]).buffer)
type Body = Readonly<Record<string, unknown>> & { readonly id: string }

const start = async (world: World, key: string, fields: object = {}) =>
  (await world.request('POST', `${ROUNDS}/start`, { key, body: { target_devices: 2, min_devices: 2, ...fields } }))
    .body as Body
const cancel = (world: World, key: string, id: string, body?: object) =>
  world.request('POST', `${ROUNDS}/${id}/cancel`, { key, body })

describe('canceling a round', () => {
  it('ends it at once, and devices learn the reason when they submit', async () => {
    const world = openOrganization()
    const { key } = await world.register('a')
    await world.register('b')
    const { id } = await start(world, key)
    const reason = 'The round was canceled: wrong model'
    expect(await cancel(world, key, id, { reason: 'wrong model' })).toMatchObject({
      status: 200,
      body: { id, status: 'failed', failure_reason: reason, failed_devices: 2, completed_at: null },
    })
    const late = await world.request('POST', `${ROUNDS}/${id}/updates`, {
      key,
      body: formOf(floats, { num_samples: 1 }),
    })
    expect(late).toMatchObject({ status: 409, body: { message: expect.stringContaining(reason) } })
    expect(await start(world, key)).toMatchObject({ status: 'active', round_number: 2 })
    const failed = await world.request('GET', `${ROUNDS}?status=failed`, { key })
    expect(failed.body).toMatchObject({ rounds: [{ id, failure_reason: reason }], total: 1 })
    expect((await world.request('GET', `${ROUNDS}?status=ended`, { key })).status).toBe(400)
  })

  it('is refused for a round that has ended, belongs to another organization, or does not exist', async () => {
    const world = openOrganization()
    const { key } = await world.register('a')
    const { id } = await start(world, key)
    expect((await cancel(world, key, 'nothing')).status).toBe(404)
    expect((await cancel(world, key, id, { reason: 3 })).status).toBe(400)
    const made = await world.request('POST', '/api/v1/keys', {
      key,
      body: { name: 'acme', org_id: 'acme', scopes: ['training:read', 'training:write'] },
    })
    const foreign = (made.body as { api_key: string }).api_key
    expect((await cancel(world, foreign, id)).status).toBe(404)
    const read = await world.request('POST', '/api/v1/keys', { key, body: { name: 'r', scopes: ['training:read'] } })
    expect((await cancel(world, (read.body as { api_key: string }).api_key, id)).status).toBe(403)
    expect((await cancel(world, key, id)).body).toMatchObject({ failure_reason: 'The round was canceled.' })
    expect(await cancel(world, key, id)).toMatchObject({
      status: 409,
      body: { message: 'The round is failed: only a round in progress can be canceled.' },
    })
  })

  it('lets its job continue with another round, however often that happens', async () => {
    const world = await startWorld()
    const { key } = await world.register('a')
    await world.register('b')
    await world.request('POST', '/api/v1/models', { key, body: { name: 'm' } })
    await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: formOf(floats) })
    const job = (await world.request('POST', '/api/v1/training/jobs', { key, body: { model: 'm' } })).body as Body
    for (let n = 0; n < 4; n++) {
      const current = (await world.request('GET', `${ROUNDS}/current`, { key })).body as Body
      expect(current).toMatchObject({ status: 'active', round_number: n + 1 })
      expect((await cancel(world, key, current.id)).status).toBe(200)
      await world.service.runDueTasks()
    }
    const now = await world.request('GET', `/api/v1/training/jobs/${job.id}`, { key })
    expect(now.body).toMatchObject({ status: 'running', rounds_failed_in_a_row: 0, ended_by: null })
  })
})
