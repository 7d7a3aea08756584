import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../test/databases.ts'
import { createModel, uploadVersion } from '../../../test/fleet-of-models.ts'
import { startWorld, type TestDevice, type World } from '../../../test/world.ts'
import { NEXT, type RolloutEvent, type RolloutStatus } from '../../domain/rollout.ts'

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const at = '2026-01-01T00:00:00.000Z'
const later = (minutes: number) => new Date(Date.parse(at) + minutes * 60_000).toISOString()

interface Rollout {
  rollout_id: string
  status: string
  percentage: number
  reason: string | null
  warnings: string[]
  [field: string]: unknown
}
interface Event {
  event: RolloutEvent | 'create' | 'delete'
  status: RolloutStatus
  percentage: number
}

const create = (world: World, key: string, body: object) =>
  world.request('POST', '/api/v1/models/m/rollouts', {
    key,
    body: { version: '2.0.0', rollout_percentage: 10, ...body },
  })
const created = async (world: World, key: string, body: object = {}): Promise<Rollout> => {
  const answer = await create(world, key, body)
  expect(answer.status).toBe(201)
  return answer.body as Rollout
}
const path = (rollout: Rollout, rest = '') => `/api/v1/models/m/rollouts/${rollout.rollout_id}${rest}`
const get = async (world: World, key: string, rollout: Rollout) =>
  (await world.request('GET', path(rollout), { key })).body as Rollout
const steer = (world: World, key: string, rollout: Rollout, event: string, body?: object) =>
  world.request('POST', path(rollout, `/${event}`), { key, body })
const history = async (world: World, key: string, rollout: Rollout) =>
  ((await world.request('GET', path(rollout, '/history?limit=1000'), { key })).body as { events: Event[] }).events
const report = (world: World, device: TestDevice, rollout: Rollout, state: string, reason?: string) =>
  world.request('POST', `/api/v1/devices/${device.deviceId}/assignments/${rollout.rollout_id}/report`, {
    key: device.key,
    body: { state, version: '2.0.0', ...(reason === undefined ? {} : { reason }) },
  })
const runs = async (world: World, device: TestDevice): Promise<string[]> => {
  const { body } = await world.request('GET', `/api/v1/devices/${device.deviceId}/assignments`, { key: device.key })
  return (body as { assignments: { version: string }[] }).assignments.map(({ version }) => version)
}

const startFleet = async (devices: number, versions = ['1.0.0', '2.0.0'], options = {}) => {
  const world = await startWorld(options)
  const fleet = [await world.register('d0')]
  fleet.push(...(await Promise.all(Array.from({ length: devices - 1 }, (_, n) => world.register(`d${n + 1}`)))))
  const { key } = fleet[0]!
  const modelId = await createModel(world, key, 'm', versions)
  return { world, fleet, key, modelId }
}

describe('creating a rollout', () => {
  it('makes it active, with the defaults of a full rollout in steps of ten an hour', async () => {
    const { world, key, modelId } = await startFleet(1)
    const rollout = await created(world, key)
    expect(rollout).toEqual({
      rollout_id: uuid,
      model_id: modelId,
      model_name: 'm',
      org_id: null,
      version: '2.0.0',
      status: 'active',
      percentage: 10,
      initial_percentage: 10,
      target_percentage: 100,
      increment_step: 10,
      step_interval_minutes: 60,
      group_id: null,
      auto_rollback: false,
      reason: null,
      next_step_at: later(60),
      created_at: at,
      started_at: at,
      ended_at: null,
      updated_at: at,
      reports: { downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 },
      warnings: [],
    })
    expect(await get(world, key, rollout)).toEqual(rollout)
    const { model_name, reports, warnings, ...listed } = rollout
    expect((await world.request('GET', '/api/v1/rollouts/active', { key })).body).toEqual({ rollouts: [listed] })
    expect((await world.request('GET', '/api/v1/models/m/rollouts', { key })).body).toEqual({
      rollouts: [listed],
      total: 1,
      limit: 100,
      offset: 0,
    })
  })

  it('leaves it pending when it is not to start immediately: it reaches nobody until it is started', async () => {
    const { world, key, fleet } = await startFleet(1)
    const rollout = await created(world, key, { start_immediately: false, rollout_percentage: 100 })
    expect(rollout).toMatchObject({ status: 'pending', started_at: null, next_step_at: null })
    expect((await world.request('GET', '/api/v1/rollouts/active', { key })).body).toEqual({ rollouts: [] })
    expect(await runs(world, fleet[0]!)).toEqual([])
    await world.advance(60)
    expect((await steer(world, key, rollout, 'start')).body).toMatchObject({ status: 'active', started_at: later(1) })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
  })

  it('for a version that nobody has uploaded warns, and offers it to nobody until it is there', async () => {
    const { world, key, fleet } = await startFleet(1)
    const rollout = await created(world, key, { version: '3.0.0', rollout_percentage: 100, target_percentage: 100 })
    expect(rollout.warnings).toEqual([
      'No upload carries version 3.0.0 yet: devices are offered nothing until one does.',
    ])
    expect(await runs(world, fleet[0]!)).toEqual([])
    await world.advance(3600)
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active', percentage: 100 })
    await uploadVersion(world, key, 'm', '3.0.0')
    expect(await runs(world, fleet[0]!)).toEqual(['3.0.0'])
    expect((await get(world, key, rollout)).warnings).toEqual([])
  })

  it('of the latest version means the one that is the latest then', async () => {
    const { world, key, fleet } = await startFleet(1)
    const rollout = await created(world, key, { version: 'latest', rollout_percentage: 100 })
    await uploadVersion(world, key, 'm', '3.0.0')
    expect(await get(world, key, rollout)).toMatchObject({ version: '2.0.0' })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
  })

  it('with fields that cannot be right is refused, naming them; for a model that does not exist it is 404', async () => {
    const { world, key } = await startFleet(1)
    for (const [body, field] of [
      [{ rollout_percentage: 101 }, 'rollout_percentage'],
      [{ rollout_percentage: -1 }, 'rollout_percentage'],
      [{ rollout_percentage: 1.5 }, 'rollout_percentage'],
      [{ rollout_percentage: undefined }, 'rollout_percentage'],
      [{ target_percentage: 101 }, 'target_percentage'],
      [{ target_percentage: 9 }, 'target_percentage'],
      [{ increment_step: 0 }, 'increment_step'],
      [{ increment_step: 101 }, 'increment_step'],
      [{ step_interval_minutes: 0 }, 'step_interval_minutes'],
      [{ version: '' }, 'version'],
      [{ version: undefined }, 'version'],
      [{ group: 'nobody' }, 'group'],
      [{ start_immediately: 'yes' }, 'start_immediately'],
    ] as const) {
      const answer = await create(world, key, body)
      expect(answer).toMatchObject({ status: 400, body: { error: 'bad_request', status_code: 400 } })
      expect((answer.body as { message: string }).message).toContain(field)
      const wanted = { key, body }
      expect((await world.request('POST', '/api/v1/models/ghost/rollouts', wanted)).status).toBe(404)
    }
  })
})

describe('a rollout that runs', () => {
  it('grows by a step each interval while health holds, and completes at its target', async () => {
    const { world, key } = await startFleet(1)
    const rollout = await created(world, key, { rollout_percentage: 20, target_percentage: 90, increment_step: 40 })
    const seen: unknown[] = []
    for (let hour = 0; hour < 4; hour++) {
      const { percentage, status, next_step_at, ended_at } = await get(world, key, rollout)
      seen.push([percentage, status, next_step_at, ended_at])
      await world.advance(3600)
    }
    expect(seen).toEqual([
      [20, 'active', later(60), null],
      [60, 'active', later(120), null],
      [90, 'completed', null, later(120)],
      [90, 'completed', null, later(120)],
    ])
    expect(
      (await history(world, key, rollout)).map(({ event, status, percentage }) => [event, status, percentage]),
    ).toEqual([
      ['create', 'pending', 20],
      ['start', 'active', 20],
      ['step', 'active', 60],
      ['step', 'active', 90],
      ['reach', 'completed', 90],
    ])
    expect((await world.request('GET', '/api/v1/rollouts/active', { key })).body).toEqual({ rollouts: [] })
  })

  it('takes one step after a standstill, however long that was', async () => {
    const { world, key } = await startFleet(1)
    const rollout = await created(world, key)
    await world.advance(10 * 3600)
    expect(await get(world, key, rollout)).toMatchObject({ percentage: 20, next_step_at: later(660) })
  })

  it('pauses with a reason as soon as too many devices fail, and goes on from there when it is resumed', async () => {
    const { world, key, fleet } = await startFleet(4)
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await report(world, fleet[0]!, rollout, 'failed', 'out of memory')
    await report(world, fleet[1]!, rollout, 'failed', 'out of memory')
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active' })
    await report(world, fleet[2]!, rollout, 'active')
    const paused = await get(world, key, rollout)
    expect(paused).toMatchObject({
      status: 'paused',
      reason: '2 of 3 devices that reported failed (66.7 %; at most 5 % may). Most often: out of memory',
      next_step_at: null,
      reports: { downloading: 0, verifying: 0, ready: 0, active: 1, failed: 2 },
    })
    await world.advance(7200)
    expect(await get(world, key, rollout)).toEqual(paused)
    expect(await runs(world, fleet[3]!)).toEqual(['2.0.0'])
    expect((await steer(world, key, rollout, 'resume')).body).toMatchObject({ status: 'active', reason: null })
    await report(world, fleet[2]!, rollout, 'active')
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active' })
    await world.advance(3600)
    expect(await get(world, key, rollout)).toMatchObject({ status: 'completed' })
  })

  it('rolls back by itself when it was asked to: every device gets what it got before', async () => {
    const { world, key, fleet } = await startFleet(3)
    const good = await created(world, key, { version: '1.0.0', rollout_percentage: 100 })
    await world.advance(3600)
    expect(await get(world, key, good)).toMatchObject({ status: 'completed' })
    const bad = await created(world, key, { rollout_percentage: 100, auto_rollback: true })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    for (const device of fleet) await report(world, device, bad, 'failed', 'exit code 1')
    expect(await get(world, key, bad)).toMatchObject({
      status: 'rolled_back',
      reason: '3 of 3 devices that reported failed (100.0 %; at most 5 % may). Most often: exit code 1',
      ended_at: later(60),
    })
    expect((await history(world, key, bad)).map(({ event, status }) => [event, status])).toEqual([
      ['create', 'pending'],
      ['start', 'active'],
      ['fail_health', 'paused'],
      ['rollback', 'rolled_back'],
    ])
    expect(await Promise.all(fleet.map((device) => runs(world, device)))).toEqual(fleet.map(() => ['1.0.0']))
  })

  it('survives a restart of the service', async () => {
    const { world, key, fleet } = await startFleet(1, ['2.0.0'], { durable: true })
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await world.restart()
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    await world.advance(3600)
    expect(await get(world, key, rollout)).toMatchObject({ status: 'completed' })
  })
})

describe('an operator', () => {
  it('pauses with a reason, resumes, advances, sets the percentage, and rolls back', async () => {
    const { world, key, fleet } = await startFleet(1)
    const rollout = await created(world, key)
    expect((await steer(world, key, rollout, 'pause', { reason: 'lunch' })).body).toMatchObject({
      status: 'paused',
      reason: 'lunch',
      next_step_at: null,
    })
    expect((await steer(world, key, rollout, 'resume')).body).toMatchObject({ status: 'active', reason: null })
    expect((await steer(world, key, rollout, 'advance')).body).toMatchObject({ status: 'active', percentage: 20 })
    const set = (percentage: unknown) =>
      world.request('PUT', path(rollout, '/percentage'), { key, body: { percentage } })
    expect((await set(55)).body).toMatchObject({ status: 'active', percentage: 55 })
    expect((await set(5)).body).toMatchObject({ status: 'active', percentage: 5 })
    expect((await set(100)).body).toMatchObject({ status: 'completed', percentage: 100 })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    expect((await steer(world, key, rollout, 'rollback')).body).toMatchObject({ status: 'rolled_back' })
    expect(await runs(world, fleet[0]!)).toEqual([])
    expect((await set(101)).status).toBe(400)
    expect((await set(50)).status).toBe(409)
  })

  it('is told what a rollout cannot do in its state', async () => {
    const { world, key } = await startFleet(1)
    const rollout = await created(world, key)
    expect(await steer(world, key, rollout, 'resume')).toMatchObject({
      status: 409,
      body: { error: 'conflict', message: 'A rollout that is active cannot be resumed.', status_code: 409 },
    })
    expect((await steer(world, key, rollout, 'start')).status).toBe(409)
  })

  it('deletes a rollout in any state: it is gone, and its devices get what they got before', async () => {
    const { world, key, fleet } = await startFleet(1)
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

  it('foresees a rollout without creating it', async () => {
    const { world, key, modelId } = await startFleet(5)
    const answer = await world.request('POST', '/api/v1/models/m/rollouts/dry-run', {
      key,
      body: { version: '9.0.0', rollout_percentage: 20, increment_step: 50, step_interval_minutes: 30 },
    })
    expect(answer).toMatchObject({
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
        warnings: ['No upload carries version 9.0.0 yet: devices are offered nothing until one does.'],
      },
    })
    expect((await world.request('GET', '/api/v1/models/m/rollouts', { key })).body).toMatchObject({ total: 0 })
  })

  it('sees which devices a rollout reaches, with what they said', async () => {
    // With so many, some are inside whatever the rollout's id is.
    const { world, key, fleet } = await startFleet(30)
    const rollout = await created(world, key, { rollout_percentage: 50 })
    const inside: string[] = []
    for (const device of fleet) if ((await runs(world, device)).length > 0) inside.push(device.deviceId)
    const one = fleet.find(({ deviceId }) => deviceId === inside[0])!
    await report(world, one, rollout, 'failed', 'no space')
    const said = { state: 'failed', version: '2.0.0', reason: 'no space', reported_at: at, current: true }
    const silent = { state: 'assigned', version: null, reason: null, reported_at: null, current: true }
    const devices = (query = '') => world.request('GET', path(rollout, `/devices${query}`), { key })
    const expected = inside.map((device_id, n) => ({ device_id, ...(n === 0 ? said : silent) }))
    const { devices: all, ...envelope } = (await devices()).body as { devices: { device_id: string }[] }
    expect([...all].sort((a, b) => inside.indexOf(a.device_id) - inside.indexOf(b.device_id))).toEqual(expected)
    expect(envelope).toEqual({ total: all.length, limit: 100, offset: 0 })
    expect((await devices('?limit=1&offset=1')).body).toEqual({
      devices: [all[1]],
      total: all.length,
      limit: 1,
      offset: 1,
    })
    await steer(world, key, rollout, 'rollback')
    expect((await devices()).body).toMatchObject({ devices: [{ ...expected[0], current: false }], total: 1 })
  })

  it('of another organisation sees none of it', async () => {
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

describe.each(['embedded', 'postgres'] as const)('operators at once (%s)', (database) => {
  it.skipIf(database === 'postgres' && !hasPostgres())(
    'never bring a rollout into a state, or along a way, that the table does not have',
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
        if (event !== 'set') return (await steer(world, key, rollout, event)).status
        return (await world.request('PUT', path(rollout, '/percentage'), { key, body: { percentage: n % 90 } })).status
      }
      const statuses: number[] = []
      for (let wave = 0; wave < 6; wave++) {
        if (wave % 2 === 1) await world.advance(3600)
        statuses.push(...(await Promise.all(Array.from({ length: 20 }, (_, n) => act(wave * 20 + n)))))
      }
      const last = await Promise.all(Array.from({ length: 6 }, () => steer(world, key, rollout, 'rollback')))
      expect(last.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
      expect([...new Set(statuses)].sort()).toEqual([200, 409])

      const [first, ...rest] = await history(world, key, rollout)
      expect(first).toMatchObject({ event: 'create', status: 'pending' })
      let status: RolloutStatus = 'pending'
      for (const { event, status: next, percentage } of rest) {
        expect([status, event, NEXT[status][event as RolloutEvent]]).toEqual([status, event, next])
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
