import { sql } from 'kysely'
import { generateSync } from 'otplib'
import { expect, it } from 'vitest'
import { against } from '../../../../test/against.ts'
import { hasPostgres } from '../../../../test/databases.ts'
import { createSecrets } from '../../../platform/secrets.ts'
import { openBrowser, PASSWORD, startPeople } from './people.fixture.ts'
import { type ProviderUser, startProvider } from './provider.fixture.ts'
import { sealTotp } from './second-factors.ts'

const ADA: ProviderUser = { sub: 'u-1', email: 'ada@acme.example', name: 'Ada L.' }

const start = async (options: Parameters<typeof startPeople>[0] = {}) => {
  const provider = await startProvider()
  const people = await startPeople({ ...options, config: { oidc: provider.settings, ...options?.config } })
  await provider.open(people.world.baseUrl)
  const invite = (email: string, role = 'viewer', org_id = 'acme') =>
    people.byKey('POST', '/team', { email, role, org_id })
  const begin = async (browser: ReturnType<typeof openBrowser>, body: object = {}) => {
    const begun = await browser.call('POST', '/session/oidc', body)
    expect([begun.status, begun.status < 300 ? '' : begun.body]).toEqual([200, ''])
    return begun.body.redirect_to as string
  }
  const finish = (browser: ReturnType<typeof openBrowser>, back: URL) =>
    browser.call('POST', '/session/oidc/callback', { query: back.search.slice(1) })
  const signIn = async (browser: ReturnType<typeof openBrowser>, who: ProviderUser | null, body: object = {}) =>
    finish(browser, await provider.visit(await begin(browser, body), who))
  return { ...people, provider, invite, begin, finish, signIn }
}

it('an invited person joins with the identity provider', async () => {
  const { world, invite, begin, finish, signIn, provider, byKey } = await start()
  await invite('Ada@acme.example')
  const browser = openBrowser(world)
  const address = new URL(await begin(browser))
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: `${world.baseUrl}/sign-in/callback`,
    scope: 'openid email profile',
  })
  const joined = await finish(browser, await provider.visit(address.href, ADA))
  expect(joined.body).toMatchObject({
    signed_in: true,
    org_id: 'acme',
    identity_provider: new URL(provider.settings.issuer).host,
    person: { email: 'Ada@acme.example', name: 'Ada L.', role: 'viewer', mfa: false, restriction: null },
  })
  expect(browser.cookie('step')).toBe(undefined)
  expect((await browser.call('GET', '/account')).body).toMatchObject({ password: false, identity_provider: true })
  expect((await browser.call('GET', '/models')).status).toBe(200)
  const change = { old_password: PASSWORD, new_password: PASSWORD }
  expect((await browser.call('PUT', '/account/password', change)).body.message).toMatch(/^Your account has no password/)
  const confirmed = await browser.call('POST', '/session/confirm', { password: PASSWORD })
  expect([confirmed.status, confirmed.body.message]).toEqual([
    403,
    'password: your account has none. Confirm with a passkey or the identity provider.',
  ])

  // To some databases, these are one address.
  await invite('kia@acme.example')
  for (const email of ['k\u0130a@acme.example', '\u212aia@acme.example']) {
    const similar = await signIn(openBrowser(world), { sub: 'u-6', email })
    expect([similar.status, similar.body.message]).toEqual([403, expect.stringMatching(/^There is no invitation for/)])
  }

  // From now on issuer and subject identify the person: even with another address, while their address alone does not.
  const moved = { sub: 'u-1', email: 'ada@else.example', email_verified: false }
  expect((await signIn(openBrowser(world), moved)).body).toMatchObject({ person: { email: 'Ada@acme.example' } })
  const thief = await signIn(openBrowser(world), { ...ADA, sub: 'u-2' })
  expect([thief.status, thief.body.message]).toEqual([403, expect.stringMatching(/^This account is linked to/)])
  const { entries } = (await byKey('GET', '/audit?org_id=acme&limit=50')).body as { entries: { action: string }[] }
  expect(entries.filter(({ action }) => action === 'finishProviderSignIn').length).toBeGreaterThan(1)
})

it('people cannot join uninvited, with an address that is not verified, or into another organization', async () => {
  const { world, invite, join, signIn } = await start()
  const refusal = async (who: ProviderUser | null, body: object = {}) => {
    const browser = openBrowser(world)
    const { status, body: response } = await signIn(browser, who, body)
    expect(browser.token()).toBe(undefined)
    return [status, response.message]
  }
  expect(await refusal(ADA)).toEqual([403, 'There is no invitation for ada@acme.example. Ask an admin for one.'])
  await invite(ADA.email)
  expect((await refusal({ ...ADA, email_verified: false }))[1]).toMatch(/has not verified/)
  expect((await refusal(ADA, { org_id: 'beta' }))[1]).toMatch(/^There is no invitation for ada@acme.example to 'beta'/)
  expect((await refusal(null))[1]).toMatch(/did not sign you in: access_denied/)
  await invite(ADA.email, 'admin', 'beta')
  expect(await refusal(ADA)).toEqual([
    401,
    'You belong to several organizations, or several have invited you. Begin again, and give the id of one of them (org_id).',
  ])
  expect((await signIn(openBrowser(world), ADA, { org_id: 'beta' })).body).toMatchObject({ org_id: 'beta' })
  expect((await signIn(openBrowser(world), ADA, { org_id: 'acme' })).body).toMatchObject({ org_id: 'acme' })
  expect((await refusal(ADA))[1]).toMatch(/^You belong to several organizations/)

  // Another organization may have made the account: it does not take an invited person's first sign-in.
  const max: ProviderUser = { sub: 'u-5', email: 'max@acme.example' }
  await join(max.email, 'admin', 'beta')
  await invite(max.email)
  expect(await refusal(max)).toEqual([401, expect.stringMatching(/^You belong to several organizations, or several/)])
  expect((await signIn(openBrowser(world), max, { org_id: 'acme' })).body).toMatchObject({ org_id: 'acme' })
  expect((await signIn(openBrowser(world), max)).body).toMatchObject({ org_id: 'acme' })

  await world.advance(8 * 24 * 3600)
  await invite('late@acme.example')
  await world.advance(8 * 24 * 3600)
  expect((await refusal({ sub: 'u-3', email: 'late@acme.example' }))[1]).toMatch(/^There is no invitation for/)
})

it('a response works once, in the browser that began, and only for its own request', async () => {
  const { world, invite, begin, finish, provider } = await start()
  await invite(ADA.email)
  const browser = openBrowser(world)
  const back = await provider.visit(await begin(browser), ADA)
  // Another browser gets the response (login CSRF), first with nothing begun there, then with another request.
  expect((await finish(openBrowser(world), back)).status).toBe(401)
  const other = openBrowser(world)
  await begin(other)
  expect((await finish(other, back)).body.message).toMatch(/^The response of .* is not valid: /)
  // Its own state with the code of another request: PKCE does not match.
  const mallory = openBrowser(world)
  const own = new URL(await begin(mallory))
  const injected = new URL(back)
  injected.searchParams.set('state', own.searchParams.get('state')!)
  expect((await finish(mallory, injected)).status).toBe(401)
  // Another issuer's response (mix-up) and a wrong state, then a page of another site.
  for (const change of [{ iss: 'https://evil.example' }, { state: 'x' }] as Record<string, string>[]) {
    const again = openBrowser(world)
    const changed = await provider.visit(await begin(again), ADA)
    for (const [name, value] of Object.entries(change)) changed.searchParams.set(name, value)
    expect((await finish(again, changed)).status).toBe(401)
    expect(again.token()).toBe(undefined)
  }
  const elsewhere = { origin: 'https://evil.example' }
  expect((await browser.call('POST', '/session/oidc', {}, elsewhere)).status).toBe(403)
  expect((await browser.call('POST', '/session/oidc/callback', { query: 'code=x' }, elsewhere)).status).toBe(403)

  const late = openBrowser(world)
  const lateBack = await provider.visit(await begin(late), ADA)
  await world.advance(301)
  expect((await finish(late, lateBack)).body.message).toMatch(/it may have expired/)
  const good = await provider.visit(await begin(browser), ADA)
  const both = await Promise.all([finish(browser, good), finish(browser, good)])
  expect(both.map(({ status }) => status).sort()).toEqual([201, 401])
})

it('a second factor is still required, unless the provider reports that it checked two', async () => {
  const { world, join, byKey, begin, finish, signIn, provider } = await start()
  const id = await join(ADA.email)
  await byKey('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all', reauthenticate_minutes: 30 })
  const browser = openBrowser(world)
  expect((await signIn(browser, ADA)).body).toMatchObject({ person: { mfa: false, restriction: 'enroll' } })
  expect((await browser.call('GET', '/models')).status).toBe(403)
  const strong = { ...ADA, amr: ['pwd', 'mfa'] }
  expect((await signIn(openBrowser(world), strong)).body).toMatchObject({ person: { mfa: true, restriction: null } })

  await world
    .database!.sql.updateTable('people')
    .set({ totp_secret: await sealTotp(createSecrets(world.dataDir), id, 'secret'), totp_confirmed_at: world.now() })
    .where('email', '=', ADA.email)
    .execute()
  const halfway = openBrowser(world)
  const step = await signIn(halfway, ADA)
  expect([step.status, step.body]).toEqual([200, { next: 'second_factor', factors: ['totp'], expires_in: 300 }])
  expect(halfway.token()).toBe(undefined)

  // When idle for too long, they confirm at the provider, which must authenticate them again, as the same person.
  const idle = openBrowser(world)
  await signIn(idle, strong)
  const before = idle.token()
  await world.advance(31 * 60)
  expect((await idle.call('GET', '/session')).body).toMatchObject({ person: { restriction: 'confirm' } })
  const address = new URL(await begin(idle))
  expect(address.searchParams.get('prompt')).toBe('login')
  const stranger = await finish(idle, await provider.visit(address.href, { sub: 'u-9', email: ADA.email }))
  expect(stranger.body.message).toMatch(/signed in somebody else/)
  expect((await signIn(idle, ADA)).body).toMatchObject({ person: { mfa: true, restriction: null } })
  expect(idle.token()).not.toBe(before)
})

it('codes after the identity provider are throttled for each person, over all of their sign-ins', async () => {
  const { world, join, signIn } = await start()
  await join(ADA.email)
  const owner = openBrowser(world)
  await owner.signIn(ADA.email)
  const secret = (await owner.call('POST', '/account/totp')).body.secret as string
  const codeNow = () => generateSync({ secret, epoch: Math.floor(world.now().getTime() / 1000) })
  await owner.call('POST', '/account/totp/confirm', { code: codeNow() })
  await world.advance(90)

  const show = (browser: ReturnType<typeof openBrowser>, code: string) =>
    browser.call('POST', '/session/second-factor', { code })
  const guess = async () => {
    const browser = openBrowser(world)
    expect((await signIn(browser, ADA)).status).toBe(200)
    return [(await show(browser, '000000')).status, (await show(browser, '111111')).status]
  }
  expect([await guess(), await guess(), await guess(), await guess()].flat()).toEqual([
    401, 401, 401, 401, 401, 429, 429, 429,
  ])
  const late = openBrowser(world)
  await signIn(late, ADA)
  const refused = await show(late, codeNow())
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  // A browser that has signed in before counts only its own attempts.
  await owner.call('DELETE', '/session')
  expect((await signIn(owner, ADA)).status).toBe(200)
  expect((await show(owner, codeNow())).status).toBe(201)
  await world.advance(30)
  expect((await show(late, codeNow())).status).toBe(201)
  // A success resets the count.
  expect([await guess(), await guess(), await guess()].flat()).toEqual([401, 401, 401, 401, 401, 429])
  // A password sign-in has counted its own attempt, so its codes are not counted again.
  const byPassword = openBrowser(world)
  await byPassword.signIn(ADA.email)
  expect((await show(byPassword, '000000')).status).toBe(401)
})

it.skipIf(!hasPostgres())('of two sign-ins at the same moment, only one links an identity to an account', async () => {
  const { world, join, begin, finish, provider } = await start({ database: 'postgres' })
  const database = world.database!
  const ada = await join(ADA.email)
  await join('ada2@acme.example')
  const browsers = [1, 2, 3].map(() => openBrowser(world))
  const backs: URL[] = []
  for (const browser of browsers) backs.push(await provider.visit(await begin(browser), ADA))
  const waiting = (count: number) =>
    expect
      .poll(async () => {
        const { rows } = await sql`select from pg_locks where not granted and locktype in ('transactionid', 'tuple')
          and pid in (select pid from pg_stat_activity where datname = current_database())`.execute(database.sql)
        return rows.length
      })
      .toBe(count)

  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let locked = (): void => undefined
  const holds = new Promise<void>((resolve) => (locked = resolve))
  const holder = database.transaction(async (tx) => {
    await sql`select from people where id = ${ada} for update`.execute(tx)
    locked()
    await released
  })
  await holds
  // Both sign-ins have found Ada's account, and wait for it.
  const early = [0, 1].map((at) => finish(browsers[at]!, backs[at]!))
  await waiting(2)
  // The provider's address for Ada changes.
  await provider.visit(await begin(openBrowser(world)), { ...ADA, email: 'ada2@acme.example' })
  const changed = await finish(browsers[2]!, backs[2]!)
  expect(changed.body).toMatchObject({ person: { email: 'ada2@acme.example' } })
  release()
  await holder
  for (const { status, body } of await Promise.all(early)) {
    expect([status, body.message]).toEqual([
      409,
      'Another account of this organization was linked to your identity at the provider at the same moment. Sign in again.',
    ])
  }
})

it.skipIf(!hasPostgres())('two sign-ins at the same moment may link the same account', async () => {
  const { world, join, begin, finish, provider } = await start({ database: 'postgres' })
  await join(ADA.email)
  const browsers = Array.from({ length: 4 }, () => openBrowser(world))
  const backs: URL[] = []
  for (const browser of browsers) backs.push(await provider.visit(await begin(browser), ADA))
  const finished = await Promise.all(browsers.map((browser, at) => finish(browser, backs[at]!)))
  expect(finished.map(({ status }) => status)).toEqual([201, 201, 201, 201])
})

it.skipIf(!hasPostgres())('an account that is unlinked or removed during a sign-in gets no session', async () => {
  const { world, join, begin, finish, signIn, provider } = await start({ database: 'postgres' })
  const db = world.database!
  const id = await join(ADA.email)
  const refusal = async (change: string) => {
    const browser = openBrowser(world)
    const back = await provider.visit(await begin(browser), ADA)
    const update = sql`update people set ${sql.raw(change)} where id = ${id}`
    const { status, body } = await against(
      db,
      (tx) => update.execute(tx),
      () => finish(browser, back),
    )
    return [status, body.message]
  }
  expect((await signIn(openBrowser(world), ADA)).status).toBe(201)
  expect(await refusal('oidc_identity = null')).toEqual([
    401,
    'An admin has just unlinked your account from the identity provider. Sign in again.',
  ])
  expect(await refusal('removed_at = now()')).toEqual([401, 'This account was removed.'])
  expect(await db.sql.selectFrom('sessions').select('id').execute()).toHaveLength(1)
})

it('an admin’s reset unlinks the identity provider', async () => {
  const { world, join, byKey, signIn } = await start()
  const id = await join(ADA.email)
  await signIn(openBrowser(world), ADA)
  expect((await signIn(openBrowser(world), { ...ADA, sub: 'new' })).status).toBe(403)
  await byKey('DELETE', `/team/${id}/second-factor`)
  expect((await signIn(openBrowser(world), { ...ADA, sub: 'new' })).status).toBe(201)
  expect((await openBrowser(world).signIn(ADA.email, { password: PASSWORD })).status).toBe(201)
})

it('a provider that stalls or is down is reported within seconds, and works once it responds again', async () => {
  const provider = await startProvider()
  const { world, join } = await startPeople({ config: { oidc: provider.settings } })
  await join(ADA.email)
  const browser = openBrowser(world)
  const begin = () => browser.call('POST', '/session/oidc', {})
  provider.stall()
  const stalled = await begin()
  expect([stalled.status, stalled.body.message]).toEqual([
    504,
    expect.stringMatching(
      /^The identity provider 127.0.0.1:\d+ cannot be used now: .*5 s.* Try again, or sign in another/,
    ),
  ])
  await provider.open(world.baseUrl)
  const begun = await begin()
  expect(begun.status).toBe(200)
  const back = await provider.visit(begun.body.redirect_to as string, ADA)
  await provider.stop()
  const away = await browser.call('POST', '/session/oidc/callback', { query: back.search.slice(1) })
  expect([away.status, away.body.error]).toEqual([502, 'upstream_failed'])
  expect((await browser.signIn(ADA.email)).status).toBe(201)
  const none = await startPeople()
  expect((await openBrowser(none.world).call('POST', '/session/oidc', {})).status).toBe(409)
})
