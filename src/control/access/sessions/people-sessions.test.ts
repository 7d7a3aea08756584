import { createHash, randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'
import { openBrowser, PASSWORD, startPeople } from '../sign-in/people.fixture.ts'

const HOUR = 60 * 60
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Creates a person of acme with a session, and sends requests from a page that has it. */
const signedIn = async (world: World, role: string, { mfa = false } = {}) => {
  const person = randomUUID()
  const token = hashOf(person).slice(0, 43)
  const at = world.now()
  const { sql } = world.database!
  await sql
    .insertInto('people')
    .values({ id: person, org_id: 'acme', email: `${role}@acme.example`, role, created_at: at })
    .execute()
  await sql
    .insertInto('sessions')
    .values({
      id: randomUUID(),
      hash: hashOf(token),
      browser: 'Browser 1',
      created_at: at,
      used_at: at,
      expires_at: new Date(at.getTime() + 24 * HOUR * 1000),
      person_id: person,
      authenticated_at: at,
      mfa,
    })
    .execute()
  const cookie = `tributary_session_${new URL(world.baseUrl).port}=${token}`
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    world.request('GET', path, { headers: { cookie, origin: world.baseUrl, ...headers } })
  return { person, get }
}

const setRules = (world: World, rules: object) =>
  world
    .database!.sql.insertInto('org_settings')
    .values({ org_id: 'acme', updated_at: world.now(), ...rules })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(rules))
    .execute()

const start = () => startWorld({ config: { enrollment: 'token' } })

it('a person’s session has their current role in their organization, and ends with the account', async () => {
  const world = await start()
  const { person, get } = await signedIn(world, 'member')
  expect((await get('/api/v1/session')).body).toMatchObject({ signed_in: true, key_name: null, org_id: 'acme' })
  expect((await get('/api/v1/models')).status).toBe(200)
  expect((await get('/api/v1/sessions')).status).toBe(403)
  expect((await get('/api/v1/orgs/other')).status).toBe(404)
  const people = world.database!.sql.updateTable('people').where('id', '=', person)
  await people.set({ role: 'admin' }).execute()
  expect((await get('/api/v1/sessions')).body).toMatchObject({
    sessions: [{ person_id: person, email: 'member@acme.example', key_id: null, mfa: false, current: true }],
  })
  await people.set({ removed_at: world.now() }).execute()
  expect((await get('/api/v1/models')).status).toBe(401)
})

it('a session ends after its organization’s hours, even if they were shortened meanwhile', async () => {
  const world = await start()
  const { get } = await signedIn(world, 'viewer')
  await world.advance(9 * HOUR)
  expect((await get('/api/v1/models')).status).toBe(200)
  await setRules(world, { session_hours: 10 })
  expect((await get('/api/v1/models')).status).toBe(200)
  await setRules(world, { session_hours: 8 })
  expect((await get('/api/v1/models')).status).toBe(401)
})

it('a session is refused without the second factor that its organization has come to require', async () => {
  const world = await start()
  const admin = await signedIn(world, 'admin')
  const member = await signedIn(world, 'member')
  const careful = await signedIn(world, 'viewer', { mfa: true })
  const statusesOfAll = async () => {
    const statuses = []
    for (const { get } of [admin, member, careful]) statuses.push((await get('/api/v1/models')).status)
    return statuses
  }
  expect(await statusesOfAll()).toEqual([200, 200, 200])
  await setRules(world, { require_mfa: 'admins' })
  expect(await statusesOfAll()).toEqual([403, 200, 200])
  expect((await admin.get('/api/v1/models')).body).toMatchObject({
    error: 'forbidden',
    message:
      'Your organization requires a second factor. Set one up (a passkey, or an authenticator app), or sign out and sign in with yours.',
  })
  await setRules(world, { require_mfa: 'all' })
  expect(await statusesOfAll()).toEqual([403, 403, 200])
  expect((await admin.get('/api/v1/session')).status).toBe(200)
})

it('a person must confirm their identity after the minutes without use', async () => {
  const world = await start()
  const { get } = await signedIn(world, 'member')
  await setRules(world, { reauthenticate_minutes: 30 })
  for (const _ of [1, 2, 3]) {
    await world.advance(29 * 60)
    expect((await get('/api/v1/models')).status).toBe(200)
  }
  await world.advance(31 * 60)
  expect((await get('/api/v1/models')).status).toBe(403)
  expect((await get('/api/v1/models')).status).toBe(403)
})

it('requests that a page sends by itself do not count as use', async () => {
  const world = await start()
  const { get } = await signedIn(world, 'member')
  await setRules(world, { reauthenticate_minutes: 30 })
  const usedAt = async () => (await world.database!.sql.selectFrom('sessions').select('used_at').execute())[0]!.used_at
  const before = await usedAt()
  for (const _ of [1, 2, 3]) {
    await world.advance(9 * 60)
    expect((await get('/api/v1/models', { 'x-service-background': '1' })).status).toBe(200)
  }
  expect(await usedAt()).toEqual(before)
  await world.advance(4 * 60)
  expect((await get('/api/v1/models', { 'x-service-background': '1' })).status).toBe(403)
  expect((await get('/api/v1/models')).status).toBe(403)
})

it('a sign-in while the clock was ahead is no proof of identity after that, but one of a process whose clock differs is', async () => {
  const { world, byKey, join } = await startPeople()
  await join('ada@acme.example')
  const aheadBy = async (seconds: number) => {
    const browser = openBrowser(world)
    await world.advance(seconds)
    expect((await browser.signIn('ada@acme.example')).status).toBe(201)
    await world.advance(-seconds)
    return browser
  }
  const close = await aheadBy(30)
  expect((await close.call('POST', '/account/totp')).status).toBe(201)
  const ahead = await aheadBy(2 * 24 * HOUR)
  expect((await ahead.call('POST', '/account/totp')).status).toBe(403)
  expect((await ahead.call('GET', '/models')).status).toBe(200)
  // This request counted as use.
  await byKey('PATCH', '/team/policy', { org_id: 'acme', reauthenticate_minutes: 30 })
  expect((await ahead.call('GET', '/models')).status).toBe(200)
  const unused = await aheadBy(2 * 24 * HOUR)
  expect((await unused.call('GET', '/models')).status).toBe(403)
  expect((await close.call('GET', '/models')).status).toBe(200)
  expect((await unused.call('POST', '/session/confirm', { password: PASSWORD })).status).toBe(200)
  expect((await unused.call('GET', '/models')).status).toBe(200)
  expect((await unused.call('POST', '/account/totp')).status).toBe(201)
})
