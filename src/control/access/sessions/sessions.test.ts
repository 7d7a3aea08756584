import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { organizations } from '../../../../test/organizations.ts'
import { startWorld, type TestResponse, type World } from '../../../../test/world.ts'

const DAY = 24 * 60 * 60

const nameOf = (world: World): string => `tributary_session_${new URL(world.baseUrl).port}`

const cookieIn = (response: TestResponse): string => response.headers.get('set-cookie')?.split(';')[0] ?? ''

/** A browser on a page of this origin, by default the service's own. */
const browser = (world: World, cookie = '', origin = world.baseUrl) => {
  const headers = { origin, ...(cookie && { cookie }), 'user-agent': 'Browser 1' }
  return (method: string, path: string, body?: unknown) =>
    world.request(method, path, { headers, ...(body !== undefined && { body }) })
}

const makeKey = async (world: World, fields: object): Promise<{ id: string; api_key: string }> => {
  const { body } = await world.request('POST', '/api/v1/keys', { key: world.service.firstAdminKey!, body: fields })
  return body as { id: string; api_key: string }
}

const TOKEN = { config: { enrollment: 'token' } } as const
const openShared = organizations(TOKEN)

/** Opens a browser that is signed in with a key of the organization acme. */
const signedIn = async (world = openShared()) => {
  const key = await makeKey(world, { name: 'mine', org_id: 'acme', scopes: ['devices:read', 'models:write', 'admin'] })
  const opened = await browser(world)('POST', '/api/v1/session', { api_key: ` ${key.api_key}\n` })
  return { world, key, opened, cookie: cookieIn(opened), page: browser(world, cookieIn(opened)) }
}

const anonymous = {
  signed_in: false,
  enrollment: 'token',
  version: expect.any(String),
  key_name: null,
  org_id: null,
  scopes: [],
  identity_provider: null,
  inference: false,
  person: null,
}

describe('a session', () => {
  it('stands for the key that opened it, in every route, and never contains the key', async () => {
    const { world, key, opened, page } = await signedIn()
    const session = {
      signed_in: true,
      enrollment: 'token',
      version: expect.any(String),
      key_name: 'mine',
      org_id: 'acme',
      scopes: ['devices:read', 'models:write', 'admin'],
      identity_provider: null,
      inference: false,
      person: null,
    }
    expect([opened.status, opened.body]).toEqual([201, session])
    const cookie = opened.headers.get('set-cookie')!
    expect(cookie).toMatch(
      new RegExp(`^${nameOf(world)}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${30 * DAY}$`),
    )
    expect(cookie).not.toContain(key.api_key)
    expect((await page('GET', '/api/v1/session')).body).toEqual(session)
    expect((await page('GET', '/api/v1/keys/self')).body).toMatchObject({ id: key.id, name: 'mine' })
    expect((await page('GET', '/api/v1/devices?org_id=acme')).status).toBe(200)
    expect((await page('GET', '/api/v1/training/rounds')).status).toBe(403)
    expect((await page('POST', '/api/v1/models', { name: 'm' })).body).toMatchObject({ org_id: 'acme' })
    expect((await page('GET', '/api/v1/orgs/other')).status).toBe(404)
  })

  it('ends when it is closed, and its cookie is then invalid', async () => {
    const { world, page } = await signedIn()
    const closed = await page('DELETE', '/api/v1/session')
    expect([closed.status, closed.headers.get('set-cookie')]).toEqual([
      204,
      `${nameOf(world)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`,
    ])
    expect((await page('GET', '/api/v1/session')).body).toEqual(anonymous)
    expect((await page('GET', '/api/v1/models')).body).toMatchObject({
      error: 'unauthorized',
      message: 'This session has ended. Sign in again.',
    })
  })

  it('ends as soon as its key is revoked', async () => {
    const { world, key, page } = await signedIn()
    await world.request('DELETE', `/api/v1/keys/${key.id}`, { key: world.service.firstAdminKey! })
    expect((await page('GET', '/api/v1/models')).status).toBe(401)
    expect((await page('GET', '/api/v1/session')).body).toEqual(anonymous)
  })

  it('lasts seven days after its last use, and thirty days after its beginning', async () => {
    const { world, page } = await signedIn(await startWorld(TOKEN))
    const works = async () => (await page('GET', '/api/v1/keys/self')).status === 200
    for (const _ of [1, 2, 3, 4, 5]) {
      await world.advance(6 * DAY - 60)
      expect(await works()).toBe(true)
    }
    await world.advance(5 * 60)
    expect(await works()).toBe(false)

    const idle = await signedIn(await startWorld(TOKEN))
    await idle.world.advance(7 * DAY)
    expect((await idle.page('GET', '/api/v1/keys/self')).status).toBe(401)
    await idle.world.service.runRetention()
    expect((await idle.world.database!.sql.selectFrom('sessions').select('id').execute()).length).toBe(0)
  })

  it('never reuses one that the browser sent, and signing in again ends the previous one', async () => {
    const { world, key, cookie } = await signedIn()
    const planted = `${nameOf(world)}=${'a'.repeat(43)}`
    const fresh = await browser(world, planted)('POST', '/api/v1/session', { api_key: key.api_key })
    expect(cookieIn(fresh)).not.toBe(planted)
    expect((await browser(world, planted)('GET', '/api/v1/keys/self')).status).toBe(401)

    const again = await browser(world, cookie)('POST', '/api/v1/session', { api_key: key.api_key })
    expect((await browser(world, cookie)('GET', '/api/v1/keys/self')).status).toBe(401)
    expect((await browser(world, cookieIn(again))('GET', '/api/v1/keys/self')).status).toBe(200)
  })

  it('cannot be opened with a device’s key, an unknown key, or no key', async () => {
    const { world } = await signedIn()
    const page = browser(world)
    const device = await world.request('POST', '/api/v1/devices/register', {
      key: world.service.firstAdminKey!,
      body: { device_id: 'd' },
    })
    const open = async (body: object) => (await page('POST', '/api/v1/session', body)).status
    expect([
      await open({ api_key: (device.body as { api_key: string }).api_key }),
      await open({ api_key: `sk_live_${'x'.repeat(32)}` }),
      await open({ api_key: 'x' }),
      await open({}),
    ]).toEqual([403, 401, 401, 403])
  })
})

describe('a request that another page sends with the session’s cookie', () => {
  it('is anonymous, wherever that page is from', async () => {
    const { world, cookie } = await signedIn()
    for (const origin of ['https://evil.example', 'http://localhost:1', 'http://127.0.0.1:1', 'null']) {
      const page = browser(world, cookie, origin)
      expect([origin, (await page('GET', '/api/v1/models')).status]).toEqual([origin, 401])
      expect((await page('POST', '/api/v1/models', {})).body).toMatchObject({
        error: 'unauthorized',
        message: 'A session is valid only for pages of this service. Send an API key: Authorization: Bearer <API key>.',
      })
      expect((await page('GET', '/api/v1/session')).body).toEqual(anonymous)
      expect((await page('DELETE', '/api/v1/session')).status).toBe(403)
      expect((await page('POST', '/api/v1/session', { api_key: 'x' })).status).toBe(403)
    }
  })

  it('is also refused with a Sec-Fetch-Site that is not same-origin', async () => {
    const { world, cookie } = await signedIn()
    for (const site of ['cross-site', 'same-site', 'none']) {
      const headers = { cookie, 'sec-fetch-site': site }
      expect([site, (await world.request('GET', '/api/v1/models', { headers })).status]).toEqual([site, 401])
    }
    const own = { cookie, 'sec-fetch-site': 'same-origin', origin: 'https://behind.a.proxy' }
    expect((await world.request('POST', '/api/v1/models', { headers: own, body: { name: 'other' } })).status).toBe(201)
  })

  it('is accepted without Origin and Sec-Fetch-Site only if it reads', async () => {
    const { world, cookie } = await signedIn()
    expect((await world.request('GET', '/api/v1/keys/self', { headers: { cookie } })).status).toBe(200)
    expect((await world.request('POST', '/api/v1/models', { headers: { cookie }, body: {} })).status).toBe(401)
  })
})

describe('sessions', () => {
  it('can be listed and ended only by an admin of their organization', async () => {
    const { world, key, page } = await signedIn(await startWorld(TOKEN))
    const other = await makeKey(world, { name: 'other', org_id: 'beta', scopes: ['admin'] })
    const listed = (await page('GET', '/api/v1/sessions')).body as { sessions: { id: string }[] }
    expect(listed).toEqual({
      sessions: [
        {
          id: expect.any(String),
          key_id: key.id,
          person_id: null,
          email: null,
          mfa: false,
          browser: 'Browser 1',
          created_at: '2026-01-01T00:00:00.000Z',
          last_used_at: '2026-01-01T00:00:00.000Z',
          expires_at: '2026-01-08T00:00:00.000Z',
          current: true,
        },
      ],
    })
    const path = `/api/v1/sessions/${listed.sessions[0]!.id}`
    const asOther = { key: other.api_key }
    expect((await world.request('GET', '/api/v1/sessions', asOther)).body).toEqual({ sessions: [] })
    expect((await world.request('DELETE', path, asOther)).status).toBe(404)
    expect((await world.request('DELETE', '/api/v1/sessions/x', asOther)).status).toBe(404)
    expect((await page('DELETE', path)).status).toBe(204)
    expect((await page('GET', '/api/v1/sessions')).status).toBe(401)
  })

  it('need no key under open enrollment, and become invalid once keys are required', async () => {
    const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
    const opened = await browser(world)('POST', '/api/v1/session', {})
    expect([opened.status, opened.body]).toEqual([
      201,
      {
        signed_in: true,
        enrollment: 'open',
        version: expect.any(String),
        key_name: null,
        org_id: null,
        scopes: expect.arrayContaining(['admin']),
        identity_provider: null,
        inference: false,
        person: null,
      },
    ])
    const value = cookieIn(opened).split('=')[1]
    const page = () => browser(world, `${nameOf(world)}=${value}`)
    expect((await page()('POST', '/api/v1/models', { name: 'm' })).status).toBe(201)
    expect((await page()('GET', '/api/v1/sessions')).body).toMatchObject({ sessions: [{ key_id: null }] })
    await world.restart({ enrollment: 'token' })
    expect((await page()('GET', '/api/v1/models')).status).toBe(401)
    expect(world.service.firstAdminKey).not.toBeNull()
  })

  it('of an https page have a cookie that only https carries and no other host can set', async () => {
    const world = await startWorld({ config: { publicUrl: 'https://fleet.example.org', enrollment: 'token' } })
    const page = browser(world, '', 'https://fleet.example.org')
    const opened = await page('POST', '/api/v1/session', { api_key: world.service.firstAdminKey })
    expect(opened.headers.get('set-cookie')).toMatch(/^__Host-tributary_session\S*=[\w-]{43}; Path=\/; .*; Secure$/)
    const again = browser(world, cookieIn(opened), 'https://fleet.example.org')
    expect((await again('GET', '/api/v1/keys/self')).status).toBe(200)
  })
})

describe('a link that signs in another browser', () => {
  const openLink = async (world: World, key: string): Promise<string> => {
    const made = await world.request('POST', '/api/v1/session/links', { key })
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store'])
    return (made.body as { path: string }).path.replace('/#sign-in=', '')
  }

  it('opens a session for the key that created it, once, within a minute, and only from a page of the service', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const { api_key: key } = await makeKey(world, { name: 'mine', org_id: 'acme', scopes: ['devices:read'] })
    const code = await openLink(world, key)
    const foreign = await world.request('POST', '/api/v1/session', {
      body: { code },
      headers: { origin: 'http://evil' },
    })
    expect(foreign.status).toBe(403)
    const page = browser(world)
    const opened = await page('POST', '/api/v1/session', { code })
    expect(opened).toMatchObject({ status: 201, body: { signed_in: true, key_name: 'mine', org_id: 'acme' } })
    expect((await browser(world)('POST', '/api/v1/session', { code })).status).toBe(401)
    const late = await openLink(world, key)
    await world.advance(60)
    expect((await browser(world)('POST', '/api/v1/session', { code: late })).status).toBe(401)
  })

  it('is invalid once its key is revoked, and cannot be exchanged for a key', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey!
    const { api_key: key } = await makeKey(world, { name: 'mine', org_id: 'acme', scopes: ['admin'] })
    const [code, other] = [await openLink(world, key), await openLink(world, key)]
    const exchanged = await world.request('POST', '/api/v1/login/token', {
      body: { code: other, code_verifier: 'x'.repeat(43) },
    })
    expect(exchanged.status).toBe(401)
    const { body } = await world.request('GET', '/api/v1/keys', { key: admin })
    const { id } = (body as { keys: { id: string; name: string }[] }).keys.find(({ name }) => name === 'mine')!
    expect((await world.request('DELETE', `/api/v1/keys/${id}`, { key: admin })).status).toBe(200)
    expect((await browser(world)('POST', '/api/v1/session', { code })).status).toBe(401)
  })

  it('cannot be created by a device, or if no key is needed', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const device = await world.request('POST', '/api/v1/devices/register', {
      key: world.service.firstAdminKey!,
      body: { device_id: 'd' },
    })
    const { api_key } = device.body as { api_key: string }
    expect((await world.request('POST', '/api/v1/session/links', { key: api_key })).status).toBe(403)
    const open = await startWorld()
    const { body } = await open.request('POST', '/api/v1/keys', {
      key: (await open.register('a')).key,
      body: { name: 'x', scopes: ['admin'] },
    })
    const made = (body as { api_key: string }).api_key
    expect((await open.request('POST', '/api/v1/session/links', { key: made })).status).toBe(409)
  })
})
