import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../../../test/databases.ts'
import { type RunningService, runService } from '../../../../test/e2e/service-process.ts'
import { organizations } from '../../../../test/organizations.ts'
import { startWorld, type World } from '../../../../test/world.ts'
import { readConfig } from '../../../config.ts'
import { composeKey } from '../../../domain/api-key.ts'
import { createControlPlane } from '../../app.ts'

const TOKEN = { config: { enrollment: 'token' } } as const
const openGuarded = organizations(TOKEN)

const guarded = (world = openGuarded()): { world: World; admin: string } => ({
  world,
  admin: world.service.firstAdminKey ?? '',
})

const make = async (world: World, key: string, body: object): Promise<{ id: string; api_key: string }> => {
  const response = await world.request('POST', '/api/v1/keys', { key, body })
  expect(response.status).toBe(201)
  return response.body as { id: string; api_key: string }
}

describe('keys', () => {
  it('are shown once, listed without their secrets, and stop working when revoked', async () => {
    const { world, admin } = guarded(await startWorld(TOKEN))
    const made = await make(world, admin, { name: 'ci', scopes: ['models:read'], expires_in_days: 30 })
    expect(made).toEqual({
      id: expect.any(String),
      name: 'ci',
      prefix: made.api_key.slice(0, 14),
      scopes: ['models:read'],
      org_id: null,
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-31T00:00:00.000Z',
      revoked_at: null,
      last_used_at: null,
      approved_by: null,
      kind: 'service',
      device_id: null,
      person_id: null,
      created_by: expect.any(String),
      replaces: null,
      replaced_by: null,
      exceeds_lifetime: false,
      api_key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{32}$/),
    })
    const models = () => world.request('GET', '/api/v1/models', { key: made.api_key })
    expect((await models()).status).toBe(200)
    const listed = await world.request('GET', '/api/v1/keys', { key: admin })
    expect(JSON.stringify(listed.body)).not.toContain(made.api_key)
    expect((listed.body as { keys: { name: string }[] }).keys.map((key) => key.name).sort()).toEqual([
      'ci',
      'first admin key',
    ])
    expect((await world.request('DELETE', `/api/v1/keys/${made.id}`, { key: admin })).status).toBe(200)
    expect(await models()).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
    expect((await world.request('DELETE', '/api/v1/keys/nothing', { key: admin })).status).toBe(404)
  })

  it('are not created with more access than was meant, because of another name for a limit', async () => {
    const { world, admin } = guarded()
    for (const [other, meant] of [
      ['expires_at', 'expires_in_days'],
      ['expires', 'expires_in_days'],
      ['expires_in', 'expires_in_days'],
      ['permissions', 'scopes'],
      ['organization', 'org_id'],
    ] as const) {
      const { status, body } = await world.request('POST', '/api/v1/keys', {
        key: admin,
        body: { name: 'k', [other]: '30d' },
      })
      const message = `unknown field \`${other}\`; did you mean \`${meant}\`?`
      expect([status, body]).toEqual([400, { error: 'bad_request', message, status_code: 400 }])
    }
  })

  it('of an organization that does not exist are created with a warning, in case its name is mistyped', async () => {
    const { world, admin } = guarded()
    const warned = async (path: string, body: object) =>
      (await world.request('POST', `/api/v1${path}`, { key: admin, body })).headers.get('x-service-warning')
    const unknown = "There is no organization 'acmme' yet: check the name, or create it with svc init."
    expect(await warned('/keys', { name: 'k', org_id: 'acmme' })).toBe(unknown)
    expect(await warned('/team', { email: 'x@acme.example', org_id: 'acmme' })).toBe(unknown)
    expect(await warned('/orgs', { name: 'acmme' })).toBeNull()
    expect(await warned('/keys', { name: 'k', org_id: 'acmme' })).toBeNull()
  })

  it('and invitations are not created if the response cannot show them', async () => {
    const { world, admin } = guarded(await startWorld(TOKEN))
    const db = world.database!.sql
    const count = async () => {
      const { rows } =
        await sql`select (select count(*) from keys) as keys, (select count(*) from invitations) as people`.execute(db)
      return rows
    }
    const before = await count()
    await sql`alter table orgs rename to orgs_elsewhere`.execute(db)
    const post = async (path: string, body: object) =>
      (await world.request('POST', `/api/v1${path}`, { key: admin, body })).status
    expect(await post('/keys', { name: 'k', org_id: 'acme' })).toBe(500)
    expect(await post('/team', { email: 'x@acme.example', org_id: 'acme' })).toBe(500)
    expect(await count()).toEqual(before)
    await sql`alter table orgs_elsewhere rename to orgs`.execute(db)
  })

  it('can describe themselves', async () => {
    const { world, admin } = guarded()
    const made = await make(world, admin, { name: 'ci', scopes: ['models:read'], org_id: 'acme' })
    const own = await world.request('GET', '/api/v1/keys/self', { key: made.api_key })
    expect(own).toMatchObject({ status: 200, body: { id: made.id, scopes: ['models:read'], org_id: 'acme' } })
  })

  it('expire', async () => {
    const { world, admin } = guarded()
    const { api_key } = await make(world, admin, { name: 'short', scopes: ['models:read'], expires_in_days: 1 })
    await world.advance(24 * 3600 - 1)
    expect((await world.request('GET', '/api/v1/models', { key: api_key })).status).toBe(200)
    await world.advance(1)
    expect((await world.request('GET', '/api/v1/models', { key: api_key })).status).toBe(401)
  })

  it('without the scope that a request needs get an error that names it', async () => {
    const { world, admin } = guarded()
    const all = ['devices:read', 'devices:write', 'models:read', 'models:write', 'training:read', 'training:write']
    for (const [scope, method, path] of [
      ['devices:read', 'GET', '/api/v1/status'],
      ['devices:read', 'GET', '/api/v1/devices?org_id=a'],
      ['models:read', 'GET', '/api/v1/models'],
      ['models:write', 'POST', '/api/v1/models'],
      ['training:read', 'GET', '/api/v1/training/rounds'],
      ['training:write', 'POST', '/api/v1/training/rounds/start'],
      ['admin', 'GET', '/api/v1/keys'],
    ] as const) {
      const others = await make(world, admin, { name: 'others', scopes: all.filter((other) => other !== scope) })
      const body = method === 'POST' ? { target_devices: 1, min_devices: 1 } : undefined
      const refused = await world.request(method, path, { key: others.api_key, body })
      expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden', status_code: 403 } })
      expect((refused.body as { message: string }).message).toContain(scope)
      if (scope === 'admin') continue
      const just = await make(world, admin, { name: 'just', scopes: [scope] })
      expect((await world.request(method, path, { key: just.api_key, body })).status).toBeLessThan(300)
    }
  })

  it('can be created only with scopes that their creator holds, and within its organization', async () => {
    const { world, admin } = guarded()
    const acme = await make(world, admin, { name: 'acme', scopes: ['admin', 'models:read'], org_id: 'acme' })
    const more = await world.request('POST', '/api/v1/keys', {
      key: acme.api_key,
      body: { name: 'more', scopes: ['models:write'] },
    })
    expect(more.status).toBe(403)
    const elsewhere = await world.request('POST', '/api/v1/keys', {
      key: acme.api_key,
      body: { name: 'elsewhere', scopes: ['models:read'], org_id: 'umbrella' },
    })
    expect(elsewhere.status).toBe(403)
    expect(await make(world, acme.api_key, { name: 'mine', scopes: ['models:read'] })).toMatchObject({ org_id: 'acme' })
  })

  it('that do not exist or are malformed are rejected with 401', async () => {
    const world = openGuarded()
    for (const key of ['', 'sk_live_short', `sk_live_${'x'.repeat(32)}`, 'Basic abc'])
      expect([key, (await world.request('GET', '/api/v1/status', { key })).status]).toEqual([key, 401])
  })

  it('cannot be guessed in bulk, and meanwhile one that is in use keeps working', async () => {
    const world = await startWorld({ config: { rateLimitPerMinute: 2 } })
    const { key } = await world.register('in-use')
    const { key: unused } = await world.register('not-in-use')
    const status = async (text: string) => (await world.request('GET', '/api/v1/status', { key: text })).status
    expect(await status(key)).toBe(200)
    const guesses = []
    for (let n = 0; n < 22; n++) guesses.push(await status(composeKey((count) => new Uint8Array(count).fill(n))))
    expect(guesses).toEqual([...Array(20).fill(401), 429, 429])
    // Longer than a key is cached.
    await world.advance(10)
    expect([await status(key), await status(unused)]).toEqual([200, 429])
    await world.advance(120)
    expect(await status(unused)).toBe(200)
  })

  it('are cached for seconds, also after the clock was set back', async () => {
    const world = await startWorld()
    const { key, deviceId } = await world.register('d')
    const status = async () => (await world.request('GET', '/api/v1/status', { key })).status
    expect(await status()).toBe(200)
    await world.advance(-3600)
    expect(await status()).toBe(200)
    // As another process would, whose notification is lost.
    await sql`update keys set revoked_at = ${world.now()} where name = ${deviceId}`.execute(world.database!.sql)
    await world.advance(10)
    expect(await status()).toBe(401)
  })

  it('of devices follow the current enrollment mode', async () => {
    const { world, admin } = guarded()
    const registered = await world.request('POST', '/api/v1/devices/register', { key: admin, body: { device_id: 'd' } })
    const { api_key } = registered.body as { api_key: string }
    expect((await world.request('GET', '/api/v1/training/rounds', { key: api_key })).status).toBe(200)
    expect((await world.request('GET', '/api/v1/models', { key: api_key })).status).toBe(200)
    expect((await world.request('POST', '/api/v1/models', { key: api_key, body: {} })).status).toBe(403)
    expect((await world.request('GET', '/api/v1/status', { key: api_key })).status).toBe(403)
  })
})

const startDurable = (enrollment: 'open' | 'token') =>
  startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded', config: { enrollment } })

/** Settings for processes one after the other. Opening the embedded database would be half of each. */
const databaseSettings = async () => ({ ...(hasPostgres() && { SERVICE_DATABASE_URL: await freshPostgresUrl() }) })

describe('the first admin key', () => {
  it('is created once, under token enrollment only', async () => {
    const world = await startDurable('token')
    expect(world.service.firstAdminKey).toMatch(/^sk_live_/)
    await world.restart()
    expect(world.service.firstAdminKey).toBeNull()
    const open = await startWorld()
    expect(open.service.firstAdminKey).toBeNull()
  })

  it('is created before the service reports that it is ready', async () => {
    const database = await databaseSettings()
    const settings = { SERVICE_ENROLLMENT: 'token', SERVICE_LOG_LEVEL: 'error' }
    const env = { ...settings, ...database, SERVICE_DATA_DIR: await emptyFolder() }
    const service = await createControlPlane(readConfig(env))
    onTestFinished(() => service.close())
    const ready = async () => (await service.app.inject('/ready')).statusCode
    expect(await ready()).toBe(503)
    expect(await service.createFirstAdminKey()).toMatch(/^sk_live_/)
    expect(await ready()).toBe(200)
  })

  it('is created by the first start that can listen', async () => {
    const dataDir = await emptyFolder()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const settings = { ...(await databaseSettings()), SERVICE_HOST: '127.0.0.1', SERVICE_ENROLLMENT: 'token' }
    const port = String((taken.address() as { port: number }).port)
    await expect(runService(dataDir, { ...settings, SERVICE_PORT: port })).rejects.toThrow(
      'The address is already in use',
    )
    const started = await runService(dataDir, settings)
    await expect.poll(started.output).toMatch(/^Admin key, shown this once: sk_live_\w+$/m)
  })

  it('is created at the first start after open enrollment, whose admin keys are counted in a warning', async () => {
    const [dataDir, settings] = [await emptyFolder(), await databaseSettings()]
    const code_verifier = 'v'.repeat(43)
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const open = await runService(dataDir, { ...settings, SERVICE_ENROLLMENT: 'open' })
    const post = async ({ baseUrl }: RunningService, path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${baseUrl}/api/v1/login/${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return (await response.json()) as Record<string, string>
    }
    const approve = async () => {
      const body = { code_challenge, redirect_uri: 'http://127.0.0.1:1/', state: 'x'.repeat(16) }
      return new URL((await post(open, 'authorize', body)).redirect_to!).searchParams.get('code')
    }
    const visitor = await post(open, 'token', { code: await approve(), code_verifier })
    expect(visitor).toMatchObject({ org_id: null, expires_at: null })
    const waiting = await approve()
    await open.terminate()
    const closed = await runService(dataDir, { ...settings, SERVICE_ENROLLMENT: 'token' })
    await expect.poll(closed.output).toMatch(/^Admin key, shown this once: sk_live_/m)
    await expect.poll(closed.output).toMatch(/"keys":1,.*admin keys from before token enrollment are valid/)
    expect(await post(closed, 'token', { code: waiting, code_verifier })).toMatchObject({
      status_code: 401,
      message: 'This sign-in was approved when the service required no keys. Start again with: svc login',
    })
    await closed.terminate()
    const again = await runService(dataDir, { ...settings, SERVICE_ENROLLMENT: 'token' })
    await expect.poll(again.output).toMatch(/admin keys from before token enrollment/)
    expect(again.output()).not.toContain('Admin key')
  })

  it('is created whatever names visitors gave to keys and organizations under open enrollment', async () => {
    const world = await startDurable('open')
    const { key } = await world.register('visitor')
    expect((await world.request('POST', '/api/v1/orgs', { key, body: { name: 'default' } })).status).toBe(201)
    await world.advance(1)
    const body = { name: 'first admin key', scopes: ['admin'] }
    expect((await world.request('POST', '/api/v1/keys', { key, body })).status).toBe(400)
    const made = await make(world, key, { name: 'other', scopes: ['admin'] })
    await world.advance(1)
    await world.restart({ enrollment: 'token' })
    expect(world.service.firstAdminKey).toMatch(/^sk_live_/)
    expect((await world.request('GET', '/api/v1/keys', { key: made.api_key })).status).toBe(200)
  })

  it('is created again when only bound or expired admin keys are left', async () => {
    const world = await startDurable('token')
    const first = world.service.firstAdminKey!
    const admin = { scopes: ['admin'], expires_in_days: 1 }
    await make(world, first, { name: 'bound', scopes: ['admin'], org_id: 'acme' })
    await make(world, first, { ...admin, name: 'short' })
    const own = (await world.request('GET', '/api/v1/keys/self', { key: first })).body as { id: string }
    expect((await world.request('DELETE', `/api/v1/keys/${own.id}`, { key: first })).status).toBe(200)
    await world.restart()
    expect(world.service.firstAdminKey).toBeNull()
    await world.advance(24 * 3600 + 1)
    await world.restart()
    expect(world.service.firstAdminKey).toMatch(/^sk_live_/)
  })
})
