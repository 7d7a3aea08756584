import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { type Forged, makePasskey, type SoftwarePasskey } from './passkeys.fixture.ts'
import { openBrowser, PASSWORD, startPeople } from './people.fixture.ts'
import { relyingPartyOf } from './web-authn.ts'

const ORIGIN = 'https://fleet.acme.example'
const ADA = 'ada@acme.example'

type Browser = ReturnType<typeof openBrowser>

const optionsOf = async (browser: Browser, path: string): Promise<Record<string, unknown>> => {
  const { status, body } = await browser.call('POST', path)
  expect([path, status, status < 300 ? '' : body]).toEqual([path, 200, ''])
  return body.public_key as Record<string, unknown>
}

const add = async (browser: Browser, passkey: SoftwarePasskey, name = 'laptop', forged: Forged = {}) => {
  const options = await optionsOf(browser, '/account/passkeys/options')
  return browser.call('POST', '/account/passkeys', { name, credential: passkey.create(options, forged) })
}

const show = async (browser: Browser, passkey: SoftwarePasskey, forged: Forged = {}) => {
  const credential = passkey.get(await optionsOf(browser, '/session/passkey/options'), forged)
  return { credential, ...(await browser.call('POST', '/session/passkey', { credential })) }
}

const start = async (options: Parameters<typeof startPeople>[0] = {}) => {
  const people = await startPeople({ ...options, config: { publicUrl: ORIGIN } })
  const signIn = async (email: string) => {
    const browser = openBrowser(people.world)
    await browser.signIn(email)
    return browser
  }
  return { ...people, signIn }
}

it('a passkey sign-in counts as two factors', async () => {
  const { world, join, signIn } = await start()
  const id = await join(ADA)
  const owner = await signIn(ADA)
  const other = await signIn(ADA)
  const before = owner.token()
  const passkey = makePasskey(ORIGIN)
  const added = await add(owner, passkey)
  expect([added.status, added.body]).toEqual([
    201,
    {
      id: passkey.id,
      name: 'laptop',
      created_at: world.now().toISOString(),
      last_used_at: null,
      recovery_codes: expect.toSatisfy((codes: string[]) => codes.length === 10),
    },
  ])
  expect(owner.token()).not.toBe(before)
  expect((await other.call('GET', '/account')).status).toBe(401)
  expect((await owner.call('GET', '/session')).body).toMatchObject({ person: { mfa: true } })

  const browser = openBrowser(world)
  expect((await show(browser, passkey)).body).toMatchObject({ person: { id, mfa: true, restriction: null } })
  expect((await browser.call('GET', '/models')).status).toBe(200)
  const byPassword = openBrowser(world)
  expect((await byPassword.signIn(ADA)).body).toMatchObject({ factors: ['passkey', 'recovery_code'] })
  expect((await show(byPassword, passkey)).status).toBe(201)

  const path = `/account/passkeys/${passkey.id}`
  expect((await browser.call('PATCH', path, { name: 'key ring' })).body).toMatchObject({ name: 'key ring' })
  expect((await browser.call('GET', '/account/passkeys')).body).toMatchObject({
    passkeys: [{ id: passkey.id, name: 'key ring', last_used_at: world.now().toISOString() }],
  })
  await world.advance(11 * 60)
  expect((await browser.call('GET', '/account')).body).toMatchObject({ must_confirm: true, passkeys: 1 })
  expect((await browser.call('DELETE', path)).status).toBe(403)
  const credential = passkey.get(await optionsOf(browser, '/session/passkey/options'))
  expect((await browser.call('POST', '/session/confirm', { credential })).status).toBe(200)
  expect((await browser.call('DELETE', path)).status).toBe(204)
  expect((await show(openBrowser(world), passkey)).status).toBe(401)
  expect((await browser.call('GET', '/account')).body).toMatchObject({ passkeys: 0, recovery_codes_left: 0 })
})

it('a response works once, from this page, with the user verified, and in the browser that asked', async () => {
  const { world, join, signIn } = await start()
  await join(ADA)
  await join('eve@acme.example')
  const [ada, eve] = [makePasskey(ORIGIN), makePasskey(ORIGIN)]
  const owner = await signIn(ADA)
  const attacker = await signIn('eve@acme.example')
  for (const forged of [{ origin: 'https://evil.example' }, { rpId: 'evil.example' }, { unverified: true }]) {
    expect([forged, (await add(owner, ada, 'x', forged)).status]).toEqual([forged, 400])
  }
  // Options that one person received, used by another.
  const planted = eve.create(await optionsOf(attacker, '/account/passkeys/options'))
  expect((await owner.call('POST', '/account/passkeys', { name: 'x', credential: planted })).status).toBe(400)
  expect((await add(owner, ada)).status).toBe(201)
  expect((await add(attacker, eve)).status).toBe(201)
  expect((await add(attacker, ada)).status).toBe(409)
  expect((await attacker.call('DELETE', `/account/passkeys/${ada.id}`)).status).toBe(404)
  expect((await attacker.call('PATCH', `/account/passkeys/${ada.id}`, { name: 'x' })).status).toBe(404)
  // `add` gave ada's authenticator another user; this is the original one.
  const adas = {
    userHandle: Buffer.from((await owner.call('GET', '/account')).body.id as string).toString('base64url'),
  }

  const forgeries: Forged[] = [
    { ...adas, origin: 'https://evil.example' },
    { ...adas, rpId: 'evil.example' },
    { ...adas, unverified: true },
    { ...adas, counter: 1 },
    { userHandle: Buffer.from('somebody').toString('base64url') },
  ]
  for (const forged of forgeries) {
    const browser = openBrowser(world)
    expect([forged, (await show(browser, ada, forged)).status]).toEqual([forged, 401])
    expect(browser.token()).toBe(undefined)
  }
  const browser = openBrowser(world)
  const good = await show(browser, ada, adas)
  expect(good.status).toBe(201)
  const { credential } = good
  expect((await browser.call('POST', '/session/passkey', { credential })).status).toBe(401)
  await optionsOf(browser, '/session/passkey/options')
  expect((await browser.call('POST', '/session/passkey', { credential })).status).toBe(401)
  // A response for one browser, used in another that has its own challenge; then too late.
  const stolen = ada.get(await optionsOf(browser, '/session/passkey/options'), adas)
  const thief = openBrowser(world)
  await optionsOf(thief, '/session/passkey/options')
  expect((await thief.call('POST', '/session/passkey', { credential: stolen })).status).toBe(401)
  await world.advance(301)
  expect((await browser.call('POST', '/session/passkey', { credential: stolen })).status).toBe(401)
  for (const garbage of [{}, { id: 1, response: 'x' }, { id: ada.id, response: { ...adas, clientDataJSON: '{}' } }]) {
    await optionsOf(thief, '/session/passkey/options')
    expect((await thief.call('POST', '/session/passkey', { credential: garbage })).status).toBe(401)
  }
  const elsewhere = { origin: 'https://evil.example' }
  expect((await thief.call('POST', '/session/passkey', { credential }, elsewhere)).status).toBe(403)
  // Another person's passkey confirms nothing.
  const other = eve.get(await optionsOf(owner, '/session/passkey/options'))
  expect((await owner.call('POST', '/session/confirm', { credential: other })).status).toBe(403)
  expect((await owner.call('POST', '/session/confirm', {})).status).toBe(400)
})

it('the last factor cannot be removed if the organization requires one', async () => {
  const { world, join, signIn, byKey } = await start()
  await join(ADA)
  await byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all' })
  const browser = await signIn(ADA)
  expect((await browser.call('GET', '/models')).status).toBe(403)
  const [first, second] = [makePasskey(ORIGIN), makePasskey(ORIGIN)]
  expect((await add(browser, first)).status).toBe(201)
  expect((await browser.call('GET', '/models')).status).toBe(200)
  const remove = ({ id }: SoftwarePasskey) => browser.call('DELETE', `/account/passkeys/${id}`)
  expect((await remove(first)).body.message).toMatch(
    /^Your organization requires a second factor, and this is your last/,
  )
  expect((await add(browser, second)).body.recovery_codes).toEqual([])
  const both = await Promise.all([remove(first), remove(second)])
  expect(both.map(({ status }) => status).sort()).toEqual([204, 409])
  expect((await openBrowser(world).signIn(ADA, { password: PASSWORD })).status).toBe(200)
})

it.skipIf(!hasPostgres())('a reset of the factors finds a passkey that is being added', async () => {
  const { world, join, signIn, byKey } = await start({ database: 'postgres' })
  const id = await join(ADA)
  const owner = await signIn(ADA)
  expect((await add(owner, makePasskey(ORIGIN))).status).toBe(201)
  const { sql: db } = world.database!
  const waiting = async () =>
    (
      await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        db,
      )
    ).rows.length
  const [added, reset] = await db.transaction().execute(async (tx) => {
    await sql`select from sessions for update`.execute(tx)
    const adding = add(owner, makePasskey(ORIGIN))
    await expect.poll(waiting).toBe(1)
    const resetting = byKey('DELETE', `/team/${id}/second-factor`)
    await expect.poll(waiting).toBe(2)
    return [adding, resetting] as const
  })
  expect([(await added).status, (await reset).status]).toEqual([201, 204])
  expect(await db.selectFrom('passkeys').select('id').execute()).toEqual([])
})

it('passkeys require an https address with a host name, or localhost', async () => {
  const at =
    (publicUrl: string | null, hostname = '127.0.0.1') =>
    () =>
      relyingPartyOf(publicUrl, { protocol: 'http', hostname, port: 8000 })
  expect(at('https://fleet.acme.example/svc')()).toEqual({ id: 'fleet.acme.example', origin: ORIGIN })
  expect(at('http://localhost:5173')()).toEqual({ id: 'localhost', origin: 'http://localhost:5173' })
  expect(at(null, 'localhost')()).toEqual({ id: 'localhost', origin: 'http://localhost:8000' })
  for (const wrong of [at(null), at('http://fleet.acme.example'), at('https://192.0.2.7'), at('https://[::1]')]) {
    expect(wrong).toThrow(/^Passkeys need an https address with a host name: set SERVICE_PUBLIC_URL/)
  }
  const { world } = await startPeople()
  expect((await openBrowser(world).call('POST', '/session/passkey/options')).status).toBe(409)
})
