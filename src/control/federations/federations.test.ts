import { describe, expect, it } from 'vitest'
import { missing, nowhere, openFederation, refused, uuid } from './federation.fixture.ts'

const at = '2026-01-01T00:00:00.000Z'

describe('a federation', () => {
  it('is created by its owner, read, and listed, newest first', async () => {
    const { world, send, keyOf } = await openFederation()
    const acme = await keyOf('acme')
    const made = await send(acme, 'POST', '/federations', { name: 'hospitals', org_id: 'acme', description: 'all' })
    const federation = {
      id: uuid,
      name: 'hospitals',
      description: 'all',
      org_id: 'acme',
      status: 'active',
      member_count: 1,
      created_at: at,
      membership: { role: 'owner', status: 'active' },
    }
    expect(made).toEqual({ status: 201, body: federation })
    const { id } = made.body
    expect(await send(acme, 'GET', `/federations/${id}`)).toEqual({ status: 200, body: { ...federation, id } })
    await world.advance(60)
    const second = await send(acme, 'POST', '/federations', { name: 'clinics', org_id: 'acme' })
    expect(second.body).toMatchObject({ description: '' })
    expect(await send(acme, 'GET', '/federations')).toEqual({
      status: 200,
      body: { federations: [second.body, made.body], total: 2, limit: 100, offset: 0 },
    })
    expect(await send(acme, 'GET', '/federations?name=hospitals&org_id=acme')).toEqual({
      status: 200,
      body: { federations: [made.body], total: 1, limit: 100, offset: 0 },
    })
    expect(await send(acme, 'GET', '/federations?limit=1&offset=1')).toEqual({
      status: 200,
      body: { federations: [made.body], total: 2, limit: 1, offset: 1 },
    })
  })

  it("has a name that is unique among its owner's federations", async () => {
    const { send, keyOf, admin } = await openFederation()
    const acme = await keyOf('acme')
    await send(acme, 'POST', '/federations', { name: 'one', org_id: 'acme' })
    expect(await send(acme, 'POST', '/federations', { name: 'one', org_id: 'acme' })).toEqual({
      status: 409,
      body: {
        error: 'conflict',
        message: "Organization 'acme' already has a federation named 'one'. Choose another name.",
        status_code: 409,
      },
    })
    expect(await send(admin, 'POST', '/federations', { name: 'one', org_id: 'other' })).toMatchObject({ status: 201 })
  })

  it('is not created without required fields, and the response names the field', async () => {
    const { send, keyOf } = await openFederation()
    const acme = await keyOf('acme')
    for (const [body, field] of [
      [{ org_id: 'acme' }, 'name'],
      [{ name: '', org_id: 'acme' }, 'name'],
      [{ name: 'x'.repeat(129), org_id: 'acme' }, 'name'],
      [{ name: nowhere, org_id: 'acme' }, 'name'],
      [{ name: 'x' }, 'org_id'],
      [{ name: 'x', org_id: 'acme', description: 'x'.repeat(513) }, 'description'],
    ] as const) {
      const response = await send(acme, 'POST', '/federations', body)
      expect(response).toMatchObject({ status: 400, body: { message: expect.stringContaining(field) } })
    }
  })

  it("is created with a bound key only for the key's own organization", async () => {
    const { send, keyOf } = await openFederation()
    expect(await send(await keyOf('beta'), 'POST', '/federations', { name: 'x', org_id: 'acme' })).toEqual(
      refused(
        "This key is bound to a different organization than 'acme'. Leave the organization out, or use a key of 'acme'.",
      ),
    )
  })

  it('requires training:write for changes and training:read for reading', async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found()
    const reader = await keyOf('acme', ['training:read'])
    expect((await send(reader, 'GET', `/federations/${id}`)).status).toBe(200)
    expect(await send(reader, 'POST', `/federations/${id}/invite`, { org_ids: ['beta'] })).toEqual(
      refused("This key lacks the scope 'training:write'. Use a key that has it, or create one."),
    )
    expect((await send(await keyOf('acme', ['models:read']), 'GET', `/federations/${id}`)).status).toBe(403)
  })
})

describe('membership', () => {
  it('begins with an invitation that the invited organization accepts', async () => {
    const { world, send, keyOf, found } = await openFederation()
    const id = await found()
    const [acme, beta] = [await keyOf('acme'), await keyOf('beta')]
    expect(await send(beta, 'GET', `/federations/${id}`)).toEqual(missing('Federation', id))
    expect(await send(acme, 'POST', `/federations/${id}/invite`, { org_ids: ['beta', 'gamma', 'beta'] })).toEqual({
      status: 200,
      body: { federation_id: id, invited: ['beta', 'gamma'], skipped: [] },
    })
    expect(await send(beta, 'GET', `/federations/${id}`)).toMatchObject({
      status: 200,
      body: { member_count: 1, membership: { role: 'member', status: 'invited' } },
    })
    expect(await send(beta, 'GET', '/federations')).toMatchObject({ body: { federations: [{ id }], total: 1 } })
    await world.advance(60)
    const joined = { federation_id: id, org_id: 'beta', role: 'member', status: 'active' }
    expect(await send(beta, 'POST', `/federations/${id}/join`, { org_id: 'beta' })).toEqual({
      status: 200,
      body: joined,
    })
    await world.advance(60)
    expect(await send(beta, 'POST', `/federations/${id}/join`, { org_id: 'beta' })).toEqual({
      status: 200,
      body: joined,
    })
    const nothing = {
      rounds_contributed: 0,
      total_samples: 0,
      avg_accuracy: null,
      avg_loss: null,
      last_contribution_at: null,
    }
    const members = {
      status: 200,
      body: {
        members: [
          { org_id: 'acme', role: 'owner', status: 'active', invited_at: null, joined_at: at, ...nothing },
          {
            org_id: 'beta',
            role: 'member',
            status: 'active',
            invited_at: at,
            joined_at: '2026-01-01T00:01:00.000Z',
            ...nothing,
          },
          { org_id: 'gamma', role: 'member', status: 'invited', invited_at: at, joined_at: null, ...nothing },
        ],
        total: 3,
        limit: 100,
        offset: 0,
      },
    }
    expect(await send(beta, 'GET', `/federations/${id}/members`)).toEqual(members)
    expect(await send(acme, 'GET', `/federations/${id}/members`)).toEqual(members)
  })

  it('is not changed by another invitation, before or after joining', async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found(['beta'])
    const acme = await keyOf('acme')
    await send(acme, 'POST', `/federations/${id}/invite`, { org_ids: ['gamma'] })
    const before = await send(acme, 'GET', `/federations/${id}/members`)
    expect(
      await send(acme, 'POST', `/federations/${id}/invite`, { org_ids: ['gamma', 'beta', 'acme', 'zeta'] }),
    ).toEqual({ status: 200, body: { federation_id: id, invited: ['zeta'], skipped: ['gamma', 'beta', 'acme'] } })
    const after = await send(acme, 'GET', `/federations/${id}/members`)
    expect((after.body.members as unknown[]).slice(0, 3)).toEqual(before.body.members)
  })

  it('requires an invitation, unless the key is bound to no organization', async () => {
    const { send, keyOf, found, admin } = await openFederation()
    const id = await found()
    const beta = await keyOf('beta')
    expect(await send(beta, 'POST', `/federations/${id}/join`, { org_id: 'beta' })).toEqual(missing('Federation', id))
    expect(await send(admin, 'POST', `/federations/${id}/join`, { org_id: 'beta' })).toMatchObject({ status: 200 })
    expect(await send(beta, 'GET', `/federations/${id}`)).toMatchObject({ body: { member_count: 2 } })
  })

  it("is accepted with a bound key only for the key's own organization", async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found(['beta'])
    const beta = await keyOf('beta')
    await send(await keyOf('acme'), 'POST', `/federations/${id}/invite`, { org_ids: ['gamma'] })
    expect(await send(beta, 'POST', `/federations/${id}/join`, { org_id: 'gamma' })).toEqual(
      refused(
        "This key is bound to a different organization than 'gamma'. Leave the organization out, or use a key of 'gamma'.",
      ),
    )
  })

  it('gives no rights before joining, except to see the federation', async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found()
    const beta = await keyOf('beta')
    await send(await keyOf('acme'), 'POST', `/federations/${id}/invite`, { org_ids: ['beta'] })
    const message =
      "'beta' is invited to federation 'league' but has not joined. Join it first: " +
      `POST /api/v1/federations/${id}/join.`
    for (const path of ['members', 'models', 'privacy', 'privacy/history']) {
      expect(await send(beta, 'GET', `/federations/${id}/${path}`)).toEqual(refused(message))
    }
  })

  it("leaves the owner's actions to the owner", async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found(['beta'])
    const [beta, gamma] = [await keyOf('beta'), await keyOf('gamma')]
    const message = "Federation 'league' belongs to 'acme': only its owner may do this."
    const calls = [
      ['POST', 'invite', { org_ids: ['gamma'] }],
      ['POST', 'models', { model_id: nowhere }],
      ['PUT', 'privacy/budget', { total_epsilon_budget: 1 }],
      ['DELETE', `models/${nowhere}`, undefined],
    ] as const
    const toStrangers = `Federation '${id}' does not belong to 'gamma': only its owner may do this.`
    for (const [method, path, body] of calls) {
      expect(await send(beta, method, `/federations/${id}/${path}`, body)).toEqual(refused(message))
      expect(await send(gamma, method, `/federations/${id}/${path}`, body)).toEqual(refused(toStrangers))
      expect(await send(gamma, method, `/federations/${nowhere}/${path}`, body)).toEqual(missing('Federation', nowhere))
      if (body !== undefined) {
        expect(await send(beta, method, `/federations/${id}/${path}`, {})).toEqual(refused(message))
        expect(await send(gamma, method, `/federations/${id}/${path}`, {})).toEqual(refused(toStrangers))
      }
    }
  })

  it('shows nothing to other organizations, whatever they request', async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found(['beta'])
    const gamma = await keyOf('gamma')
    for (const path of ['', '/members', '/models', '/privacy', '/privacy/history', '/privacy/estimate']) {
      expect(await send(gamma, 'GET', `/federations/${id}${path}`)).toEqual(missing('Federation', id))
    }
    const none = { status: 200, body: { federations: [], total: 0, limit: 100, offset: 0 } }
    expect(await send(gamma, 'GET', '/federations')).toEqual(none)
    expect(await send(gamma, 'GET', '/federations?org_id=acme')).toEqual(none)
    expect(await send(gamma, 'GET', '/federations?name=league')).toEqual(none)
    expect(await send(gamma, 'GET', '/federations/league')).toEqual(missing('Federation', 'league'))
  })

  it('can be ended by the member or the owner, but never for the owner', async () => {
    const { send, keyOf, found } = await openFederation()
    const id = await found(['beta', 'gamma'])
    const [acme, beta, gamma] = [await keyOf('acme'), await keyOf('beta'), await keyOf('gamma')]
    expect(await send(beta, 'DELETE', `/federations/${id}/members/gamma`)).toEqual(
      refused("Only 'gamma' itself and the owner, 'acme', can end this membership."),
    )
    expect(await send(beta, 'DELETE', `/federations/${id}/members/beta`)).toEqual({
      status: 200,
      body: { federation_id: id, org_id: 'beta', message: "'beta' is no longer a member of 'league'." },
    })
    expect(await send(beta, 'GET', `/federations/${id}`)).toEqual(missing('Federation', id))
    expect((await send(acme, 'DELETE', `/federations/${id}/members/gamma`)).status).toBe(200)
    expect(await send(gamma, 'GET', `/federations/${id}`)).toEqual(missing('Federation', id))
    expect(await send(acme, 'DELETE', `/federations/${id}/members/gamma`)).toEqual(
      missing('Member', 'gamma', "of federation 'league'"),
    )
    expect(await send(acme, 'DELETE', `/federations/${id}/members/acme`)).toMatchObject({
      status: 409,
      body: { message: "'acme' owns the federation and cannot leave it." },
    })
  })
})
