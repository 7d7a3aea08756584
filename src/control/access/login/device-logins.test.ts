import { expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'

interface Started {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

const post = (world: World, path: string, body: unknown, key?: string, headers: Record<string, string> = {}) =>
  world.request('POST', `/api/v1/login/device${path}`, { key, body, headers })

const begin = async (world: World, client_name = 'svc on build-7'): Promise<Started> => {
  const { status, body } = await post(world, '', { client_name })
  expect(status).toBe(201)
  return body as Started
}

const poll = async (world: World, { device_code }: Started) => {
  const { status, body } = await post(world, '/token', { device_code })
  return { status, ...(body as { error?: string; api_key?: string; org_id?: string | null }) }
}

const guarded = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const admin = world.service.firstAdminKey!
  const make = async (body: object): Promise<{ id: string; api_key: string }> =>
    (await world.request('POST', '/api/v1/keys', { key: admin, body })).body as { id: string; api_key: string }
  return { world, admin, make }
}

const decide = (world: World, user_code: string, approve: boolean, key?: string, headers = {}) =>
  post(world, '/decision', { user_code, approve }, key, headers)

it('signs in a program once its code is approved, with what the approver holds, and only once', async () => {
  const { world, admin, make } = await guarded()
  const approver = await make({ name: 'reader', scopes: ['models:read'], org_id: 'acme', expires_in_days: 9 })
  const started = await begin(world)
  expect(started).toEqual({
    device_code: expect.stringMatching(/^[\w-]{43}$/),
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: `${world.baseUrl}/login/device`,
    verification_uri_complete: `${world.baseUrl}/login/device?user_code=${started.user_code}`,
    expires_in: 600,
    interval: 5,
  })
  expect(await poll(world, started)).toMatchObject({ status: 400, error: 'authorization_pending' })
  // Polling too early lengthens the interval.
  expect(await poll(world, started)).toMatchObject({ status: 400, error: 'slow_down' })
  await world.advance(5)
  expect(await poll(world, started)).toMatchObject({ status: 400, error: 'slow_down' })
  await world.advance(15)
  expect(await poll(world, started)).toMatchObject({ status: 400, error: 'authorization_pending' })

  const typed = started.user_code.toLowerCase().replace('-', ' ')
  const shown = await post(world, '/request', { user_code: typed }, approver.api_key)
  expect(shown).toMatchObject({
    status: 200,
    body: {
      client_name: 'svc on build-7',
      address: '127.0.0.1',
      created_at: '2026-01-01T00:00:00.000Z',
      decision: null,
    },
  })
  const both = await Promise.all([1, 2].map(() => decide(world, typed, true, approver.api_key)))
  expect(both.map(({ status }) => status).sort()).toEqual([200, 404])

  const [one, two] = await Promise.all([poll(world, started), poll(world, started)])
  expect([one!.status, two!.status].sort()).toEqual([200, 400])
  const key = (one!.api_key ?? two!.api_key)!
  expect(await world.request('GET', '/api/v1/keys/self', { key })).toMatchObject({
    body: {
      name: 'svc on build-7 2026-01-01',
      scopes: ['models:read'],
      org_id: 'acme',
      approved_by: approver.id,
      expires_at: '2026-01-10T00:00:00.000Z',
    },
  })
  expect(await poll(world, started)).toMatchObject({ status: 400, error: 'expired_token' })
  await world.request('DELETE', `/api/v1/keys/${approver.id}`, { key: approver.api_key })
  expect((await world.request('GET', '/api/v1/keys/self', { key })).status).toBe(401)

  const log = async () => JSON.stringify((await world.request('GET', '/api/v1/audit?org_id=acme', { key: admin })).body)
  expect(await log()).toContain('"svc on build-7"')
  await world.request('DELETE', `/api/v1/audit/names/key/${approver.id}?org_id=acme`, { key: admin })
  expect(await log()).not.toContain('"svc on build-7"')
})

it('tells the program that it was denied, that its code expired, or that the approver is no longer valid', async () => {
  const { world, admin, make } = await guarded()
  const denied = await begin(world)
  expect((await decide(world, denied.user_code, false, admin)).status).toBe(200)
  expect((await decide(world, denied.user_code, true, admin)).status).toBe(404)
  expect(await poll(world, denied)).toMatchObject({ status: 400, error: 'access_denied' })
  expect(await poll(world, denied)).toMatchObject({ status: 400, error: 'expired_token' })

  const late = await begin(world)
  await world.advance(600)
  expect((await decide(world, late.user_code, true, admin)).status).toBe(404)
  expect(await poll(world, late)).toMatchObject({ status: 400, error: 'expired_token' })

  const orphan = await begin(world)
  const approver = await make({ name: 'gone', scopes: ['models:read'] })
  await decide(world, orphan.user_code, true, approver.api_key)
  await world.request('DELETE', `/api/v1/keys/${approver.id}`, { key: admin })
  expect(await poll(world, orphan)).toMatchObject({ status: 401, error: 'unauthorized' })
})

it('limits the guessing of codes, by address and by caller', async () => {
  const { world, admin } = await guarded()
  const started = await begin(world)
  const guess = (i: number) => decide(world, `BCDF-GH${'BCDFGHJKLM'[i]}X`, true, admin)
  for (let i = 0; i < 10; i++) expect((await guess(i)).status).toBe(404)
  expect(await guess(0)).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
  // Even the right code has to wait.
  expect((await decide(world, started.user_code, true, admin)).status).toBe(429)
  expect(await poll(world, started)).toMatchObject({ error: 'authorization_pending' })
  // A right code takes back its own attempt, but not the guesses before it.
  await world.advance(120)
  expect((await decide(world, started.user_code, true, admin)).status).toBe(200)
  expect((await guess(1)).status).toBe(429)
  await world.advance(60 * 60)
  for (const user_code of ['AEIO-UAEI', '1234-5678', 'BCDFGHJ\u0000', '😀😀😀😀']) {
    expect((await decide(world, user_code, true, admin)).status).toBe(400)
  }
})

it('can be approved only by a caller that is signed in, on a page of this service', async () => {
  const { world, admin } = await guarded()
  const started = await begin(world)
  const device = await world.request('POST', '/api/v1/devices/register', { key: admin, body: { device_id: 'phone' } })
  const own = (device.body as { api_key: string }).api_key
  expect((await decide(world, started.user_code, true, undefined)).status).toBe(403)
  expect((await decide(world, started.user_code, true, undefined, { 'sec-fetch-site': 'same-origin' })).status).toBe(
    401,
  )
  expect((await decide(world, started.user_code, true, own)).status).toBe(403)

  const opened = await world.request('POST', '/api/v1/session', {
    body: { api_key: admin },
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  const cookie = opened.headers.get('set-cookie')!.split(';')[0]!
  for (const site of ['cross-site', 'same-site', 'none']) {
    const headers = { cookie, 'sec-fetch-site': site }
    expect((await decide(world, started.user_code, true, undefined, headers)).status).toBe(403)
  }
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  expect((await decide(world, started.user_code, true, undefined, headers)).status).toBe(200)
  expect(await poll(world, started)).toMatchObject({ status: 200, org_id: null })
})

it('limits how many sign-ins wait, and what a program may call itself', async () => {
  const { world } = await guarded()
  for (const client_name of ['', 'x'.repeat(101), 'svc\u202egnp', 'two\nlines', '<b>ü</b>']) {
    expect((await post(world, '', { client_name })).status).toBe(400)
  }
  for (let i = 0; i < 20; i++) await begin(world)
  expect(await post(world, '', { client_name: 'svc' })).toMatchObject({ status: 429 })
  await world.advance(600)
  await begin(world)
})
