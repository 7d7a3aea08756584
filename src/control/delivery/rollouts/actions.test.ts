import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { startWorld } from '../../../../test/world.ts'
import { ROLLOUT_TRANSITIONS, type RolloutEvent, type RolloutStatus } from '../../../domain/rollout.ts'
import { applyAction, created, fleetIn, get, history, path, report, runs, startFleet } from './rollout-calls.fixture.ts'

const openOrganization = boundOrganizations()

const openFleet = async (devices: number) => fleetIn(await openOrganization(), devices)

describe('an operator', () => {
  it('pauses with a reason, resumes, advances, sets the percentage, and rolls back', async () => {
    const { world, key, fleet } = await openFleet(1)
    const rollout = await created(world, key)
    expect((await applyAction(world, key, rollout, 'pause', { reason: 'lunch' })).body).toMatchObject({
      status: 'paused',
      reason: 'lunch',
      next_step_at: null,
      warnings: ['Devices within its percentage still get the version, unless it is rolled back or set to 0%.'],
    })
    expect((await applyAction(world, key, rollout, 'resume')).body).toMatchObject({ status: 'active', reason: null })
    expect((await applyAction(world, key, rollout, 'advance')).body).toMatchObject({ status: 'active', percentage: 20 })
    const set = (percentage: unknown) =>
      world.request('PUT', path(rollout, '/percentage'), { key, body: { percentage } })
    expect((await set(55)).body).toMatchObject({ status: 'active', percentage: 55, warnings: [] })
    expect((await set(5)).body).toMatchObject({ status: 'active', percentage: 5 })
    expect((await set(100)).body).toMatchObject({ status: 'completed', percentage: 100, ended_by: 'user' })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    expect((await applyAction(world, key, rollout, 'rollback')).body).toMatchObject({ status: 'rolled_back' })
    expect(await runs(world, fleet[0]!)).toEqual([])
    expect((await set(101)).status).toBe(400)
    expect((await set(50)).status).toBe(409)
  })

  it("gets a conflict for an action that the rollout's state does not allow", async () => {
    const { world, key } = await openFleet(1)
    const rollout = await created(world, key)
    expect(await applyAction(world, key, rollout, 'resume')).toMatchObject({
      status: 409,
      body: { error: 'conflict', message: 'A rollout that is active cannot be resumed.', status_code: 409 },
    })
    expect((await applyAction(world, key, rollout, 'start')).status).toBe(409)
  })

  it('deletes a rollout in any state: it is gone, and its devices get their previous version', async () => {
    const { world, key, fleet } = await openFleet(1)
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await report(world, fleet[0]!, rollout, 'active')
    expect(await world.request('DELETE', path(rollout), { key })).toMatchObject({
      status: 200,
      body: { rollout_id: rollout.rollout_id, deleted: true },
    })
    expect(await runs(world, fleet[0]!)).toEqual([])
    for (const [method, rest] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/history'],
      ['POST', '/pause'],
    ] as const) {
      expect((await world.request(method, path(rollout, rest), { key })).status).toBe(404)
    }
    expect((await report(world, fleet[0]!, rollout, 'active')).body).toMatchObject({ current: false })
  })

  it('previews a rollout without creating it', async () => {
    const { world, key, modelId } = await openFleet(5)
    const response = await world.request('POST', '/api/v1/models/m/rollouts/dry-run', {
      key,
      body: { version: '9.0.0', rollout_percentage: 20, increment_step: 50, step_interval_minutes: 30 },
    })
    expect(response).toMatchObject({
      status: 200,
      body: {
        model_id: modelId,
        version: '9.0.0',
        target_devices: 5,
        steps: [
          { after_minutes: 0, percentage: 20, devices: 1 },
          { after_minutes: 30, percentage: 70, devices: 4 },
          { after_minutes: 60, percentage: 100, devices: 5 },
        ],
        minutes_to_target: 60,
        warnings: ['Version 9.0.0 has not been uploaded yet: devices get nothing until it is.'],
      },
    })
    expect((await world.request('GET', '/api/v1/models/m/rollouts', { key })).body).toMatchObject({ total: 0 })
  })

  it('sees which devices a rollout reaches, with their reports', async () => {
    // Enough devices that some are included, whatever the rollout's id is.
    const { world, key, fleet, at } = await openFleet(30)
    const rollout = await created(world, key, { rollout_percentage: 50 })
    const inside: string[] = []
    for (const device of fleet) if ((await runs(world, device)).length > 0) inside.push(device.deviceId)
    const one = fleet.find(({ deviceId }) => deviceId === inside[0])!
    await report(world, one, rollout, 'failed', 'no space')
    const response = { state: 'failed', version: '2.0.0', reason: 'no space', reported_at: at, current: true }
    const silent = { state: 'assigned', version: null, reason: null, reported_at: null, current: true }
    const devices = (query = '') => world.request('GET', path(rollout, `/devices${query}`), { key })
    const expected = inside.map((device_id, n) => ({ device_id, ...(n === 0 ? response : silent) }))
    const { devices: all, ...envelope } = (await devices()).body as { devices: { device_id: string }[] }
    expect([...all].sort((a, b) => inside.indexOf(a.device_id) - inside.indexOf(b.device_id))).toEqual(expected)
    const states = { failed: 1, assigned: all.length - 1 }
    expect(envelope).toEqual({ states, total: all.length, limit: 100, offset: 0 })
    expect((await devices('?limit=1&offset=1')).body).toEqual({
      devices: [all[1]],
      states,
      total: all.length,
      limit: 1,
      offset: 1,
    })
    await applyAction(world, key, rollout, 'rollback')
    expect((await devices()).body).toMatchObject({
      devices: [{ ...expected[0], current: false }],
      states: {},
      total: 1,
    })
  })

  it('of another organization sees none of it', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey ?? ''
    const keyFor = async (org: string): Promise<string> => {
      const made = await world.request('POST', '/api/v1/keys', { key: admin, body: { name: org, org_id: org } })
      return (made.body as { api_key: string }).api_key
    }
    const [acme, umbrella] = [await keyFor('acme'), await keyFor('umbrella')]
    await createModel(world, acme, 'm', ['2.0.0'])
    const rollout = await created(world, acme, { rollout_percentage: 100 })
    const join = async (key: string, device_id: string) => {
      const { body } = await world.request('POST', '/api/v1/devices/register', { key, body: { device_id } })
      return { ...(body as { id: string }), deviceId: device_id, key: (body as { api_key: string }).api_key }
    }
    const [own, foreign] = [await join(acme, 'own'), await join(umbrella, 'foreign')]
    expect([await runs(world, own), await runs(world, foreign)]).toEqual([['2.0.0'], []])
    const byId = `/api/v1/models/${rollout.model_id}/rollouts/${rollout.rollout_id}`
    expect((await world.request('GET', byId, { key: umbrella })).status).toBe(404)
    expect((await world.request('POST', `${byId}/pause`, { key: umbrella })).status).toBe(404)
    expect((await world.request('GET', '/api/v1/rollouts/active', { key: umbrella })).body).toEqual({ rollouts: [] })
    expect((await report(world, foreign, rollout, 'failed')).status).toBe(404)
    expect((await report(world, own, rollout, 'active')).body).toMatchObject({ current: true })
    expect((await world.request('POST', `${byId}/pause`, { key: own.key })).status).toBe(403)
  })
})

describe.each(['embedded', 'postgres'] as const)('concurrent operators (%s)', (database) => {
  it.skipIf(database === 'postgres' && !hasPostgres())(
    'never bring a rollout to a state, or through a transition, that is not in the table',
    async () => {
      const { world, key, fleet } = await startFleet(3, ['1.0.0', '2.0.0'], { database })
      const rollout = await created(world, key, { start_immediately: false, increment_step: 3 })
      const events = [
        'start',
        'pause',
        'resume',
        'advance',
        'pause',
        'resume',
        'advance',
        'set',
        'tick',
        'fail',
      ] as const
      const act = async (n: number): Promise<number> => {
        const event = events[(n * 7) % events.length]!
        if (event === 'tick') return (await get(world, key, rollout)) && 200
        if (event === 'fail') return (await report(world, fleet[n % 3]!, rollout, n % 2 ? 'failed' : 'active')).status
        if (event !== 'set') return (await applyAction(world, key, rollout, event)).status
        return (await world.request('PUT', path(rollout, '/percentage'), { key, body: { percentage: n % 90 } })).status
      }
      const statuses: number[] = []
      for (let wave = 0; wave < 4; wave++) {
        if (wave % 2 === 1) await world.advance(3600)
        statuses.push(...(await Promise.all(Array.from({ length: 20 }, (_, n) => act(wave * 20 + n)))))
      }
      const last = await Promise.all(Array.from({ length: 6 }, () => applyAction(world, key, rollout, 'rollback')))
      expect(last.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
      expect([...new Set(statuses)].sort()).toEqual([200, 409])

      const [first, ...rest] = await history(world, key, rollout)
      expect(first).toMatchObject({ event: 'create', status: 'pending' })
      let status: RolloutStatus = 'pending'
      for (const { event, status: next, percentage } of rest) {
        expect([status, event, ROLLOUT_TRANSITIONS[status][event as RolloutEvent]]).toEqual([status, event, next])
        expect(percentage).toBeLessThanOrEqual(100)
        status = next
      }
      expect(rest.filter(({ event }) => event === 'start')).toHaveLength(1)
      expect(await get(world, key, rollout)).toMatchObject({
        status: 'rolled_back',
        percentage: rest.at(-1)!.percentage,
      })
      expect(status).toBe('rolled_back')
      expect(await runs(world, fleet[0]!)).toEqual([])
    },
  )
})
