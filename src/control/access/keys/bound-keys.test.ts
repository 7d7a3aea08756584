import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { organizations } from '../../../../test/organizations.ts'
import { startWorld, type World } from '../../../../test/world.ts'

interface Registered {
  readonly id: string
  readonly api_key: string
}

const openShared = organizations({ config: { enrollment: 'token' } })

const shared = (): { world: World; admin: string } => {
  const world = openShared()
  return { world, admin: world.service.firstAdminKey ?? '' }
}

const guarded = async (config = {}): Promise<{ world: World; admin: string }> => {
  const world = await startWorld({ config: { enrollment: 'token', ...config } })
  return { world, admin: world.service.firstAdminKey ?? '' }
}

const make = async (
  world: World,
  key: string,
  body: object,
): Promise<{ id: string; api_key: string; expires_at: string }> =>
  (await world.request('POST', '/api/v1/keys', { key, body: { name: 'k', ...body } })).body as never

const register = async (world: World, key: string | undefined, body: object): Promise<Registered> =>
  (await world.request('POST', '/api/v1/devices/register', { key, body })).body as Registered

const verifier = randomBytes(32).toString('base64url')
const requested = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  redirect_uri: 'http://127.0.0.1:49152/callback',
  state: randomBytes(16).toString('base64url'),
}
const approve = (world: World, key?: string) =>
  world.request('POST', '/api/v1/login/authorize', { key, body: requested })
const codeOf = ({ body }: { body: unknown }) =>
  new URL((body as { redirect_to: string }).redirect_to).searchParams.get('code')
const exchange = (world: World, code: string | null) =>
  world.request('POST', '/api/v1/login/token', { body: { code, code_verifier: verifier } })
const login = async (world: World, key?: string): Promise<string> =>
  ((await exchange(world, codeOf(await approve(world, key)))).body as { api_key: string }).api_key
const self = async (world: World, key: string) => (await world.request('GET', '/api/v1/keys/self', { key })).body
const statusOf = async (world: World, key: string) => (await world.request('GET', '/api/v1/keys/self', { key })).status

describe('a device key under token enrollment', () => {
  it('belongs to the default organization if the key that registered it belongs to none', async () => {
    const { world, admin } = await guarded()
    const orphan = await register(world, admin, { device_id: 'orphan' })
    expect(await world.request('GET', '/api/v1/orgs/default', { key: admin })).toMatchObject({ status: 200 })
    expect(await self(world, orphan.api_key)).toMatchObject({ org_id: 'default' })
    const listed = await world.request('GET', '/api/v1/devices?org_id=default', { key: admin })
    expect(listed.body).toMatchObject({ total: 1, devices: [{ device_identifier: 'orphan', org_id: 'default' }] })
  })

  it('sees no data of other organizations', async () => {
    const { world, admin } = await guarded()
    const orphan = await register(world, admin, { device_id: 'orphan' })
    const acme = await make(world, admin, { org_id: 'acme' })
    await world.request('POST', '/api/v1/models', { key: acme.api_key, body: { name: 'secret', framework: 'pytorch' } })
    await register(world, acme.api_key, { device_id: 'theirs' })
    const round = await world.request('POST', '/api/v1/training/rounds/start', {
      key: acme.api_key,
      body: { target_devices: 1, min_devices: 1 },
    })
    expect(round.status).toBe(201)
    const { id } = round.body as { id: string }
    const seen = async (path: string) => await world.request('GET', path, { key: orphan.api_key })
    expect((await seen('/api/v1/models')).body).toMatchObject({ total: 0 })
    expect((await seen('/api/v1/models/secret')).status).toBe(404)
    expect((await seen('/api/v1/training/rounds')).body).toMatchObject({ total: 0 })
    expect((await seen(`/api/v1/training/rounds/${id}`)).status).toBe(404)
  })

  it('gets the rounds, models, and deployments of the key that registered it', async () => {
    const { world, admin } = await guarded()
    const phone = await register(world, admin, { device_id: 'phone' })
    const model = await world.request('POST', '/api/v1/models', {
      key: admin,
      body: { name: 'm', framework: 'pytorch' },
    })
    expect(model.body).toMatchObject({ org_id: 'default' })
    const round = await world.request('POST', '/api/v1/training/rounds/start', {
      key: admin,
      body: { target_devices: 1, min_devices: 1 },
    })
    const beat = await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key: phone.api_key, body: {} })
    expect(beat.body).toMatchObject({ pending_round_id: (round.body as { id: string }).id })
    expect((await world.request('GET', '/api/v1/models/m', { key: phone.api_key })).status).toBe(200)
  })

  it('is bound when its phone is paired with a code from a key without an organization', async () => {
    const { world, admin } = await guarded()
    const pairing = await world.request('POST', '/api/v1/pairings', { key: admin, body: {} })
    expect(pairing.body).toMatchObject({ org_id: 'default' })
    const claimed = await world.request('POST', '/api/v1/pairings/claim', {
      body: { code: (pairing.body as { code: string }).code, device_id: 'phone' },
    })
    expect(await self(world, (claimed.body as { api_key: string }).api_key)).toMatchObject({ org_id: 'default' })
  })
})

describe('data without an organization', () => {
  it('belongs to the default organization once enrollment is by token', async () => {
    const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
    const phone = await register(world, undefined, { device_id: 'phone' })
    await register(world, undefined, { device_id: 'bound', org_id: 'acme' })
    await world.request('POST', '/api/v1/models', { key: phone.api_key, body: { name: 'm', framework: 'pytorch' } })
    const round = await world.request('POST', '/api/v1/training/rounds/start', {
      key: phone.api_key,
      body: { target_devices: 1, min_devices: 1 },
    })
    await world.restart({ enrollment: 'token' })
    const ask = async (path: string) => await world.request('GET', path, { key: phone.api_key })
    expect((await ask('/api/v1/models/m')).body).toMatchObject({ org_id: 'default' })
    expect((await ask('/api/v1/training/rounds')).body).toMatchObject({ total: 1 })
    const beat = await world.request('PUT', '/api/v1/devices/phone/heartbeat', { key: phone.api_key, body: {} })
    expect(beat.body).toMatchObject({ pending_round_id: (round.body as { id: string }).id })
    const admin = world.service.firstAdminKey ?? ''
    const devices = async (org: string) =>
      (await world.request('GET', `/api/v1/devices?org_id=${org}`, { key: admin })).body
    expect(await devices('default')).toMatchObject({ total: 1, devices: [{ device_identifier: 'phone' }] })
    expect(await devices('acme')).toMatchObject({ total: 1, devices: [{ device_identifier: 'bound' }] })
    await world.restart()
    expect(await devices('default')).toMatchObject({ total: 1 })
  })
})

describe('a key created by another key', () => {
  it('does not outlive its creator, and the response warns about a shortened lifetime', async () => {
    const { world, admin } = shared()
    const maker = await make(world, admin, { scopes: ['admin', 'models:read'], expires_in_days: 1 })
    const responses = []
    for (const expires_in_days of [undefined, 30, 1]) {
      const made = await world.request('POST', '/api/v1/keys', {
        key: maker.api_key,
        body: { name: 'child', scopes: ['models:read'], ...(expires_in_days && { expires_in_days }) },
      })
      const { expires_at } = made.body as { expires_at: string }
      responses.push([made.status, expires_at, made.headers.get('x-service-warning') !== null])
    }
    const end = maker.expires_at
    expect(responses).toEqual([
      [201, end, true],
      [201, end, true],
      [201, end, false],
    ])
  })
})

describe('a key from a login', () => {
  it('expires with the key that approved it', async () => {
    const { world, admin } = shared()
    const maker = await make(world, admin, { scopes: ['models:read'], expires_in_days: 1 })
    const child = await login(world, maker.api_key)
    expect(await self(world, child)).toMatchObject({ expires_at: maker.expires_at, approved_by: maker.id })
    await world.advance(24 * 3600)
    expect(await statusOf(world, child)).toBe(401)
  })

  it('is revoked with the key that approved it, along with the keys that it approved itself', async () => {
    const { world, admin } = shared()
    const maker = await make(world, admin, { scopes: ['models:read'] })
    const other = await make(world, admin, { scopes: ['models:read'] })
    const child = await login(world, maker.api_key)
    const grandchild = await login(world, child)
    const pending = codeOf(await approve(world, child))
    const unrelated = await login(world, other.api_key)
    for (const key of [child, grandchild, unrelated]) expect(await statusOf(world, key)).toBe(200)
    await world.request('DELETE', `/api/v1/keys/${maker.id}`, { key: admin })
    expect([await statusOf(world, child), await statusOf(world, grandchild)]).toEqual([401, 401])
    expect((await exchange(world, pending)).status).toBe(401)
    expect(await statusOf(world, unrelated)).toBe(200)
  })

  it('counts against the rate limit of the key that approved it', async () => {
    const { world, admin } = await guarded({ rateLimitPerMinute: 5 })
    const maker = await make(world, admin, { scopes: ['models:read'] })
    const child = await login(world, maker.api_key)
    const grandchild = await login(world, child)
    const responses = []
    for (const key of [maker.api_key, child, grandchild, child, maker.api_key, grandchild, child]) {
      responses.push(await statusOf(world, key))
    }
    expect(responses).toEqual([200, 200, 200, 200, 200, 429, 429])
  })

  it.each(['open', 'token'] as const)('cannot be approved by a device, under %s enrollment', async (enrollment) => {
    const world = await startWorld({ config: { enrollment } })
    const device = await register(world, world.service.firstAdminKey ?? undefined, { device_id: 'd' })
    expect(await approve(world, device.api_key)).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  })
})

describe('keys of devices', () => {
  it('are listed and revoked by admins of their organization', async () => {
    const { world, admin } = await guarded()
    const [acme, beta] = [
      await make(world, admin, { org_id: 'acme', scopes: ['admin', 'devices:write'] }),
      await make(world, admin, { org_id: 'beta', scopes: ['admin', 'devices:write'] }),
    ]
    const device = await register(world, acme.api_key, { device_id: 'pump' })
    const listed = async (key: string) =>
      (await world.request('GET', '/api/v1/keys?devices=true', { key })).body as { keys: { id: string }[] }
    const { keys } = await listed(acme.api_key)
    expect(keys).toMatchObject([{ name: 'pump', device_id: 'pump', org_id: 'acme', revoked_at: null }])
    expect(await listed(beta.api_key)).toEqual({ keys: [] })
    expect(await listed(admin)).toEqual({ keys })
    const path = `/api/v1/keys/${keys[0]?.id}`
    expect((await world.request('DELETE', path, { key: beta.api_key })).status).toBe(404)
    expect(await statusOf(world, device.api_key)).toBe(200)
    expect((await world.request('DELETE', path, { key: acme.api_key })).status).toBe(200)
    expect(await statusOf(world, device.api_key)).toBe(401)
  })
})

describe('metrics and documentation', () => {
  it('need a key under token enrollment', async () => {
    const { world, admin } = shared()
    const scraper = await make(world, admin, { scopes: ['metrics:read'] })
    const reader = await make(world, admin, { scopes: ['models:read'] })
    const statuses = async (path: string) => {
      const keys = [undefined, reader.api_key, scraper.api_key, admin]
      return Promise.all(keys.map(async (key) => (await world.request('GET', path, { key })).status))
    }
    expect(await statuses('/metrics')).toEqual([401, 403, 200, 200])
    for (const path of ['/openapi.json', '/docs']) {
      expect([path, await statuses(path)]).toEqual([path, [401, 200, 200, 200]])
    }
    for (const path of ['/api/v1/health', '/ready', '/login']) {
      expect([path, (await world.request('GET', path)).status]).toEqual([path, 200])
    }
  })

  it('need none under open enrollment', async () => {
    const world = await startWorld()
    for (const path of ['/metrics', '/docs', '/openapi.json']) {
      expect([path, (await world.request('GET', path)).status]).toEqual([path, 200])
    }
  })
})
