import { expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { startWorld, type World } from '../../../../test/world.ts'
import { approveLogin, joinWithKey, keyOfPerson } from '../login/logins.fixture.ts'
import { openBrowser } from '../sign-in/people.fixture.ts'

const DAY = 24 * 60 * 60

interface Made {
  readonly id: string
  readonly api_key: string
  readonly expires_at: string | null
  readonly replaces: string | null
  readonly org_id: string | null
  readonly scopes: readonly string[]
}

const TOKEN = { config: { enrollment: 'token' } } as const
const openShared = organizations(TOKEN)

const start = (world: World) => {
  const admin = world.service.firstAdminKey!
  const make = async (body: object, key = admin): Promise<Made> => {
    const response = await world.request('POST', '/api/v1/keys', { key, body })
    expect(response.status).toBe(201)
    return response.body as Made
  }
  const rotate = async (key: string, id: string, body?: object) => {
    const response = await world.request('POST', `/api/v1/keys/${id}/rotate`, { key, ...(body && { body }) })
    return { ...response, body: response.body as Made & { message: string } }
  }
  const works = async (key: string): Promise<boolean> =>
    (await world.request('GET', '/api/v1/keys/self', { key })).status === 200
  return { world, admin, make, rotate, works }
}

const listed = async (world: World, key: string, query = ''): Promise<Record<string, unknown>[]> => {
  const { status, body } = await world.request('GET', `/api/v1/keys${query}`, { key })
  expect(status).toBe(200)
  return (body as { keys: Record<string, unknown>[] }).keys
}

it('creates a key with the same name, scopes, organization, and lifetime; the old one ends after the overlap', async () => {
  const { world, admin, make, rotate, works } = start(await startWorld(TOKEN))
  const old = await make({ name: 'ci', scopes: ['models:read'], org_id: 'acme', expires_in_days: 30 })
  await world.advance(20 * DAY)
  const made = await rotate(admin, old.id)
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    name: 'ci',
    kind: 'service',
    scopes: ['models:read'],
    org_id: 'acme',
    expires_at: '2026-02-20T00:00:00.000Z',
    replaces: old.id,
    replaced_by: null,
  })
  const before = (await listed(world, admin)).find(({ id }) => id === old.id)
  expect(before).toMatchObject({ id: old.id, replaced_by: made.body.id, expires_at: '2026-01-22T00:00:00.000Z' })
  expect(await rotate(admin, old.id)).toMatchObject({ status: 409 })
  await world.advance(DAY - 1)
  expect([await works(old.api_key), await works(made.body.api_key)]).toEqual([true, true])
  await world.advance(1)
  expect([await works(old.api_key), await works(made.body.api_key)]).toEqual([false, true])
  const atOnce = await rotate(admin, made.body.id, { overlap_hours: 0 })
  expect(atOnce.status).toBe(201)
  expect([await works(made.body.api_key), await works(atOnce.body.api_key)]).toEqual([false, true])
  for (const overlap_hours of [-1, 721, 0.5, 1e300, '24', null]) {
    expect(await rotate(admin, atOnce.body.id, { overlap_hours })).toMatchObject({ status: 400 })
  }
})

it('grants no more scopes, organizations, or lifetime than before', async () => {
  const { world, admin, make, rotate, works } = start(await startWorld(TOKEN))
  const strong = await make({ name: 'strong', scopes: ['models:write'], org_id: 'acme' })
  const narrow = await make({ name: 'narrow', scopes: ['admin'], org_id: 'acme' })
  const brief = await make({ name: 'brief', scopes: ['admin', 'models:write'], org_id: 'acme', expires_in_days: 2 })
  const other = await make({ name: 'other', scopes: ['admin', 'models:write'], org_id: 'umbrella' })
  const reader = await make({ name: 'reader', scopes: ['models:read'], org_id: 'acme', expires_in_days: 2 })
  expect(await rotate(narrow.api_key, strong.id)).toMatchObject({ status: 403 })
  expect(await rotate(other.api_key, strong.id)).toMatchObject({ status: 404 })
  expect(await rotate(reader.api_key, strong.id)).toMatchObject({ status: 403 })
  expect(await rotate(reader.api_key, 'no-id')).toMatchObject({ status: 403 })
  expect((await rotate(brief.api_key, strong.id)).body).toMatchObject({ expires_at: '2026-01-03T00:00:00.000Z' })
  await world.advance(DAY)
  // A key can rotate itself, which does not postpone its end.
  const own = await rotate(reader.api_key, reader.id)
  expect(own).toMatchObject({ status: 201, body: { scopes: ['models:read'], expires_at: '2026-01-03T00:00:00.000Z' } })
  // Concurrent rotations of one key succeed only once.
  const twice = await make({ name: 'twice', scopes: ['models:read'] })
  const responses = await Promise.all([rotate(admin, twice.id), rotate(admin, twice.id), rotate(admin, twice.id)])
  expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  // A revoked key cannot be rotated.
  await world.request('DELETE', `/api/v1/keys/${narrow.id}`, { key: admin })
  expect(await rotate(admin, narrow.id)).toMatchObject({ status: 409 })
  expect(await works(narrow.api_key)).toBe(false)
})

it('the key of a login ends with its approver, rotated or not, and with the overlap of its approver', async () => {
  const { world, admin, make, rotate, works } = start(openShared())
  const approver = await make({ name: 'approver', scopes: ['models:read'], org_id: 'acme', expires_in_days: 10 })
  const login = await approveLogin(world, approver.api_key)
  const [key] = (await listed(world, admin)).filter(({ approved_by }) => approved_by === approver.id)
  const renewed = await rotate(admin, key!.id as string)
  expect(renewed.body).toMatchObject({ approved_by: approver.id, expires_at: approver.expires_at })
  await rotate(admin, approver.id, { overlap_hours: 1 })
  await world.advance(60 * 60)
  expect([await works(approver.api_key), await works(login), await works(renewed.body.api_key)]).toEqual([
    false,
    false,
    false,
  ])
})

it('a person’s key cannot rotate another of theirs that can do more; that key and their session always can', async () => {
  const { world, admin, rotate, works } = start(openShared())
  const { id: bob, key: narrow } = await joinWithKey(world, admin, 'bob@example.org', 'viewer')
  const setRole = async (role: string) =>
    expect((await world.request('PATCH', `/api/v1/team/${bob}`, { key: admin, body: { role } })).status).toBe(200)
  const idOf = async (key: string) =>
    ((await world.request('GET', '/api/v1/keys/self', { key })).body as { id: string }).id
  await setRole('admin')
  const strong = await keyOfPerson(world, bob, 'admin')
  const strongId = await idOf(strong)
  const refused = await rotate(narrow, strongId)
  expect([refused.status, refused.body.message]).toEqual([
    403,
    expect.stringMatching(/^This key does not hold \S+, so/),
  ])
  expect(await works(strong)).toBe(true)

  // What a key can do now matters: a demoted person's key can do no more than another of theirs.
  await joinWithKey(world, admin, 'root@example.org', 'admin')
  await setRole('viewer')
  const itself = await rotate(strong, strongId)
  expect(itself.status).toBe(201)
  const browser = openBrowser(world)
  await browser.signIn('bob@example.org')
  const bySession = await browser.call('POST', `/keys/${itself.body.id}/rotate`)
  expect(bySession.status).toBe(201)
  expect((await rotate(narrow, bySession.body.id as string)).status).toBe(201)
  expect((await rotate(narrow, await idOf(narrow))).status).toBe(201)
})

it('a session that a key opened makes no key that outlives that key, however it makes it', async () => {
  const { world, admin, works } = start(await startWorld(TOKEN))
  const { key } = await joinWithKey(world, admin, 'ada@example.org', 'admin')
  const own = (await world.request('GET', '/api/v1/keys/self', { key })).body as Made
  await world.advance(10 * DAY)
  const link = await world.request('POST', '/api/v1/session/links', { key })
  const browser = openBrowser(world)
  const opened = await browser.call('POST', '/session', { code: (link.body as { path: string }).path.split('=')[1] })
  expect(opened.status).toBe(201)

  const begun = (await world.request('POST', '/api/v1/login/device', { body: { client_name: 'laptop' } })).body
  const { user_code, device_code } = begun as { user_code: string; device_code: string }
  const decided = await browser.call('POST', '/login/device/decision', { user_code, approve: true })
  expect(decided.status).toBe(200)
  const polled = await world.request('POST', '/api/v1/login/device/token', { body: { device_code } })
  const login = (polled.body as Made).api_key
  expect((await world.request('GET', '/api/v1/keys/self', { key: login })).body).toMatchObject({
    approved_by: own.id,
    expires_at: own.expires_at,
  })
  const made = await browser.call('POST', '/keys', { name: 'ci', scopes: ['models:read'] })
  const rotated = await browser.call('POST', `/keys/${own.id}/rotate`)
  expect([made.body.expires_at, rotated.body.expires_at]).toEqual([own.expires_at, own.expires_at])

  expect((await world.request('DELETE', `/api/v1/keys/${own.id}`, { key: admin })).status).toBe(200)
  expect([await works(key), await works(login)]).toEqual([false, false])
})

it('keys belong to services, people, or devices, are listed by kind, and name their creator', async () => {
  const { world, admin, make, rotate, works } = start(await startWorld(TOKEN))
  const { id: ada, key: personal } = await joinWithKey(world, admin, 'ada@example.org', 'admin')
  const { key: viewing } = await joinWithKey(world, admin, 'bob@example.org', 'viewer')
  const service = await make({ name: 'ci', scopes: ['models:read'] }, personal)

  const keys = await listed(world, personal, '?kind=personal')
  for (const key of keys) {
    expect(key).toMatchObject({ kind: 'personal', expires_at: '2026-04-01T00:00:00.000Z', org_id: 'acme' })
  }
  const adas = keys.find(({ person_id }) => person_id === ada)!
  const bobs = keys.find(({ person_id }) => person_id !== ada)!
  expect(await listed(world, personal, '?kind=service')).toMatchObject([
    { id: service.id, kind: 'service', person_id: null, created_by: ada },
  ])
  expect(await listed(world, personal, '?kind=device')).toEqual([])

  // A viewer can see, rotate and revoke only their own keys, and other people cannot rotate a person's key.
  const own = await listed(world, viewing)
  expect(own.map(({ id }) => id)).toEqual([bobs.id])
  expect(await rotate(viewing, adas.id as string)).toMatchObject({ status: 403 })
  expect(await rotate(personal, bobs.id as string)).toMatchObject({ status: 403 })
  expect(await rotate(admin, bobs.id as string)).toMatchObject({ status: 403 })
  expect(await world.request('POST', '/api/v1/keys', { key: viewing, body: { name: 'x' } })).toMatchObject({
    status: 403,
  })
  const next = await rotate(viewing, bobs.id as string, { overlap_hours: 0 })
  expect([next.status, await works(viewing), await works(next.body.api_key)]).toEqual([201, false, true])
  expect((await world.request('DELETE', `/api/v1/keys/${next.body.id}`, { key: next.body.api_key })).status).toBe(200)
  expect(await works(next.body.api_key)).toBe(false)

  // When a person leaves, their keys end, but a key that they created for a program stays.
  await joinWithKey(world, admin, 'eve@example.org', 'admin')
  const login = await approveLogin(world, personal)
  expect(await works(login)).toBe(true)
  expect((await world.request('DELETE', `/api/v1/team/${ada}`, { key: admin })).status).toBeLessThan(300)
  expect(await works(login)).toBe(false)
  expect([await works(personal), await works(service.api_key)]).toEqual([false, true])
})

it('revoking a key names the keys that have replaced it and stay valid', async () => {
  const { world, admin, make, rotate, works } = start(openShared())
  const revoke = async (id: string, key = admin) => {
    const { status, headers } = await world.request('DELETE', `/api/v1/keys/${id}`, { key })
    return [status, headers.get('x-service-warning')]
  }
  const leaked = await make({ name: 'ci', scopes: ['models:read'] })
  const first = (await rotate(leaked.api_key, leaked.id, { overlap_hours: 720 })).body
  const second = (await rotate(first.api_key, first.id, { overlap_hours: 720 })).body
  const warning = (id: string) =>
    `The key ${id} has replaced this one and stays valid. If this one leaked, revoke that too: svc keys revoke ${id}`
  expect(await revoke(leaked.id)).toEqual([200, `${warning(first.id)}; ${warning(second.id)}`])
  expect(await works(second.api_key)).toBe(true)
  // A program that has rotated its key revokes the old one.
  expect(await revoke(first.id, second.api_key)).toEqual([403, null])
  expect(await revoke(second.id, second.api_key)).toEqual([200, null])
  expect(await revoke(leaked.id)).toEqual([200, warning(first.id)])
})

it('the key of a device is replaced by registering another device, or the same one after its erasure', async () => {
  const { world, admin, make, rotate } = start(await startWorld(TOKEN))
  const { api_key: key } = await make({ name: 'fleet', scopes: ['devices:write'], org_id: 'acme' })
  const register = (device_id: string) =>
    world.request('POST', '/api/v1/devices/register', { key, body: { device_id } })
  expect((await register('pw')).status).toBe(201)
  const [own] = await listed(world, admin, '?devices=true')
  expect(await rotate(admin, String(own!.id))).toMatchObject({
    status: 409,
    body: {
      message:
        "A device's key cannot be rotated. Revoke it, and register the device under another device_id, or under the same one after svc devices erase.",
    },
  })
  expect((await world.request('DELETE', `/api/v1/keys/${own!.id}`, { key: admin })).status).toBe(200)
  expect([(await register('pw')).status, (await register('pw-2')).status]).toEqual([409, 201])
  const erased = await world.request('POST', '/api/v1/devices/pw/erase?org_id=acme', {
    key: admin,
    body: { confirm: 'pw' },
  })
  expect(erased.status).toBeLessThan(300)
  expect((await register('pw')).status).toBe(201)
})
