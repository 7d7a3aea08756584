import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'
import { openBrowser, PASSWORD, startPeople } from '../sign-in/people.fixture.ts'
import { joinWithKey } from './logins.fixture.ts'

const verifier = randomBytes(32).toString('base64url')
const challenge = createHash('sha256').update(verifier).digest('base64url')
const state = randomBytes(16).toString('base64url')
const requested = { code_challenge: challenge, redirect_uri: 'http://127.0.0.1:49152/callback', state }

const authorize = (world: World, key?: string, body: object = requested) =>
  world.request('POST', '/api/v1/login/authorize', { key, body })
const codeIn = (response: { body: unknown }) =>
  new URL((response.body as { redirect_to: string }).redirect_to).searchParams.get('code')
const exchange = (world: World, code: string | null, code_verifier = verifier) =>
  world.request('POST', '/api/v1/login/token', { body: { code, code_verifier } })

describe('browser login', () => {
  it('redirects the browser with a code and the state, and gives the key to the holder of the verifier', async () => {
    const world = await startWorld()
    const approved = await authorize(world)
    expect(approved.status).toBe(200)
    const back = new URL((approved.body as { redirect_to: string }).redirect_to)
    expect(`${back.origin}${back.pathname}`).toBe('http://127.0.0.1:49152/callback')
    expect(back.searchParams.get('state')).toBe(state)
    const given = await exchange(world, codeIn(approved))
    expect(given).toMatchObject({ status: 200, body: { org_id: null } })
    const { api_key } = given.body as { api_key: string }
    expect((await world.request('GET', '/api/v1/status', { key: api_key })).status).toBe(200)
  })

  it('accepts a code once, for five minutes, and only with its own verifier', async () => {
    const world = await startWorld()
    const once = codeIn(await authorize(world))
    expect((await exchange(world, once)).status).toBe(200)
    expect((await exchange(world, once)).status).toBe(401)
    const stolen = codeIn(await authorize(world))
    expect((await exchange(world, stolen, randomBytes(32).toString('base64url'))).status).toBe(401)
    expect((await exchange(world, stolen)).status).toBe(401)
    const late = codeIn(await authorize(world))
    await world.advance(300)
    expect((await exchange(world, late)).status).toBe(401)
  })

  it('under token enrollment requires a key, and grants no more than that key holds', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    expect((await authorize(world)).status).toBe(401)
    const made = await world.request('POST', '/api/v1/keys', {
      key: world.service.firstAdminKey ?? '',
      body: { name: 'reader', scopes: ['models:read'], org_id: 'acme' },
    })
    const reader = (made.body as { api_key: string }).api_key
    const given = (await exchange(world, codeIn(await authorize(world, reader)))).body as {
      api_key: string
      org_id: string
    }
    expect(given.org_id).toBe('acme')
    expect((await world.request('GET', '/api/v1/models', { key: given.api_key })).status).toBe(200)
    expect((await world.request('POST', '/api/v1/models', { key: given.api_key, body: {} })).status).toBe(403)
  })

  it('never sends a code to an address that is not on this machine', async () => {
    const world = await startWorld()
    const addresses = [
      'https://127.0.0.1/x',
      'http://example.org/x',
      'http://127.0.0.1.example.org/',
      'http://:pw@127.0.0.1/x',
    ]
    for (const redirect_uri of [...addresses, 'javascript:alert(1)', 'x']) {
      const { status } = await authorize(world, undefined, { ...requested, redirect_uri })
      expect([redirect_uri, status]).toEqual([redirect_uri, 400])
    }
  })
})

it('a copy of a session gets no key while its owner changes the password and revokes keys', async () => {
  const people = await startPeople()
  const { id, key } = await joinWithKey(people.world, people.world.service.firstAdminKey!, 'ada@acme.example', 'admin')
  const browser = openBrowser(people.world)
  expect((await browser.signIn('ada@acme.example')).status).toBe(201)
  const copy = openBrowser(people.world)
  for (const [name, value] of browser.jar) copy.jar.set(name, value)
  let isChanged = false
  const codes: string[] = []
  const approveAll = async () => {
    while (!isChanged) {
      const response = await copy.call('POST', '/login/authorize', requested)
      if (response.status === 200) codes.push(codeIn(response)!)
    }
  }
  const rotateAll = async () => {
    let { id: current } = (await people.world.request('GET', '/api/v1/keys/self', { key })).body as { id: string }
    while (!isChanged) {
      const { body } = await copy.call('POST', `/keys/${current}/rotate`, { overlap_hours: 1 })
      if (typeof body.id === 'string') current = body.id
    }
  }
  const change = { old_password: PASSWORD, new_password: 'another four words here', revoke_keys: true }
  const changed = browser.call('PUT', '/account/password', change).finally(() => {
    isChanged = true
  })
  await Promise.all([...Array.from({ length: 6 }, approveAll), rotateAll()])
  expect((await changed).status).toBe(204)
  expect(codes).not.toEqual([])
  for (const code of codes) expect((await exchange(people.world, code)).status).toBe(401)
  const keys = people.world.database!.sql.selectFrom('keys').select('id').where('person_id', '=', id)
  expect(await keys.where('revoked_at', 'is', null).execute()).toEqual([])
  expect((await browser.call('GET', '/account')).status).toBe(200)
  expect((await copy.call('GET', '/account')).status).toBe(401)
})
