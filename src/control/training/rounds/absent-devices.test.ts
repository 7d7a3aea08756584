import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { organizations } from '../../../../test/organizations.ts'
import { formOf, startWorld, type TestDevice, type World } from '../../../../test/world.ts'
import { MAX_GIVEN_UP } from './absent-devices.store.ts'

const openOrganization = organizations()

const ROUNDS = '/api/v1/training/rounds'
const floats = new Uint8Array(new Float32Array([1, 2]).buffer)

interface Body {
  readonly id: string
  readonly status: string
  readonly failure_reason: string | null
  readonly [field: string]: unknown
}

const beat = async (world: World, device: TestDevice, metrics: object = {}): Promise<string | null> => {
  const path = `/api/v1/devices/${device.deviceId}/heartbeat`
  const { body } = await world.request('PUT', path, { key: device.key, body: { metrics } })
  return (body as { pending_round_id?: string }).pending_round_id ?? null
}
const start = async (world: World, key: string, fields: object): Promise<Body> => {
  const response = await world.request('POST', `${ROUNDS}/start`, { key, body: { timeout_seconds: 60, ...fields } })
  expect(response.status).toBe(201)
  return response.body as Body
}
const plan = (world: World, { key }: TestDevice, id: string) => world.request('GET', `${ROUNDS}/${id}/plan`, { key })
const submit = (world: World, { key }: TestDevice, id: string) =>
  world.request('POST', `${ROUNDS}/${id}/updates`, { key, body: formOf(floats, { num_samples: 10 }) })
const fail = (world: World, { key }: TestDevice, id: string, reason: string) =>
  world.request('POST', `${ROUNDS}/${id}/failures`, { key, body: { reason } })
const roundOf = async (world: World, key: string, id: string) =>
  (await world.request('GET', `${ROUNDS}/${id}/status`, { key })).body as Body
const participantsOf = async (world: World, key: string, id: string) =>
  (await world.request('GET', `${ROUNDS}/${id}/participants`, { key })).body as {
    readonly participants: readonly { readonly device_identifier: string; readonly state: string }[]
    readonly total: number
  }

const registered = async (world: World, size: number, fields: object = {}): Promise<TestDevice[]> => {
  const devices: TestDevice[] = []
  for (let n = 0; n < size; n++) devices.push(await world.register(`d${String(n).padStart(2, '0')}`, fields))
  return devices
}

/** A device that starts rounds but does not train. */
const starterOf = async (world: World): Promise<string> => (await world.register('operator', { trains: false })).key

describe('a fleet with a silent half', () => {
  it('completes a job if enough of its devices respond', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const devices = await registered(world, 12)
    await world.request('POST', '/api/v1/models', { key, body: { name: 'm' } })
    await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: formOf(floats) })
    // The two halves cannot be told apart when the job begins.
    await world.advance(1)
    for (const device of devices) await beat(world, device)
    const live = devices.filter((_, n) => n % 2 === 0)
    const body = { model: 'm', rounds: 3, min_devices: 5, target_devices: 6, timeout_seconds: 60 }
    const job = (await world.request('POST', '/api/v1/training/jobs', { key, body })).body as Body
    const jobNow = async () => (await world.request('GET', `/api/v1/training/jobs/${job.id}`, { key })).body as Body
    for (let second = 0; second < 60 && (await jobNow()).ended_by === null; second += 2) {
      await world.advance(2)
      for (const device of live) {
        const id = await beat(world, device)
        if (id === null) continue
        await plan(world, device, id)
        expect((await submit(world, device, id)).status).toBe(201)
      }
      await world.service.runDueTasks()
    }
    expect(await jobNow()).toMatchObject({ status: 'completed', rounds_completed: 3 })
    const history = (await jobNow()).history as readonly { round_id: string; status: string }[]
    expect(history.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    // A device that was missing from one round is not drawn for another.
    const seen: string[] = []
    for (const { round_id } of history) {
      const { participants } = await participantsOf(world, key, round_id)
      seen.push(...participants.filter(({ state }) => state === 'failed').map((one) => one.device_identifier))
    }
    expect(seen.length).toBe(new Set(seen).size)
    expect(seen.every((name) => Number(name.slice(1)) % 2 === 1)).toBe(true)
  })
})

describe('a device that does not fetch the plan', () => {
  it('loses its place after a tenth of the timeout to a device that does', async () => {
    const world = await startWorld()
    const key = await starterOf(world)
    const [silent] = await registered(world, 1)
    const { id } = await start(world, key, { target_devices: 1, min_devices: 1 })
    const other = await world.register('other')
    await world.advance(5)
    expect(await beat(world, other)).toBeNull()
    await world.advance(1)
    expect(await beat(world, other)).toBe(id)
    const listed = await participantsOf(world, key, id)
    expect(listed).toEqual({
      participants: [
        {
          device_id: silent!.id,
          device_identifier: 'd00',
          org_id: null,
          state: 'absent',
          chosen: 'drawn',
          selected_at: '2026-01-01T00:00:00.000Z',
          acknowledged_at: null,
          model_fetched_at: null,
          reported_at: '2026-01-01T00:00:06.000Z',
          reason: 'Did not fetch the plan within 6 s.',
        },
        {
          device_id: other.id,
          device_identifier: 'other',
          org_id: null,
          state: 'selected',
          chosen: 'joined',
          selected_at: '2026-01-01T00:00:06.000Z',
          acknowledged_at: null,
          model_fetched_at: null,
          reported_at: null,
          reason: null,
        },
      ],
      total: 2,
      limit: 100,
      offset: 0,
    })
    expect((await submit(world, other, id)).status).toBe(201)
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'completed', failed_devices: 1 })
  })

  it('keeps its place for two of its own heartbeat intervals', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [slow] = await registered(world, 1)
    await world.advance(10)
    await beat(world, slow!)
    const { id } = await start(world, key, { target_devices: 1, min_devices: 1 })
    const other = await world.register('other')
    await world.advance(19)
    expect(await beat(world, other)).toBeNull()
    await world.advance(1)
    expect(await beat(world, other)).toBe(id)
  })

  it('also keeps it after fetching the plan, however long it trains', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [only] = await registered(world, 1)
    const { id } = await start(world, key, { target_devices: 1, min_devices: 1 })
    await plan(world, only!, id)
    const other = await world.register('other')
    await world.advance(50)
    expect(await beat(world, other)).toBeNull()
    expect(await beat(world, only!)).toBe(id)
  })

  it('can return: it takes a place if one is still free, and its update counts in any case', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [a, b] = await registered(world, 2)
    const { id } = await start(world, key, { target_devices: 2, min_devices: 2 })
    await world.advance(6)
    const other = await world.register('other')
    expect(await beat(world, other)).toBe(id)
    await plan(world, other, id)
    await world.advance(10)
    expect(await beat(world, a!)).toBe(id)
    expect(await beat(world, b!)).toBeNull()
    expect((await submit(world, b!, id)).status).toBe(201)
    expect((await submit(world, a!, id)).status).toBe(201)
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'active', completed_devices: 2 })
    expect((await submit(world, other, id)).status).toBe(201)
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({
      status: 'completed',
      completed_devices: 3,
      failed_devices: 0,
    })
  })

  it('is not drawn again until it sends a heartbeat', async () => {
    const world = openOrganization()
    // The clock was ahead when the service started, which is no reason to think that it was stopped.
    await world.advance(-3600)
    const key = await starterOf(world)
    const [silent] = await registered(world, 1)
    await start(world, key, { target_devices: 1, min_devices: 1 })
    await world.advance(60)
    const { id } = await start(world, key, { target_devices: 1, min_devices: 1 })
    expect(await participantsOf(world, key, id)).toMatchObject({ total: 0 })
    await world.advance(1)
    expect(await beat(world, silent!)).toBe(id)
  })

  it('is given up in a round that continues after the service was killed, but not for a time without the service', async () => {
    const world = await startWorld({ durable: true, ...(hasPostgres() && { database: 'postgres' as const }) })
    const key = await starterOf(world)
    await registered(world, 2)
    const { id } = await start(world, key, { target_devices: 2, min_devices: 1 })
    await world.restart()
    await world.advance(6)
    await world.restart()
    const other = await world.register('other')
    expect(await beat(world, other)).toBe(id)
    expect((await submit(world, other, id)).status).toBe(201)
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'completed', failed_devices: 2 })

    const notRunning = "The service was not running when the round's time ran out."
    const drawn = async () => {
      const { id: next } = await start(world, key, { target_devices: 1, min_devices: 1 })
      const path = `${ROUNDS}/${next}/selection`
      const part = async () => (await world.request('GET', path, { key: other.key })).body
      expect(await part()).toMatchObject({ state: 'selected' })
      return { next, part }
    }
    for (let time = 0; time < 2; time++) {
      const { next, part } = await drawn()
      await world.restart({}, 66)
      await world.service.runDueTasks()
      expect(await roundOf(world, key, next)).toMatchObject({
        status: 'failed',
        failed_devices: 1,
        failure_reason: `Timed out after 60 s: 0 of at least 1 update had arrived. ${notRunning}`,
      })
      expect(await part()).toMatchObject({ state: 'failed', reason: notRunning })
    }
  })
})

it('thousands of absent devices are given up in several short transactions', async () => {
  const world = await startWorld()
  const key = await starterOf(world)
  const database = world.database!.sql
  await sql`
    insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select gen_random_uuid(), 'n' || n, 'linux', '{}', 'active', at, at, at
    from generate_series(0, ${MAX_GIVEN_UP}::int) as n, lateral (select ${world.now()}::timestamptz as at) as moment`.execute(
    database,
  )
  const { id } = await start(world, key, { target_devices: MAX_GIVEN_UP + 1, min_devices: 1 })
  const absent = async () => {
    const { rows } = await sql`select from round_participants where round_id = ${id} and state = 'absent'`.execute(
      database,
    )
    return rows.length
  }
  await world.advance(5)
  expect(await absent()).toBe(0)
  await world.advance(1)
  expect(await absent()).toBe(MAX_GIVEN_UP)
  await world.advance(1)
  expect(await absent()).toBe(MAX_GIVEN_UP + 1)
})

describe('a device that stops sending heartbeats while it trains', () => {
  /** Devices of which the first ones train in a round, and have said so in a heartbeat. */
  const training = async (world: World, trainers: number, fields: object) => {
    const key = await starterOf(world)
    const devices = await registered(world, trainers)
    const round = await start(world, key, { target_devices: trainers, timeout_seconds: 300, ...fields })
    for (const device of devices) await plan(world, device, round.id)
    await world.advance(2)
    for (const device of devices) await beat(world, device, { training: true })
    return { key, id: round.id, devices, other: await world.register('other') }
  }

  it('loses its place after a minute to a device that does, and its update still counts', async () => {
    const world = await startWorld()
    const { key, id, devices, other } = await training(world, 1, { min_devices: 1 })
    await world.advance(59)
    expect(await beat(world, other)).toBeNull()
    await world.advance(1)
    expect(await beat(world, other)).toBe(id)
    expect(await participantsOf(world, key, id)).toMatchObject({
      participants: [
        { device_identifier: 'd00', state: 'absent', reason: 'Stopped sending heartbeats while it trained.' },
        { device_identifier: 'other', state: 'selected', chosen: 'joined' },
      ],
    })
    expect((await submit(world, devices[0]!, id)).status).toBe(201)
    await plan(world, other, id)
    expect((await submit(world, other, id)).status).toBe(201)
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'completed', completed_devices: 2 })
  })

  it.each([
    ['it sends them', { training: true }],
    ['it has sent none about training', {}],
  ])('keeps its place if %s', async (_, metrics) => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [only] = await registered(world, 1)
    const { id } = await start(world, key, { target_devices: 1, min_devices: 1, timeout_seconds: 300 })
    await plan(world, only!, id)
    const other = await world.register('other')
    await world.advance(2)
    await beat(world, only!, metrics)
    for (let second = 0; second < 280; second += 40) {
      await world.advance(40)
      if ('training' in metrics) await beat(world, only!, metrics)
      expect(await beat(world, other)).toBeNull()
    }
    expect((await submit(world, only!, id)).status).toBe(201)
  })

  it('is no longer waited for once all others have delivered, if their updates are enough', async () => {
    const world = openOrganization()
    const { key, id, devices } = await training(world, 2, { min_devices: 1 })
    await world.advance(40)
    await beat(world, devices[0]!, { training: true })
    await world.advance(20)
    expect((await submit(world, devices[0]!, id)).status).toBe(201)
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({
      status: 'completed',
      completed_devices: 1,
      failed_devices: 1,
    })
  })

  it('may continue while the round lasts if it is needed, and no other device takes its place', async () => {
    const world = openOrganization()
    const { key, id, devices } = await training(world, 2, { min_devices: 2 })
    await world.advance(200)
    const { participants } = await participantsOf(world, key, id)
    expect(participants.map(({ state }) => state)).toEqual(['absent', 'absent'])
    await world.advance(10)
    for (const device of devices) {
      expect(await beat(world, device)).toBe(id)
      expect((await submit(world, device, id)).status).toBe(201)
    }
    await world.service.runDueTasks()
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'completed', failed_devices: 0 })
  })

  it('has a minute to send one after the service was stopped', async () => {
    const world = await startWorld({ durable: true, ...(hasPostgres() && { database: 'postgres' as const }) })
    const { id, other } = await training(world, 1, { min_devices: 1 })
    await world.restart({}, 100)
    await world.advance(59)
    expect(await beat(world, other)).toBeNull()
    await world.restart()
    await world.advance(60)
    expect(await beat(world, other)).toBe(id)
  })
})

describe('a round that can no longer be completed', () => {
  it('ends with the most frequent reasons when all of its devices have failed', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [a, b] = await registered(world, 2)
    const { id } = await start(world, key, { target_devices: 2, min_devices: 2 })
    await fail(world, a!, id, 'CUDA out of memory')
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'active' })
    const last = await fail(world, b!, id, 'CUDA out of memory')
    expect(last.body).toMatchObject({
      status: 'failed',
      failed_devices: 2,
      failure_reason: '2 of 2 devices failed: CUDA out of memory (2)',
    })
  })

  it('also ends if a reason is cut in the middle of a character', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [a] = await registered(world, 1)
    const { id } = await start(world, key, { target_devices: 1, min_devices: 1 })
    const failed = await fail(world, a!, id, `${'x'.repeat(199)}😀😀`)
    expect(failed.body).toMatchObject({
      status: 'failed',
      failure_reason: `1 of 1 device failed: ${'x'.repeat(199)}... (1)`,
    })
  })

  it('ends with the first failure if no device can take the place, and tells the devices that still train', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [a, b, c] = await registered(world, 3)
    const { id } = await start(world, key, { target_devices: 3, min_devices: 3 })
    for (const device of [a!, b!, c!]) await plan(world, device, id)
    const failed = await fail(world, a!, id, 'disk full.\nsorry')
    expect(failed.body).toMatchObject({
      status: 'failed',
      failed_devices: 3,
      failure_reason: '1 of 3 devices failed: disk full. sorry (1). At least 3 updates were needed',
    })
    const refused = await submit(world, b!, id)
    expect(refused.status).toBe(409)
    expect((refused.body as Body).message).toContain('disk full')
  })

  it('waits for a device that may take the place, but no longer than one can be expected', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [a, b] = await registered(world, 2)
    const { id } = await start(world, key, { target_devices: 2, min_devices: 2, timeout_seconds: 300 })
    await world.register('spare')
    for (const device of [a!, b!]) await plan(world, device, id)
    expect((await fail(world, a!, id, 'no data')).body).toMatchObject({ status: 'active' })
    await world.advance(39)
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'active' })
    await world.advance(5)
    expect(await roundOf(world, key, id)).toMatchObject({
      status: 'failed',
      failure_reason: '1 of 2 devices failed: no data (1). At least 2 updates were needed',
    })
  })

  it('waits until its timeout if it never had enough devices, and then reports what failed', async () => {
    const world = openOrganization()
    const key = await starterOf(world)
    const [a] = await registered(world, 2)
    const { id } = await start(world, key, { target_devices: 2, min_devices: 2 })
    await fail(world, a!, id, 'no data')
    await world.advance(59)
    expect(await roundOf(world, key, id)).toMatchObject({ status: 'active' })
    await world.advance(1)
    expect(await roundOf(world, key, id)).toMatchObject({
      status: 'failed',
      failure_reason:
        'Timed out after 60 s: 0 of at least 2 updates had arrived. 2 of 2 devices failed: ' +
        'Did not fetch the plan within 59 s (1), no data (1).',
    })
  })
})
