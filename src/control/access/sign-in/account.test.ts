import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { generateSync } from 'otplib'
import { expect, it } from 'vitest'
import { against } from '../../../../test/against.ts'
import { hasPostgres } from '../../../../test/databases.ts'
import { joinWithKey } from '../login/logins.fixture.ts'
import { openBrowser, PASSWORD, startPeople } from './people.fixture.ts'

type People = Awaited<ReturnType<typeof startPeople>>
type Browser = ReturnType<typeof openBrowser>

const codeOf = ({ world }: People, secret: string): string =>
  generateSync({ secret, epoch: Math.floor(world.now().getTime() / 1000) })

const enroll = async (people: People, browser: Browser) => {
  const { secret, uri } = (await browser.call('POST', '/account/totp')).body as { secret: string; uri: string }
  const confirmed = await browser.call('POST', '/account/totp/confirm', { code: codeOf(people, secret) })
  expect([confirmed.status, confirmed.body]).toEqual([200, { recovery_codes: expect.any(Array) }])
  await people.world.advance(90)
  return { secret, uri, codes: confirmed.body.recovery_codes as string[] }
}

const signedIn = async (people: People, email = 'ada@acme.example') => {
  const browser = openBrowser(people.world)
  expect((await browser.signIn(email)).status).toBe(201)
  return browser
}

it('a second factor is required, works once, and gives no access before it is shown', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example')
  const first = await signedIn(people)
  const other = await signedIn(people)
  const former = first.token()
  const { secret, uri, codes } = await enroll(people, first)
  expect(uri).toMatch(/^otpauth:\/\/totp\/Tributary.*ada/)
  expect(new Set(codes).size).toBe(10)
  expect(first.token()).not.toBe(former)
  expect((await other.call('GET', '/models')).status).toBe(401)
  expect((await first.call('GET', '/session')).body).toMatchObject({ person: { mfa: true } })

  const browser = openBrowser(people.world)
  const begun = await browser.signIn('ada@acme.example')
  expect([begun.status, begun.body]).toEqual([
    200,
    { next: 'second_factor', factors: ['totp', 'recovery_code'], expires_in: 300 },
  ])
  expect(browser.token()).toBe(undefined)
  const [stepName, step] = browser.cookie('step')!
  const asSession = { cookie: `${stepName.replace('step', 'session')}=${step}` }
  expect((await openBrowser(people.world).call('GET', '/models', undefined, asSession)).status).toBe(401)
  expect(
    (await openBrowser(people.world).call('GET', '/models', undefined, { authorization: `Bearer ${step}` })).status,
  ).toBe(401)
  expect((await browser.call('GET', '/account')).status).toBe(401)

  const code = codeOf(people, secret)
  const show = (from: Browser, body: object) => from.call('POST', '/session/second-factor', body)
  expect((await show(openBrowser(people.world), { code })).status).toBe(401)
  const both = await Promise.all([show(browser, { code }), show(browser, { code })])
  expect(both.map(({ status }) => status).sort()).toEqual([201, 401])
  expect(browser.cookie('step')).toBe(undefined)

  const replayer = openBrowser(people.world)
  await replayer.signIn('ada@acme.example')
  expect((await show(replayer, { code })).status).toBe(401)
  expect((await show(replayer, { recovery_code: codes[0]!.toUpperCase().replaceAll('-', ' ') })).status).toBe(201)
  const again = openBrowser(people.world)
  await again.signIn('ada@acme.example')
  expect((await show(again, { recovery_code: codes[0] })).status).toBe(401)
  for (let n = 0; n < 4; n++) expect((await show(again, { code: '000000' })).status).toBe(401)
  expect((await show(again, { recovery_code: codes[1] })).body.message).toMatch(/^No sign-in is waiting/)
  expect((await browser.call('GET', '/account')).body).toMatchObject({ totp: true, recovery_codes_left: 9 })
})

it.skipIf(!hasPostgres())(
  'requests under way change no factors of a session with a new token, or of a reset account',
  async () => {
    const people = await startPeople({ database: 'postgres' })
    const id = await people.join('ada@acme.example')
    const browser = await signedIn(people)
    const { secret, codes } = await enroll(people, browser)
    const database = people.world.database!
    const { hash } = await database.sql.selectFrom('sessions').select('hash').executeTakeFirstOrThrow()
    for (const [method, path] of [
      ['DELETE', '/account/totp'],
      ['POST', '/account/recovery-codes'],
    ] as const) {
      const { status } = await against(
        database,
        (tx) => sql`update sessions set hash = 'of the new token'`.execute(tx),
        () => browser.call(method, path),
      )
      expect([path, status]).toEqual([path, 401])
      await sql`update sessions set hash = ${hash}`.execute(database.sql)
    }
    expect((await browser.call('GET', '/account')).body).toMatchObject({
      totp: true,
      recovery_codes_left: codes.length,
    })

    const late = openBrowser(people.world)
    await late.signIn('ada@acme.example')
    const reset = sql`update people set totp_secret = null, totp_confirmed_at = null, totp_step = null where id = ${id}`
    const shown = await against(
      database,
      (tx) => reset.execute(tx),
      () => late.call('POST', '/session/second-factor', { code: codeOf(people, secret) }),
    )
    expect([shown.status, late.token()]).toEqual([401, undefined])

    const begun = (await browser.call('POST', '/account/totp')).body as { secret: string }
    const confirmed = await against(
      database,
      (tx) =>
        sql`with account as (update people set name = name where id = ${id}) delete from recovery_codes`.execute(tx),
      () => browser.call('POST', '/account/totp/confirm', { code: codeOf(people, begun.secret) }),
    )
    expect(confirmed.body.recovery_codes).toHaveLength(10)
  },
)

it('a person who must have a second factor can set one up, and do nothing else before', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example')
  await people.byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all' })
  const browser = await signedIn(people)
  expect((await browser.call('GET', '/session')).body).toMatchObject({ person: { restriction: 'enroll' } })
  const closed = [
    ['GET', '/models'],
    ['GET', '/account/sessions'],
    ['POST', '/keys', { name: 'k', scopes: ['admin'] }],
    ['POST', '/session/links'],
    [
      'POST',
      '/login/authorize',
      {
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        redirect_uri: 'http://127.0.0.1:1/',
        state: 'x'.repeat(16),
      },
    ],
    ['PUT', '/account/password', { old_password: PASSWORD, new_password: 'another four words here' }],
  ] as const
  for (const [method, path, body] of closed) {
    expect([path, (await browser.call(method, path, body)).status]).toEqual([path, 403])
  }
  await enroll(people, browser)
  expect((await browser.call('GET', '/models')).status).toBe(200)
})

it('a session that a personal key opens follows the rules for people, and ends with the key or a new password', async () => {
  const people = await startPeople()
  const { key } = await joinWithKey(people.world, people.world.service.firstAdminKey!, 'ada@acme.example', 'admin')
  const withKey = async () => {
    const browser = openBrowser(people.world)
    return { browser, ...(await browser.call('POST', '/session', { api_key: key })) }
  }
  const { browser, status } = await withKey()
  expect(status).toBe(201)
  expect((await browser.call('GET', '/session')).body).toMatchObject({
    person: { email: 'ada@acme.example', mfa: false },
  })
  await people.byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all' })
  expect((await browser.call('GET', '/models')).status).toBe(403)
  expect(await withKey()).toMatchObject({ status: 403, body: { message: expect.stringContaining('second factor') } })
  await people.byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'off', session_hours: 1 })
  expect((await browser.call('GET', '/models')).status).toBe(200)
  await people.world.advance(3601)
  expect((await browser.call('GET', '/models')).status).toBe(401)

  const again = (await withKey()).browser
  const own = (await again.call('GET', '/account/sessions')).body.sessions as { current: boolean }[]
  expect(own.filter(({ current }) => current)).toHaveLength(1)
  const other = (await withKey()).browser
  const change = { old_password: PASSWORD, new_password: 'another four words here' }
  expect((await again.call('PUT', '/account/password', change)).status).toBe(204)
  expect((await other.call('GET', '/models')).status).toBe(401)
  const { id } = (await people.world.request('GET', '/api/v1/keys/self', { key })).body as { id: string }
  expect((await again.call('GET', '/models')).status).toBe(200)
  await people.byKey('DELETE', `/keys/${id}`)
  expect((await again.call('GET', '/models')).status).toBe(401)
})

it('a new password ends the sign-ins that wait for a second factor, and is set only once', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example')
  const browser = await signedIn(people)
  const { codes } = await enroll(people, browser)
  const waiting = openBrowser(people.world)
  expect((await waiting.signIn('ada@acme.example')).status).toBe(200)
  const change = (password: string) =>
    browser.call('PUT', '/account/password', { old_password: PASSWORD, new_password: password })
  const both = await Promise.all([change('another four words here'), change('yet other four words')])
  expect(both.map(({ status }) => status).sort()).toEqual([204, 403])
  expect((await waiting.call('POST', '/session/second-factor', { recovery_code: codes[0] })).status).toBe(401)
})

it('factors can be changed only soon after a person has proved their identity, and never with a key', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example', 'viewer')
  const browser = await signedIn(people)
  expect((await browser.call('POST', '/account/recovery-codes')).status).toBe(409)
  await people.world.advance(11 * 60)
  expect((await browser.call('POST', '/account/totp')).body.message).toMatch(/^Confirm your identity/)
  await browser.call('POST', '/session/confirm', { password: PASSWORD })
  const { codes } = await enroll(people, browser)
  const renewed = (await browser.call('POST', '/account/recovery-codes')).body.recovery_codes as string[]
  expect(renewed).not.toContain(codes[0])
  await Promise.all(Array.from({ length: 4 }, () => browser.call('POST', '/account/recovery-codes')))
  expect((await browser.call('GET', '/account')).body).toMatchObject({ recovery_codes_left: 10 })
  expect((await browser.call('DELETE', '/account/totp')).status).toBe(204)
  expect((await browser.call('GET', '/account')).body).toMatchObject({ totp: false, recovery_codes_left: 0 })
  for (const [method, path] of [
    ['GET', '/account'],
    ['POST', '/account/totp'],
    ['DELETE', '/account/totp'],
    ['GET', '/account/sessions'],
  ] as const) {
    expect((await people.byKey(method, path)).status).toBe(403)
  }
})

it('a new password requires the old one, and ends the other sessions', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example')
  await people.join('bob@acme.example')
  const browser = await signedIn(people)
  const other = await signedIn(people)
  const bob = await signedIn(people, 'bob@acme.example')
  const change = (old_password: string, new_password: string) =>
    browser.call('PUT', '/account/password', { old_password, new_password })
  expect((await change('not the password', 'another four words here')).status).toBe(403)
  expect((await change(PASSWORD, 'password1234')).status).toBe(400)
  const listed = (await browser.call('GET', '/account/sessions')).body.sessions as { id: string; current: boolean }[]
  expect(listed).toHaveLength(2)
  const own = listed.find(({ current }) => current)!
  expect((await bob.call('DELETE', `/account/sessions/${own.id}`)).status).toBe(404)
  expect((await change(PASSWORD, 'another four words here')).status).toBe(204)
  expect((await browser.call('GET', '/account')).status).toBe(200)
  expect((await other.call('GET', '/account')).status).toBe(401)
  expect((await openBrowser(people.world).signIn('ada@acme.example')).status).toBe(401)
  expect((await browser.call('DELETE', `/account/sessions/${own.id}`)).status).toBe(204)
  expect((await browser.call('GET', '/account')).status).toBe(401)
})

it('a new password leaves personal keys, unless they are to be revoked with it', async () => {
  const people = await startPeople()
  const { key } = await joinWithKey(people.world, people.world.service.firstAdminKey!, 'ada@acme.example', 'member')
  const browser = await signedIn(people)
  const works = async () => (await people.world.request('GET', '/api/v1/models', { key })).status
  const change = (body: object) => browser.call('PUT', '/account/password', body)
  expect((await change({ old_password: PASSWORD, new_password: 'another four words here' })).status).toBe(204)
  expect(await works()).toBe(200)
  const again = { old_password: 'another four words here', new_password: PASSWORD, revoke_keys: true }
  expect((await change(again)).status).toBe(204)
  expect(await works()).toBe(401)
})

it('a new password, and ending a session, also end the sign-ins that sessions have approved', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example')
  const code_verifier = 'v'.repeat(43)
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const request = { code_challenge, redirect_uri: 'http://127.0.0.1:49152/callback', state: 'x'.repeat(16) }
  /** Approves one sign-in of each kind; returns how their programs ask for the key. */
  const approve = async (browser: Browser) => {
    const approved = await browser.call('POST', '/login/authorize', request)
    const begun = (await people.byKey('POST', '/login/device', { client_name: 'svc' })).body
    const decision = await browser.call('POST', '/login/device/decision', { user_code: begun.user_code, approve: true })
    const redirect = approved.body.redirect_to as string | undefined
    const code = redirect === undefined ? null : new URL(redirect).searchParams.get('code')
    return async () => [
      ...(code === null ? [] : [(await people.byKey('POST', '/login/token', { code, code_verifier })).status]),
      ...(decision.status === 200
        ? [(await people.byKey('POST', '/login/device/token', { device_code: begun.device_code })).status]
        : []),
    ]
  }
  const browser = await signedIn(people)
  expect(await (await approve(browser))()).toEqual([200, 200])

  const thief = await signedIn(people)
  const exchange = await approve(thief)
  const change = { old_password: PASSWORD, new_password: 'another four words here', revoke_keys: true }
  const [changed, ...atOnce] = await Promise.all([
    browser.call('PUT', '/account/password', change),
    ...Array.from({ length: 5 }, () => approve(thief)),
  ])
  expect(changed.status).toBe(204)
  expect(await exchange()).toEqual([401, 400])
  const late = []
  for (const each of atOnce) late.push(...(await each()))
  expect(late.filter((status) => status === 200)).toEqual([])

  const other = openBrowser(people.world)
  await other.signIn('ada@acme.example', { password: change.new_password })
  const ofOther = await approve(other)
  const { sessions } = (await browser.call('GET', '/account/sessions')).body as {
    sessions: { id: string; current: boolean }[]
  }
  const ended = sessions.find(({ current }) => !current)!
  const kept = await approve(browser)
  expect((await browser.call('DELETE', `/account/sessions/${ended.id}`)).status).toBe(204)
  expect(await ofOther()).toEqual([401, 400])
  expect(await kept()).toEqual([200, 200])

  const left = await approve(browser)
  expect((await browser.call('DELETE', '/session')).status).toBe(204)
  expect(await left()).toEqual([401, 400])
  await browser.call('POST', '/session', { api_key: people.world.service.firstAdminKey })
  const byKey = await approve(browser)
  expect((await browser.signIn('ada@acme.example', { password: change.new_password })).status).toBe(201)
  expect(await byKey()).toEqual([401, 400])
})

it('a session that a key opened says that the second factor is missing, which confirming the password cannot change', async () => {
  const people = await startPeople()
  const { key } = await joinWithKey(people.world, people.world.service.firstAdminKey!, 'ada@acme.example', 'admin')
  await enroll(people, await signedIn(people))
  const browser = openBrowser(people.world)
  expect((await browser.call('POST', '/session', { api_key: key })).status).toBe(201)
  const refused = {
    status: 403,
    body: { message: expect.stringMatching(/^This session was opened without your second factor. Sign out/) },
  }
  expect(await browser.call('POST', '/account/recovery-codes')).toMatchObject(refused)
  expect((await browser.call('POST', '/session/confirm', { password: PASSWORD })).status).toBe(200)
  expect(await browser.call('POST', '/account/recovery-codes')).toMatchObject(refused)
  await people.byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all' })
  expect((await browser.call('GET', '/models')).body.message).toMatch(/, or sign out and sign in with yours\.$/)
})

it('a person who has lost their app signs in with a recovery code, and replaces it even if a second factor is required', async () => {
  const people = await startPeople()
  await people.join('ada@acme.example')
  const { secret, codes } = await enroll(people, await signedIn(people))
  await people.byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all' })
  const signInBy = async (factor: object) => {
    const browser = openBrowser(people.world)
    await browser.signIn('ada@acme.example')
    return { browser, ...(await browser.call('POST', '/session/second-factor', factor)) }
  }
  const { browser } = await signInBy({ recovery_code: codes[0] })
  expect((await browser.call('DELETE', '/account/totp')).status).toBe(409)
  const begun = await browser.call('POST', '/account/totp')
  expect(begun.status).toBe(201)
  // Until the new app has shown a code, the old one counts.
  const next = begun.body.secret as string
  expect((await browser.call('POST', '/account/totp/confirm', { code: '000000' })).status).toBe(400)
  const other = await signInBy({ code: codeOf(people, secret) })
  expect(other.status).toBe(201)
  const confirm = () => browser.call('POST', '/account/totp/confirm', { code: codeOf(people, next) })
  expect(await confirm()).toMatchObject({ status: 200, body: { recovery_codes: [] } })
  expect((await other.browser.call('GET', '/models')).status).toBe(401)
  expect((await confirm()).status).toBe(409)
  expect((await signInBy({ code: codeOf(people, next) })).status).toBe(401)
  await people.world.advance(90)
  expect((await signInBy({ code: codeOf(people, secret) })).status).toBe(401)
  expect((await signInBy({ code: codeOf(people, next) })).status).toBe(201)
  expect((await browser.call('GET', '/account')).body).toMatchObject({ totp: true, recovery_codes_left: 9 })
})

it('an admin can reset the second factor only of members of their own organization', async () => {
  const people = await startPeople()
  const ada = await people.join('ada@acme.example')
  await people.join('eve@beta.example', 'admin', 'beta')
  const browser = await signedIn(people)
  await enroll(people, browser)
  const eve = await signedIn(people, 'eve@beta.example')
  const path = `/team/${ada}/second-factor`
  expect((await eve.call('DELETE', path)).status).toBe(404)
  expect((await browser.call('DELETE', path)).status).toBe(403)
  expect((await people.byKey('DELETE', path)).status).toBe(204)
  expect((await browser.call('GET', '/account')).status).toBe(401)
  await signedIn(people)
})

it('a login that a person’s session approves gives a personal key, which ends when they are removed', async () => {
  const people = await startPeople()
  await people.join('root@acme.example')
  const ada = await people.join('ada@acme.example', 'viewer')
  const browser = await signedIn(people)
  const code_verifier = 'v'.repeat(43)
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const asked = { code_challenge, redirect_uri: 'http://127.0.0.1:49152/callback', state: 'x'.repeat(16) }
  const approved = await browser.call('POST', '/login/authorize', asked)
  const code = new URL(approved.body.redirect_to as string).searchParams.get('code')
  const login = await people.byKey('POST', '/login/token', { code, code_verifier })
  expect(login.body).toMatchObject({ org_id: 'acme', expires_at: expect.any(String) })
  const key = login.body.api_key as string
  const by = async (method: string, path: string, body?: unknown) =>
    (await people.world.request(method, `/api/v1${path}`, { key, body })).status
  expect(await by('GET', '/models')).toBe(200)
  expect(await by('POST', '/models', { name: 'm', framework: 'pytorch' })).toBe(403)
  expect(await by('GET', '/account')).toBe(403)
  await people.byKey('DELETE', `/team/${ada}`)
  expect(await by('GET', '/models')).toBe(401)
})
