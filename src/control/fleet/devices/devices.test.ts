import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { startWorld } from '../../../../test/world.ts'

const openOrganization = organizations()

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const at = '2026-01-01T00:00:00.000Z'

describe('registering a device', () => {
  it('returns the key, once, and the device can then be read', async () => {
    const world = await startWorld()
    const response = await world.request('POST', '/api/v1/devices/register', {
      body: { device_id: 'pixel-7', platform: 'android', capabilities: { cpu: 'tensor', memory_gb: 8, gpu: true } },
    })
    expect(response.status).toBe(201)
    expect(response.body).toEqual({
      id: uuid,
      device_id: 'pixel-7',
      api_key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{32}$/),
      platform: 'android',
      status: 'active',
      created_at: at,
    })
    const { id, api_key } = response.body as { id: string; api_key: string }
    expect((await world.request('GET', '/api/v1/devices/pixel-7', { key: api_key })).body).toEqual({
      id,
      device_id: 'pixel-7',
      org_id: null,
      platform: 'android',
      capabilities: { cpu: 'tensor', memory_gb: 8, gpu: true },
      trains: true,
      status: 'active',
      metrics: null,
      last_heartbeat: at,
      created_at: at,
      updated_at: at,
    })
  })

  it('refuses a device_id that exists, even if both requests arrive at once', async () => {
    const world = openOrganization()
    const attempts = await Promise.all(
      Array.from({ length: 20 }, () =>
        world.request('POST', '/api/v1/devices/register', { body: { device_id: 'twin' } }),
      ),
    )
    expect(attempts.map((response) => response.status).sort()).toEqual([201, ...Array(19).fill(409)])
    expect(attempts.find((response) => response.status === 409)?.body).toEqual({
      error: 'conflict',
      message:
        "A device with device_id 'twin' is already registered. Use its key, choose another device_id, or erase the device first (svc devices erase).",
      status_code: 409,
    })
  })

  it('is refused with invalid fields, naming them', async () => {
    const world = openOrganization()
    const refused: [body: object, field: string][] = [
      [{}, 'device_id'],
      [{ device_id: '' }, 'device_id'],
      [{ device_id: 'x'.repeat(256) }, 'device_id'],
      [{ device_id: 7 }, 'device_id'],
      [{ device_id: '.' }, 'device_id'],
      [{ device_id: '..' }, "without control characters, but not '.' or '..', got '..'"],
      [{ device_id: 'a\nb' }, 'device_id must be one line of 1 to 255 characters'],
      [{ device_id: 'a', platform: 'toaster' }, 'platform'],
      [{ device_id: 'a', capabilities: 'fast' }, 'capabilities'],
    ]
    for (const [body, field] of refused) {
      const { status, body: response } = await world.request('POST', '/api/v1/devices/register', { body })
      const message = expect.stringContaining(field)
      expect([body, status, response]).toMatchObject([body, 400, { error: 'bad_request', status_code: 400, message }])
    }
  })

  it('accepts ids of 255 characters and in any script, also in paths', async () => {
    const world = openOrganization()
    for (const deviceId of ['x'.repeat(255), 'gerät 1/2 ?&#%', '设备']) {
      const { key } = await world.register(deviceId)
      const found = await world.request('GET', `/api/v1/devices/${encodeURIComponent(deviceId)}`, { key })
      expect(found).toMatchObject({ status: 200, body: { device_id: deviceId } })
    }
  })
})

describe('listing devices', () => {
  it('pages through them oldest first, with the right total', async () => {
    const world = await startWorld()
    const { key } = await world.register('d0')
    for (let n = 1; n < 5; n++) await world.register(`d${n}`, { platform: n % 2 ? 'ios' : 'linux' })
    const page = await world.request('GET', '/api/v1/devices?org_id=acme&limit=2&offset=1', { key })
    expect(page.body).toMatchObject({ total: 5, limit: 2, offset: 1 })
    const { devices } = page.body as { devices: { device_identifier: string }[] }
    expect(devices).toHaveLength(2)
    expect(devices[0]).toEqual({
      id: uuid,
      device_identifier: expect.stringMatching(/^d\d$/),
      org_id: 'acme',
      platform: expect.any(String),
      status: 'active',
      last_seen_at: at,
    })
    const ios = await world.request('GET', '/api/v1/devices?org_id=acme&platform=ios', { key })
    expect(ios.body).toMatchObject({ total: 2, limit: 100, offset: 0 })
  })

  it('distinguishes active devices from silent and inactive ones', async () => {
    const world = await startWorld()
    const watcher = await world.register('watcher')
    await world.register('silent')
    const sleeper = await world.register('sleeper')
    await world.request('PUT', '/api/v1/devices/sleeper/heartbeat', { key: sleeper.key, body: { status: 'inactive' } })
    const names = async (status: string) => {
      const { body } = await world.request('GET', `/api/v1/devices?org_id=x&status=${status}`, { key: watcher.key })
      const list = body as { devices: { device_identifier: string }[]; total: number }
      expect(list.total).toBe(list.devices.length)
      return list.devices.map((device) => device.device_identifier).sort()
    }
    expect(await names('active')).toEqual(['silent', 'watcher'])
    expect(await names('inactive')).toEqual(['sleeper'])
    await world.advance(301)
    await world.request('PUT', '/api/v1/devices/watcher/heartbeat', { key: watcher.key })
    expect(await names('active')).toEqual(['watcher'])
    expect(await names('inactive')).toEqual(['silent', 'sleeper'])
  })

  it('caches counts of matches in a large fleet for ten seconds, and does not cache those in a small one', async () => {
    const world = await startWorld()
    const { sql: db } = world.database!
    const write = (from: number, to: number) =>
      sql`
      insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
      select gen_random_uuid(), 'device-' || n, 'acme', 'linux', '{}', 'active', ${at}, ${at}, ${at}
      from generate_series(${from}::int, ${to}::int) n`.execute(db)
    const { key } = await world.register('watcher')
    const active = async (orgId: string): Promise<number> => {
      const path = `/api/v1/devices?status=active&limit=1&org_id=${orgId}`
      // Without the watcher, which has no organization.
      return ((await world.request('GET', path, { key })).body as { total: number }).total - 1
    }
    await write(1, 100)
    expect(await active('acme')).toBe(100)
    await write(101, 50_000)
    expect(await active('acme')).toBe(50_000)
    await write(50_001, 50_003)
    expect(await active('acme')).toBe(50_000)
    expect(await active('other')).toBe(0)
    // After ten seconds, a new count is made while the previous one is returned.
    await world.advance(11)
    expect(await active('acme')).toBe(50_000)
    await expect.poll(() => active('acme')).toBe(50_003)
    await write(50_004, 50_004)
    await world.advance(-3600)
    expect(await active('acme')).toBe(50_003)
    await world.advance(11)
    await expect.poll(() => active('acme')).toBe(50_004)
  })

  it('refuses invalid queries, naming the parameter', async () => {
    const world = openOrganization()
    const { key } = await world.register('d')
    const refused: [query: string, field: string][] = [
      ['', 'org_id'],
      ['?org_id=a&limit=0', 'limit'],
      ['?org_id=a&limit=1001', 'limit'],
      ['?org_id=a&offset=-1', 'offset'],
      ['?org_id=a&limit=ten', 'limit'],
      ['?org_id=a&status=asleep', 'status'],
      ['?org_id=a&platform=toaster', 'platform'],
    ]
    for (const [query, field] of refused) {
      const { status, body } = await world.request('GET', `/api/v1/devices${query}`, { key })
      expect([query, status, body]).toMatchObject([query, 400, { message: expect.stringContaining(field) }])
    }
  })
})

describe('organizations', () => {
  it('are invisible to each other under token enrollment', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey ?? ''
    const keyFor = async (org: string): Promise<string> => {
      const made = await world.request('POST', '/api/v1/keys', { key: admin, body: { name: org, org_id: org } })
      return (made.body as { api_key: string }).api_key
    }
    const [acme, umbrella] = [await keyFor('acme'), await keyFor('umbrella')]
    const registered = await world.request('POST', '/api/v1/devices/register', {
      key: acme,
      body: { device_id: 'robot' },
    })
    expect(registered.status).toBe(201)
    const seenBy = async (key: string, org: string) =>
      ((await world.request('GET', `/api/v1/devices?org_id=${org}`, { key })).body as { total: number }).total
    expect(await seenBy(acme, 'acme')).toBe(1)
    expect(await seenBy(umbrella, 'umbrella')).toBe(0)
    expect(await seenBy(umbrella, 'acme')).toBe(0)
    expect((await world.request('GET', '/api/v1/devices/robot', { key: umbrella })).status).toBe(404)
    const robot = (registered.body as { api_key: string }).api_key
    expect((await world.request('GET', '/api/v1/devices/robot', { key: robot })).status).toBe(403)
  })

  it('admit devices only with a key that has devices:write', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const body = { device_id: 'stranger' }
    expect((await world.request('POST', '/api/v1/devices/register', { body })).status).toBe(401)
    const made = await world.request('POST', '/api/v1/keys', {
      key: world.service.firstAdminKey ?? '',
      body: { name: 'reader', scopes: ['devices:read'] },
    })
    const reader = (made.body as { api_key: string }).api_key
    const refused = await world.request('POST', '/api/v1/devices/register', { key: reader, body })
    expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden', status_code: 403 } })
    expect((refused.body as { message: string }).message).toContain('devices:write')
  })
})
