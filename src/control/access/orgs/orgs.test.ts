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
