import { expect, it } from 'vitest'
import { startWorld } from '../../../../test/world.ts'

it('an organization is created once, with an id derived from its name, and its own keys can read it', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const admin = world.service.firstAdminKey ?? ''
  const create = (body: object) => world.request('POST', '/api/v1/orgs', { key: admin, body })
  const acme = {
    id: 'acme-robotics',
    name: 'Acme Robotics',
    compliance: 'gdpr',
    region: 'eu',
    created_at: '2026-01-01T00:00:00.000Z',
  }
  expect(await create({ name: 'Acme Robotics', compliance: 'gdpr', region: 'eu' })).toMatchObject({
    status: 201,
    body: acme,
  })
  expect((await create({ name: 'acme robotics' })).status).toBe(409)
  expect((await create({ name: '!!!' })).status).toBe(400)
  expect((await create({ name: 'Müller GmbH' })).body).toMatchObject({ id: 'muller-gmbh', name: 'Müller GmbH' })
  expect((await create({ name: 'हिन्दी' })).body).toMatchObject({ id: 'हिन्दी' })
  expect(await create({ name: '\ufdfa'.repeat(128) })).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^name: choose a shorter one; its id would have 2\d+ characters/) },
  })
  expect((await create({ name: 'x', region: 'moon' })).status).toBe(400)
  const keyOf = async (org: string) => {
    const made = await world.request('POST', '/api/v1/keys', { key: admin, body: { name: org, org_id: org } })
    return (made.body as { api_key: string }).api_key
  }
  const read = async (org: string) => world.request('GET', '/api/v1/orgs/acme-robotics', { key: await keyOf(org) })
  expect(await read('acme-robotics')).toMatchObject({ status: 200, body: acme })
  expect((await read('umbrella')).status).toBe(404)
})

it('an id of an organization, and a name, is one line without control characters wherever a request stores it', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const post = (path: string, body: object) => world.request('POST', `/api/v1${path}`, { key, body })
  const refusals = [
    ['org_id', '/keys', { name: 'k', scopes: ['models:read'] }],
    ['org_id', '/devices/register', { device_id: 'd' }],
    ['org_id', '/device-groups', { name: 'g' }],
    ['org_id', '/federations', { name: 'f' }],
    ['org_id', '/pairings', {}],
    ['org_id', '/team', { email: 'ada@acme.example' }],
    ['org_id', '/training/jobs', { model: 'm' }],
    ['name', '/orgs', {}],
    ['name', '/keys', { scopes: ['models:read'] }],
    ['name', '/device-groups', { org_id: 'acme' }],
    ['device_id', '/devices/register', {}],
  ] as const
  for (const [field, path, body] of refusals) {
    for (const value of ['\r\nX: q', 'a\u001b[2J', 'a\u2028b', 'a\u202eb']) {
      const { status, body: refused } = await post(path, { ...body, [field]: value })
      const message = expect.stringMatching(
        `^${field} must be one line of 1 to \\d+ characters, without control characters`,
      )
      expect([path, value, status, refused]).toMatchObject([path, value, 400, { message }])
    }
  }
  expect((await post('/keys', { name: 'k', org_id: 'ac\u200bme', scopes: ['models:read'] })).status).toBe(400)
  // Persian, with a zero-width non-joiner.
  const persian = '\u06af\u0631\u0648\u0647\u200c\u0647\u0627'
  expect((await post('/device-groups', { org_id: 'acme', name: persian })).status).toBe(201)
})
