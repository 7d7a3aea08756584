import { describe, expect, it } from 'vitest'
import { openBrowser, PASSWORD, startPeople } from './people.fixture.ts'

describe('signing in', () => {
  it('accepts email and password, and reports who is signed in', async () => {
    const { world, join } = await startPeople()
    const id = await join('Ada@acme.example', 'viewer')
    const browser = openBrowser(world)
    const opened = await browser.signIn(' ada@ACME.example ')
    expect(opened).toMatchObject({
      status: 201,
      body: {
        signed_in: true,
        key_name: null,
        org_id: 'acme',
        person: { id, email: 'Ada@acme.example', name: 'Somebody', role: 'viewer', mfa: false, restriction: null },
      },
    })
    const session = opened.headers.getSetCookie().find((line) => line.includes('session'))
    expect(session).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=86400$/)
    expect((await browser.call('GET', '/models')).status).toBe(200)
    expect((await browser.call('POST', '/models', { name: 'm', framework: 'pytorch' })).status).toBe(403)
  })

  it('slows down guessing, by address and over all addresses, but never in a browser that has signed in', async () => {
    const { world, join } = await startPeople()
    await join('ada@acme.example')
    const owner = openBrowser(world)
    await owner.signIn('ada@acme.example')
    const guess = (email: string) => openBrowser(world).signIn(email, { password: 'not the password' })

    const responses = await Promise.all(
      ['ada', 'nobody'].map(async (name) => {
        const seen = []
        for (let n = 0; n < 7; n++) seen.push(await guess(`${name}@acme.example`))
        return seen.map(({ status, body }) => [status, body])
      }),
    )
    expect(responses[0]).toEqual(responses[1])
    expect(responses[0]!.map(([status]) => status)).toEqual([401, 401, 401, 401, 401, 429, 429])
    expect((await openBrowser(world).signIn('ada@acme.example')).status).toBe(429)
    expect((await owner.signIn('ada@acme.example')).status).toBe(201)

    await world.advance(1)
    expect((await guess('ada@acme.example')).status).toBe(401)
    await world.advance(1)
    const waiting = await guess('ada@acme.example')
    expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([429, '1'])
    await world.advance(1)
    expect((await openBrowser(world).signIn('ada@acme.example')).status).toBe(201)
    // A success uncounts its own attempt only: the failures may have been at another account of the address.
    expect((await guess('ada@acme.example')).status).toBe(429)
    expect((await owner.signIn('ada@acme.example', { password: 'not the password' })).status).toBe(429)
    expect((await owner.signIn('ada@acme.example')).status).toBe(201)
  })

  it('another spelling that the database takes for the address gives no more attempts, and no account', async () => {
    const { world, join } = await startPeople()
    await join('mimi@acme.example')
    expect((await openBrowser(world).signIn('MIMI@acme.example')).status).toBe(201)
    expect((await openBrowser(world).signIn('m\u0130mi@acme.example')).status).toBe(401)
  })

  it('never waits longer than 15 minutes, even if the clock was ahead', async () => {
    const { world, join } = await startPeople()
    await join('ada@acme.example')
    const days = 2 * 24 * 3600
    await world.advance(days)
    for (let n = 0; n < 6; n++) await openBrowser(world).signIn('ada@acme.example', { password: 'not the password' })
    await world.advance(-days)
    expect((await openBrowser(world).signIn('ada@acme.example')).status).toBe(201)
  })

  it('an account of the address in another organization gives no more attempts at this one', async () => {
    const { world, join } = await startPeople()
    await join('vera@acme.example')
    await join('vera@acme.example', 'admin', 'beta', 'the password at beta')
    const browser = openBrowser(world)
    const ofBeta = { password: 'the password at beta', org_id: 'beta' }
    expect((await browser.signIn('vera@acme.example', ofBeta)).status).toBe(201)
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) {
      const named = n % 2 === 0 ? { org_id: 'acme' } : {}
      statuses.push((await browser.signIn('vera@acme.example', { password: 'not the password', ...named })).status)
      if (n % 3 === 0) expect((await browser.signIn('vera@acme.example', ofBeta)).status).toBe(201)
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    await world.advance(60)
    expect((await openBrowser(world).signIn('vera@acme.example', { org_id: 'acme' })).status).toBe(201)
  })

  it('passwords of the account in another organization cannot be changed often to find out the one of this', async () => {
    const { world, join, byKey } = await startPeople()
    await join('vera@acme.example', 'admin', 'acme', 'guess number 40 of many')
    const id = await join('vera@acme.example', 'admin', 'beta', 'guess number 0 of many')
    const browser = openBrowser(world)
    await browser.signIn('vera@acme.example', { password: 'guess number 0 of many', org_id: 'beta' })
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) {
      // After four changes, the others are refused.
      const [old_password, new_password] = [Math.min(n, 4), n + 1].map((guess) => `guess number ${guess} of many`)
      statuses.push((await browser.call('PUT', '/account/password', { old_password, new_password })).status)
    }
    expect(statuses).toEqual([204, 204, 204, 204, 429, 429])
    // The last admin of an organization cannot be removed.
    await join('another@acme.example', 'admin', 'beta')
    expect((await byKey('DELETE', `/team/${id}`)).status).toBe(204)
    const { token } = (await byKey('POST', '/team', { email: 'vera@acme.example', role: 'admin', org_id: 'beta' })).body
    const accepted = { token, name: 'Vera', password: 'guess number 9 of many' }
    expect(await byKey('POST', '/invitations/accept', accepted)).toMatchObject({ status: 429 })
  })
})

it('concurrent guesses get no more attempts than consecutive ones', async () => {
  const { world, join } = await startPeople()
  await join('ada@acme.example')
  const guesses = Array.from({ length: 12 }, () =>
    openBrowser(world).signIn('ada@acme.example', { password: 'not the password' }),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(5)
  expect(statuses.filter((status) => status === 429)).toHaveLength(7)
})

it('the account is that of the named organization, otherwise the only one that the password opens', async () => {
  const { world, join } = await startPeople()
  await join('ada@acme.example', 'admin', 'acme')
  await join('ada@acme.example', 'viewer', 'beta', 'another four words here')
  const browser = openBrowser(world)
  expect((await browser.signIn('ada@acme.example')).body).toMatchObject({ org_id: 'acme' })
  const other = await browser.signIn('ada@acme.example', { password: 'another four words here' })
  expect(other.body).toMatchObject({ org_id: 'beta' })
  expect((await browser.signIn('ada@acme.example', { password: 'neither of the two' })).status).toBe(401)
  expect((await browser.signIn('ada@acme.example', { org_id: 'beta' })).status).toBe(401)
  expect((await browser.signIn('ada@acme.example', { org_id: 'acme' })).body).toMatchObject({ org_id: 'acme' })
  const beta = await browser.signIn('ada@acme.example', { org_id: 'beta', password: 'another four words here' })
  expect(beta.body).toMatchObject({ org_id: 'beta', person: { role: 'viewer' } })

  // Later accounts elsewhere hide none; a password of two accounts needs the organization.
  await world.advance(1)
  await join('ada@acme.example', 'viewer', 'gamma', 'yet another four words')
  expect((await browser.signIn('ada@acme.example')).body).toMatchObject({ org_id: 'acme' })
  const third = await browser.signIn('ada@acme.example', { password: 'yet another four words' })
  expect(third).toMatchObject({ status: 401 })
  await join('bob@acme.example', 'admin', 'acme')
  await join('bob@acme.example', 'admin', 'beta')
  expect((await browser.signIn('bob@acme.example')).status).toBe(401)
  expect((await browser.signIn('bob@acme.example', { org_id: 'beta' })).body).toMatchObject({ org_id: 'beta' })
})

it('a sign-in never reuses the session that a browser sent, and other sites get none', async () => {
  const { world, join } = await startPeople()
  await join('ada@acme.example')
  const browser = openBrowser(world)
  await browser.signIn('ada@acme.example')
  const [name, planted] = browser.cookie('session')!
  await browser.signIn('ada@acme.example')
  expect(browser.token()).not.toBe(planted)
  const old = { cookie: `${name}=${planted}` }
  expect((await openBrowser(world).call('GET', '/models', undefined, old)).status).toBe(401)

  const elsewhere = { origin: 'https://evil.example' }
  expect(
    (await browser.call('POST', '/session', { email: 'ada@acme.example', password: PASSWORD }, elsewhere)).status,
  ).toBe(403)
  expect((await browser.call('POST', '/session/confirm', { password: PASSWORD }, elsewhere)).status).toBe(401)
  expect((await browser.call('POST', '/session/second-factor', { code: '123456' }, elsewhere)).status).toBe(403)
  expect((await browser.call('POST', '/session', { email: 'ada@acme.example' })).body.message).toMatch(/^password: /)
})

it('a session that was idle for too long is confirmed by the password, and continues with a new token', async () => {
  const { world, byKey, join } = await startPeople()
  await join('ada@acme.example')
  await byKey('PATCH', '/team/policy', { org_id: 'acme', reauthenticate_minutes: 30 })
  const browser = openBrowser(world)
  await browser.signIn('ada@acme.example')
  await world.advance(31 * 60)
  expect((await browser.call('GET', '/models')).status).toBe(403)
  expect((await browser.call('GET', '/session')).body).toMatchObject({ person: { restriction: 'confirm' } })
  expect((await browser.call('POST', '/session/confirm', { password: 'not the password' })).status).toBe(403)
  const before = browser.token()
  expect((await browser.call('POST', '/session/confirm', { password: PASSWORD })).status).toBe(200)
  expect(browser.token()).not.toBe(before)
  expect((await browser.call('GET', '/models')).status).toBe(200)
  for (let n = 0; n < 5; n++) await browser.call('POST', '/session/confirm', { password: 'not the password' })
  expect((await browser.call('POST', '/session/confirm', { password: PASSWORD })).status).toBe(429)
})
