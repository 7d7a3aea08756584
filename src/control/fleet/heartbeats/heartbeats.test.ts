import { sql } from 'kysely'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { formOf, startWorld } from '../../../../test/world.ts'

const openOrganization = organizations()

/** A device, and another key that may report about it. */
const phoneAndOperator = async () => {
  const world = await startWorld()
  const { key } = await world.register('phone')
  const { key: operator } = await world.register('desk')
  const send = (sender: string, body: object) =>
    world.request('PUT', '/api/v1/devices/phone/heartbeat', { key: sender, body })
  const read = async () => (await world.request('GET', '/api/v1/devices/phone', { key })).body
  return { world, key, operator, send, read }
}

describe('a heartbeat', () => {
  it('is recorded with its metrics and answered with the time', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    await world.advance(60)
    const response = await world.request('PUT', '/api/v1/devices/phone/heartbeat', {
      key,
      body: { status: 'active', metrics: { battery_level: 0.5, note: 'any' } },
    })
    expect(response).toMatchObject({
      status: 200,
      body: { status: 'active', last_heartbeat: world.now().toISOString(), message: 'Heartbeat recorded.' },
    })
    expect(response.body).not.toHaveProperty('pending_round_id')
    expect((await world.request('GET', '/api/v1/devices/phone', { key })).body).toMatchObject({
      last_heartbeat: world.now().toISOString(),
      metrics: { battery_level: 0.5, note: 'any' },
    })
  })

  it("is recorded with a device's own field `training`, which is ignored with a warning", async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const body = { status: 'active', training: true }
    const response = await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key, body })
    expect([response.status, response.headers.get('x-service-warning')]).toEqual([
      200,
      'unknown field `training` was ignored',
    ])
  })

  it('that waits counts once', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const held = await world.request('PUT', '/api/v1/devices/phone/heartbeat?wait_seconds=1', { key })
    expect(held.status).toBe(200)
    const { body } = await world.request('GET', '/api/v1/devices/phone/heartbeats', { key })
    expect((body as { counts: readonly number[] }).counts.at(-1)).toBe(1)
  })

  it('that waits does not make a device active again that has since reported that it is inactive', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const path = '/api/v1/devices/phone/heartbeat'
    // As a proxy holds it whose device has disconnected.
    const body = { status: 'active', metrics: { battery: 1 } }
    const held = world.request('PUT', `${path}?wait_seconds=3`, { key, body })
    const read = async () => (await world.request('GET', '/api/v1/devices/phone', { key })).body
    await expect.poll(read).toMatchObject({ metrics: { battery: 1 } })
    const goodbye = { status: 'inactive', metrics: { battery: 2 } }
    await world.request('PUT', path, { key, body: goodbye })
    expect((await held).body).toMatchObject({ status: 'inactive' })
    expect(await read()).toMatchObject(goodbye)
  })

  it('makes a device active again that another key has reported as inactive, and takes part in rounds again', async () => {
    const { world, key, operator, send, read } = await phoneAndOperator()
    await send(key, { status: 'active', trains: true })
    await world.advance(1)
    await send(operator, { status: 'inactive', trains: false })
    await world.advance(1)
    // The first may still be answered from memory.
    expect((await send(key, { status: 'active', trains: true })).body).toMatchObject({ status: 'active' })
    await send(key, {})
    expect(await read()).toMatchObject({ status: 'active', trains: true })
  })

  it('that is written later does not change back what another key has reported since', async () => {
    const { world, key, operator, send, read } = await phoneAndOperator()
    await send(key, { status: 'active' })
    await world.advance(1)
    await send(key, { status: 'active' })
    await send(operator, { status: 'inactive' })
    expect(await read()).toMatchObject({ status: 'inactive' })
  })

  it('that waits is answered in time although the clock is set back', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const held = world.request('PUT', '/api/v1/devices/phone/heartbeat?wait_seconds=2', {
      key,
      body: { metrics: { battery: 1 } },
    })
    const read = async () => (await world.request('GET', '/api/v1/devices/phone', { key })).body
    await expect.poll(read).toMatchObject({ metrics: { battery: 1 } })
    onTestFinished(() => void vi.useRealTimers())
    vi.useFakeTimers({ now: Date.now() - 3_600_000, toFake: ['Date'] })
    expect((await held).status).toBe(200)
  })

  it('is counted in its quarter of an hour, for a day', async () => {
    const world = await startWorld()
    const { key } = await world.register('phone')
    const history = async () => {
      const { body } = await world.request('GET', '/api/v1/devices/phone/heartbeats', { key })
      const { counts, ...rest } = body as { counts: readonly number[] }
      return {
        ...rest,
        counts: counts.flatMap((count, slot) => (count === 0 ? [] : [[slot, count]])),
        slots: counts.length,
      }
    }
    const beat = async (...minutes: readonly number[]) => {
      for (const after of minutes) {
        await world.advance(after * 60)
        await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key })
      }
    }
    const shape = { device_id: 'phone', slot_seconds: 900, slots: 96 }
    expect(await history()).toEqual({ ...shape, from: '2025-12-31T00:15:00.000Z', counts: [] })
    await beat(0, 5, 5, 5, 75)
    // 00:00, 00:05 and 00:10, then 00:15, then 01:30.
    const counts = [
      [89, 3],
      [90, 1],
      [95, 1],
    ]
    expect(await history()).toEqual({ ...shape, from: '2025-12-31T01:45:00.000Z', counts })
    await world.advance(23 * 3600)
    expect(await history()).toMatchObject({ counts: [[3, 1]] })
    await beat(15, 0)
    expect(await history()).toMatchObject({
      counts: [
        [2, 1],
        [95, 2],
      ],
    })
    await beat(2 * 24 * 60)
    expect(await history()).toMatchObject({ counts: [[95, 1]], slots: 96 })
    expect((await world.request('GET', '/api/v1/devices/tablet/heartbeats', { key })).status).toBe(404)
  })

  it('keeps its metrics within the range of numbers, and reports which became null', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone', { capabilities: { memory_gb: 1e300, cores: 8 } })
    const send = (metrics: string) =>
      world.request('PUT', '/api/v1/devices/phone/heartbeat', {
        key,
        body: `{"metrics":${metrics}}`,
        headers: { 'content-type': 'application/json' },
      })
    const metricsNow = async () => (await world.request('GET', '/api/v1/devices/phone', { key })).body
    const response = await send(
      '{"loss":1e39,"top":3.4e38,"endless":1e999,"tiny":1e-39,"deep":{"far":-1e200,"near":1}}',
    )
    expect([response.status, response.headers.get('x-service-warning')]).toEqual([
      200,
      "metrics: 'loss', 'endless', 'far' became null; numbers from -3.4e38 to 3.4e38 are kept",
    ])
    expect(await metricsNow()).toMatchObject({
      metrics: { loss: null, top: 3.4e38, endless: null, tiny: 0, deep: { far: null, near: 1 } },
      capabilities: { memory_gb: null, cores: 8 },
    })
    expect((await send('{"loss":-3.4e38}')).headers.get('x-service-warning')).toBeNull()
  })

  it('returns when to send the next one: at once if a running job may select the device', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const beat = async () =>
      (await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key })).body as Record<string, number>
    const idle = (await beat()).next_heartbeat_seconds!
    expect(idle).toBeGreaterThanOrEqual(10)
    expect(idle).toBeLessThanOrEqual(30)
    const created = await world.request('POST', '/api/v1/models', { key, body: { name: 'm', framework: 'pytorch' } })
    const path = `/api/v1/models/${(created.body as { id: string }).id}/versions/upload`
    await world.request('POST', path, { key, body: formOf(new Uint8Array(8), {}, 'm.f32') })
    const job = await world.request('POST', '/api/v1/training/jobs', { key, body: { model: 'm' } })
    expect(job.status).toBe(201)
    expect(await beat()).toMatchObject({ next_heartbeat_seconds: 1 })
    const elsewhere = await world.register('elsewhere', { org_id: 'acme' })
    const other = await world.request('PUT', '/api/v1/devices/elsewhere/heartbeat', { key: elsewhere.key })
    expect((other.body as { next_heartbeat_seconds: number }).next_heartbeat_seconds).toBeGreaterThanOrEqual(10)
    await world.register('tablet')
    await world.service.runDueTasks()
    const drawn = await beat()
    expect(drawn).toMatchObject({ pending_round_id: expect.any(String), next_heartbeat_seconds: 2 })
    const { body } = await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key, body: { trains: false } })
    expect((body as { next_heartbeat_seconds: number }).next_heartbeat_seconds).toBe(2)
  })

  it('checks for training only while there is any', async () => {
    const world = await startWorld()
    const { key } = await world.register('phone')
    const announced = async () =>
      (await sql<{ n: number }>`select count(*)::int as n from announcements`.execute(world.database!.sql)).rows[0]!.n
    const created = await world.request('POST', '/api/v1/models', { key, body: { name: 'm', framework: 'pytorch' } })
    const path = `/api/v1/models/${(created.body as { id: string }).id}/versions/upload`
    await world.request('POST', path, { key, body: formOf(new Uint8Array(8), {}, 'm.f32') })
    expect(await announced()).toBe(0)
    const job = await world.request('POST', '/api/v1/training/jobs', { key, body: { model: 'm', rounds: 1 } })
    expect(job.status).toBe(201)
    await world.advance(61)
    expect(await announced()).toBeGreaterThan(0)
    await world.request('POST', `/api/v1/training/jobs/${(job.body as { id: string }).id}/stop`, { key })
    await world.advance(24 * 3600)
    await world.advance(61)
    expect(await announced()).toBe(0)
  })

  it('needs no body, with or without a JSON content type', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const path = '/api/v1/devices/phone/heartbeat'
    expect((await world.request('PUT', path, { key })).status).toBe(200)
    expect((await world.request('PUT', path, { key, headers: { 'content-type': 'application/json' } })).status).toBe(
      200,
    )
  })

  it.each([
    [{ status: 'asleep' }, 'status'],
    [{ metrics: [1] }, 'metrics'],
  ])('with the body %j is refused, naming %s', async (body, field) => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const response = await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key, body })
    expect(response.status).toBe(400)
    expect((response.body as { message: string }).message).toContain(field)
    const missing = await world.request('PUT', '/api/v1/devices/ghost/heartbeat', { key, body })
    expect(missing.status).toBe(404)
  })

  it('of hundreds of devices at once is answered for each of them by name', async () => {
    const world = openOrganization()
    const devices = await Promise.all(Array.from({ length: 300 }, (_, n) => world.register(`d${n}`)))
    await world.advance(30)
    const responses = await Promise.all(
      devices.map((device, n) =>
        world.request('PUT', `/api/v1/devices/${device.deviceId}/heartbeat`, {
          key: device.key,
          body: { status: n % 3 === 0 ? 'inactive' : 'active', metrics: { n } },
        }),
      ),
    )
    expect(responses.map(({ body }) => (body as { status: string }).status)).toEqual(
      devices.map((_, n) => (n % 3 === 0 ? 'inactive' : 'active')),
    )
    const one = await world.request('GET', '/api/v1/devices/d123', { key: devices[0]!.key })
    expect(one.body).toMatchObject({ metrics: { n: 123 }, last_heartbeat: world.now().toISOString() })
  })

  it('under token enrollment is accepted only for the device that owns the key', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey ?? ''
    const enrol = async (name: string) =>
      (await world.request('POST', '/api/v1/devices/register', { key: admin, body: { device_id: name } })).body as {
        api_key: string
      }
    const [mine] = [await enrol('mine'), await enrol('other')]
    const beat = (name: string, key: string) => world.request('PUT', `/api/v1/devices/${name}/heartbeat`, { key })
    expect((await beat('mine', mine.api_key)).status).toBe(200)
    expect((await beat('other', mine.api_key)).status).toBe(403)
    expect((await beat('nobody', mine.api_key)).status).toBe(404)
    expect((await beat('other', admin)).status).toBe(200)
  })

  it.each([
    ['without a body', undefined],
    ['with a body', { status: 'active' }],
  ])('that waits, %s, is answered as soon as a round awaits the device', async (_, body) => {
    const world = openOrganization()
    const { key } = await world.register('phone')
    const waiting = world.request('PUT', '/api/v1/devices/phone/heartbeat?wait_seconds=20', {
      key,
      ...(body !== undefined && { body }),
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    const started = await world.request('POST', '/api/v1/training/rounds/start', {
      key,
      body: { target_devices: 1, min_devices: 1 },
    })
    const { id } = started.body as { id: string }
    expect((await waiting).body).toMatchObject({ pending_round_id: id })
  })
})
