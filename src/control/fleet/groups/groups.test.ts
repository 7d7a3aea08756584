import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { startWorld, type World, type WorldOptions } from '../../../../test/world.ts'

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const at = '2026-01-01T00:00:00.000Z'
const nowhere = '00000000-0000-4000-8000-000000000000'

interface GroupBody {
  readonly id: string
  readonly device_count: number
}

const openOrganization = boundOrganizations()

/** With `options`, in a service of its own. */
const setUp = async (options?: WorldOptions) => {
  const organization = options ? null : await openOrganization()
  const world = organization?.world ?? (await startWorld(options))
  const operator = await world.register('operator')
  const { org, key } = organization ?? { org: 'acme', key: operator.key }
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await world.request(method, `/api/v1/device-groups${path}`, { key, body })
    return { status: response.status, body: response.body }
  }
  const create = async (name = 'canaries', fields: object = {}): Promise<string> => {
    const made = await ask('POST', '', { org_id: org, name, ...fields })
    expect(made.status).toBe(201)
    return (made.body as GroupBody).id
  }
  const membersOf = async (id: string, query = '') => {
    const { body } = await ask('GET', `/${id}/devices${query}`)
    return body as { devices: { device_identifier: string; added_by: string | null }[]; total: number }
  }
  const countOf = async (id: string) => ((await ask('GET', `/${id}`)).body as GroupBody).device_count
  return { world, org, key, ask, create, membersOf, countOf }
}

describe('a device group', () => {
  it('is created, read, listed in the order of creation, changed, and deleted', async () => {
    const { ask } = await setUp({})
    const made = await ask('POST', '', {
      org_id: 'acme',
      name: 'canaries',
      description: 'first to try',
      group_type: 'bench',
      tags: ['lab', 'berlin'],
    })
    const canaries = {
      id: uuid,
      org_id: 'acme',
      name: 'canaries',
      description: 'first to try',
      group_type: 'bench',
      tags: ['lab', 'berlin'],
      device_count: 0,
      filter: null,
      created_at: at,
    }
    expect(made).toEqual({ status: 201, body: canaries })
    const { id } = made.body as GroupBody
    expect(await ask('GET', `/${id}`)).toEqual({ status: 200, body: { ...canaries, id } })
    const others = { ...canaries, name: 'others', description: '', group_type: 'static', tags: [] }
    expect(await ask('POST', '', { org_id: 'acme', name: 'others' })).toEqual({ status: 201, body: others })
    expect(await ask('GET', '?org_id=acme')).toEqual({
      status: 200,
      body: { groups: [{ ...canaries, id }, others], total: 2, limit: 100, offset: 0 },
    })
    expect(await ask('GET', '?org_id=acme&limit=1&offset=1')).toEqual({
      status: 200,
      body: { groups: [others], total: 2, limit: 1, offset: 1 },
    })
    expect(await ask('GET', '?org_id=umbrella')).toMatchObject({ body: { groups: [], total: 0 } })
    const changed = { ...canaries, id, name: 'birds', tags: [] }
    expect(await ask('PUT', `/${id}`, { name: 'birds', tags: [], filter: null })).toEqual({
      status: 200,
      body: changed,
    })
    expect(await ask('PUT', `/${id}`, {})).toEqual({ status: 200, body: changed })
    expect(await ask('DELETE', `/${id}`)).toEqual({ status: 200, body: { group_id: id, deleted: true } })
    expect((await ask('GET', `/${id}`)).status).toBe(404)
    expect(await ask('GET', '?org_id=acme')).toMatchObject({ body: { total: 1 } })
  })

  it('leaves its devices registered when it is deleted', async () => {
    const { world, key, ask, create } = await setUp()
    const id = await create()
    await ask('POST', `/${id}/devices/operator`)
    await ask('DELETE', `/${id}`)
    expect((await world.request('GET', '/api/v1/devices/operator', { key })).status).toBe(200)
    const again = await create()
    expect(await ask('GET', `/${again}/devices`)).toMatchObject({ body: { devices: [], total: 0 } })
  })

  it('has a unique name in its organization, which another organization may use too', async () => {
    const { ask, create } = await setUp({})
    await create('canaries')
    const other = await create('others')
    const taken = {
      status: 409,
      body: {
        error: 'conflict',
        message: "This organization already has a device group named 'canaries'. Choose another name.",
        status_code: 409,
      },
    }
    expect(await ask('POST', '', { org_id: 'acme', name: 'canaries' })).toEqual(taken)
    expect(await ask('PUT', `/${other}`, { name: 'canaries' })).toEqual(taken)
    await create('canaries', { org_id: 'umbrella' })
  })

  it('is refused with invalid fields, naming the field', async () => {
    const { org, ask, create } = await setUp()
    const id = await create()
    const tooMany = Array.from({ length: 1001 }, () => 'd')
    const table = [
      ['POST', '', {}, 'org_id'],
      ['POST', '', { org_id: org }, 'name'],
      ['POST', '', { name: 'x' }, 'org_id'],
      ['POST', '', { org_id: '', name: 'x' }, 'org_id'],
      ['POST', '', { org_id: org, name: '' }, 'name'],
      ['POST', '', { org_id: org, name: 'x'.repeat(256) }, 'name'],
      ['POST', '', { org_id: org, name: nowhere }, 'name'],
      ['POST', '', { org_id: org, name: 7 }, 'name'],
      ['POST', '', { org_id: org, name: 'x', description: 'y'.repeat(1001) }, 'description'],
      ['POST', '', { org_id: org, name: 'x', group_type: '' }, 'group_type'],
      ['POST', '', { org_id: org, name: 'x', tags: 'lab' }, 'tags'],
      ['POST', '', { org_id: org, name: 'x', tags: [''] }, 'tags'],
      ['GET', '', undefined, 'org_id'],
      ['GET', `?org_id=${org}&limit=0`, undefined, 'limit'],
      ['GET', `?org_id=${org}&limit=1001`, undefined, 'limit'],
      ['GET', `?org_id=${org}&offset=-1`, undefined, 'offset'],
      ['PUT', '/:id', { name: '' }, 'name'],
      ['PUT', '/:id', { name: nowhere }, 'name'],
      ['PUT', '/:id', { tags: [1] }, 'tags'],
      ['GET', '/:id/devices?limit=1001', undefined, 'limit'],
      ['GET', '/:id/devices?offset=x', undefined, 'offset'],
      ['POST', '/:id/devices', {}, 'device_ids'],
      ['POST', '/:id/devices', { device_ids: 'operator' }, 'device_ids'],
      ['POST', '/:id/devices', { device_ids: [1] }, 'device_ids'],
      ['POST', '/:id/devices', { device_ids: tooMany }, 'device_ids'],
      ['POST', '/:id/devices', { device_ids: [], added_by: '' }, 'added_by'],
      ['DELETE', '/:id/devices', {}, 'device_ids'],
      ['DELETE', '/:id/devices', { device_ids: tooMany }, 'device_ids'],
    ] as const
    for (const [method, path, body, field] of table) {
      const response = await ask(method, path.replace(':id', id), body)
      expect([method, path, field, response]).toMatchObject([
        method,
        path,
        field,
        { status: 400, body: { error: 'bad_request', message: expect.stringContaining(field), status_code: 400 } },
      ])
    }
  })

  it('that does not exist is 404 before any other error', async () => {
    const { ask } = await setUp()
    const table = [
      ['GET', '/:id', undefined],
      ['PUT', '/:id', { name: 7 }],
      ['DELETE', '/:id', undefined],
      ['GET', '/:id/devices?limit=0', undefined],
      ['POST', '/:id/devices', {}],
      ['DELETE', '/:id/devices', {}],
      ['POST', '/:id/devices/operator', undefined],
      ['DELETE', '/:id/devices/operator', undefined],
    ] as const
    for (const [method, path, body] of table) {
      for (const id of [nowhere, 'canaries']) {
        const message = `Device group '${id}' does not exist, or this key has no access to it.`
        expect([method, path, await ask(method, path.replace(':id', id), body)]).toEqual([
          method,
          path,
          { status: 404, body: { error: 'not_found', message, status_code: 404 } },
        ])
      }
    }
  })
})

describe('the devices of a group', () => {
  it('are added and removed one by one; repeating it changes nothing', async () => {
    const { ask, create, membersOf, countOf } = await setUp({})
    const id = await create()
    const one = `/${id}/devices/operator`
    expect(await ask('POST', one)).toEqual({ status: 200, body: { group_id: id, added: ['operator'], skipped: [] } })
    expect(await ask('POST', one)).toEqual({ status: 200, body: { group_id: id, added: [], skipped: ['operator'] } })
    expect(await countOf(id)).toBe(1)
    expect(await membersOf(id)).toEqual({
      devices: [
        {
          id: uuid,
          device_identifier: 'operator',
          org_id: 'acme',
          platform: 'unknown',
          status: 'active',
          last_seen_at: at,
          added_by: null,
          added_at: at,
        },
      ],
      total: 1,
      limit: 100,
      offset: 0,
    })
    expect(await ask('DELETE', one)).toEqual({
      status: 200,
      body: { group_id: id, removed: ['operator'], skipped: [] },
    })
    expect(await ask('DELETE', one)).toEqual({
      status: 200,
      body: { group_id: id, removed: [], skipped: ['operator'] },
    })
    expect(await countOf(id)).toBe(0)
    for (const method of ['POST', 'DELETE']) {
      expect(await ask(method, `/${id}/devices/ghost`)).toEqual({
        status: 404,
        body: {
          error: 'not_found',
          message: "Device 'ghost' does not exist, or this key has no access to it.",
          status_code: 404,
        },
      })
    }
  })

  it('are added in a batch with their label; members and unknown ids are skipped, each once', async () => {
    const { world, org, ask, create, membersOf } = await setUp()
    const id = await create()
    await world.register('a')
    await world.register('stranger', { org_id: 'umbrella' })
    await world.register('gerät/1', { org_id: org })
    expect(
      await ask('POST', `/${id}/devices`, { device_ids: ['gerät/1', 'ghost', 'a', 'a', 'stranger'], added_by: 'ops' }),
    ).toEqual({ status: 200, body: { group_id: id, added: ['gerät/1', 'a'], skipped: ['ghost', 'stranger'] } })
    await world.advance(60)
    expect(await ask('POST', `/${id}/devices`, { device_ids: ['operator', 'a'], added_by: 'night shift' })).toEqual({
      status: 200,
      body: { group_id: id, added: ['operator'], skipped: ['a'] },
    })
    expect((await ask('POST', `/${id}/devices/stranger`)).status).toBe(404)
    const { devices, total } = await membersOf(id)
    expect(total).toBe(3)
    expect(devices.map((device) => [device.device_identifier, device.added_by])).toEqual([
      ['a', 'ops'],
      ['gerät/1', 'ops'],
      ['operator', 'night shift'],
    ])
    expect((await membersOf(id, '?limit=1&offset=1')).devices.map((device) => device.device_identifier)).toEqual([
      'gerät/1',
    ])
    expect(await ask('DELETE', `/${id}/devices`, { device_ids: ['a', 'ghost', 'operator', 'a'] })).toEqual({
      status: 200,
      body: { group_id: id, removed: ['a', 'operator'], skipped: ['ghost'] },
    })
    expect(await membersOf(id)).toMatchObject({ total: 1 })
    expect(await ask('POST', `/${id}/devices`, { device_ids: [] })).toEqual({
      status: 200,
      body: { group_id: id, added: [], skipped: [] },
    })
  })

  it('can be added 1,000 at a time', async () => {
    const { world, ask, create, countOf } = await setUp()
    const names = Array.from({ length: 1000 }, (_, n) => `d${n}`)
    const known = names.filter((_, n) => n % 10 === 0)
    const unknown = names.filter((_, n) => n % 10 !== 0)
    await Promise.all(known.map((name) => world.register(name)))
    const id = await create()
    expect(await ask('POST', `/${id}/devices`, { device_ids: names })).toEqual({
      status: 200,
      body: { group_id: id, added: known, skipped: unknown },
    })
    expect(await countOf(id)).toBe(100)
    expect(await ask('DELETE', `/${id}/devices`, { device_ids: names })).toEqual({
      status: 200,
      body: { group_id: id, removed: known, skipped: unknown },
    })
    expect(await countOf(id)).toBe(0)
  })

  describe.each(['embedded', 'postgres'] as const)('changed concurrently (%s)', (database) => {
    it.skipIf(database === 'postgres' && !hasPostgres())('are counted correctly', async () => {
      const { world, ask, create, membersOf, countOf } = await setUp({ database })
      const names = Array.from({ length: 30 }, (_, n) => `d${n}`)
      await Promise.all(names.map((name) => world.register(name)))
      const id = await create()
      const overlapping = (n: number) => ({ device_ids: [...names.slice(n), ...names.slice(0, n)].slice(0, 20) })
      const changes = names.flatMap((name, n) => [
        () => ask('POST', `/${id}/devices`, overlapping(n)),
        () => ask('DELETE', `/${id}/devices`, overlapping((n + 7) % 30)),
        () => ask(n % 2 === 0 ? 'POST' : 'DELETE', `/${id}/devices/${name}`),
      ])
      // As many at once as there are connections to the database: on a busy machine, more would wait too long for one.
      const responses: Awaited<ReturnType<typeof ask>>[] = []
      for (let n = 0; n < changes.length; n += 9) {
        responses.push(...(await Promise.all(changes.slice(n, n + 9).map((change) => change()))))
      }
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
      const { devices, total } = await membersOf(id)
      expect(await countOf(id)).toBe(devices.length)
      expect(total).toBe(devices.length)
      const moved = (field: string) =>
        responses.flatMap(({ body }) => (body as Record<string, string[] | undefined>)[field] ?? []).length
      expect(moved('added') - moved('removed')).toBe(devices.length)
    })
  })
})

describe('under token enrollment', () => {
  const setUpOrgs = async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey ?? ''
    const keyFor = async (org: string, scopes: readonly string[]): Promise<string> => {
      const { body } = await world.request('POST', '/api/v1/keys', {
        key: admin,
        body: { name: `${org} ${scopes}`, org_id: org, scopes },
      })
      return (body as { api_key: string }).api_key
    }
    return { world, admin, keyFor }
  }
  const send = (world: World, key: string, method: string, path: string, body?: unknown) =>
    world.request(method, `/api/v1/device-groups${path}`, { key, body })
  const both = ['devices:read', 'devices:write']

  it('a key sees and changes only the groups and devices of its organization', async () => {
    const { world, admin, keyFor } = await setUpOrgs()
    const [acme, umbrella] = [await keyFor('acme', both), await keyFor('umbrella', both)]
    const register = (key: string, device_id: string) =>
      world.request('POST', '/api/v1/devices/register', { key, body: { device_id } })
    await register(acme, 'ours')
    await register(umbrella, 'theirs')
    await register(admin, 'nobodys')
    const { body } = await send(world, acme, 'POST', '', { org_id: 'acme', name: 'canaries' })
    const { id } = body as GroupBody
    const foreign = [
      ['GET', `/${id}`, undefined],
      ['PUT', `/${id}`, { name: 'mine' }],
      ['DELETE', `/${id}`, undefined],
      ['GET', `/${id}/devices`, undefined],
      ['POST', `/${id}/devices`, { device_ids: ['theirs'] }],
      ['DELETE', `/${id}/devices`, { device_ids: ['ours'] }],
      ['POST', `/${id}/devices/theirs`, undefined],
      ['DELETE', `/${id}/devices/ours`, undefined],
    ] as const
    for (const [method, path, fields] of foreign) {
      expect([method, path, (await send(world, umbrella, method, path, fields)).status]).toEqual([method, path, 404])
    }
    expect((await send(world, umbrella, 'GET', '?org_id=acme')).body).toMatchObject({ groups: [], total: 0 })
    expect((await send(world, acme, 'GET', '?org_id=acme')).body).toMatchObject({ total: 1 })
    expect(await send(world, umbrella, 'POST', '', { org_id: 'acme', name: 'x' })).toMatchObject({
      status: 403,
      body: { error: 'forbidden' },
    })
    const names = { device_ids: ['ours', 'theirs', 'nobodys'] }
    expect((await send(world, acme, 'POST', `/${id}/devices`, names)).body).toEqual({
      group_id: id,
      added: ['ours'],
      skipped: ['theirs', 'nobodys'],
    })
    expect((await send(world, admin, 'POST', `/${id}/devices`, names)).body).toEqual({
      group_id: id,
      added: [],
      skipped: ['ours', 'theirs', 'nobodys'],
    })
    expect((await send(world, admin, 'POST', `/${id}/devices/theirs`)).status).toBe(404)
  })

  it('reading needs devices:read, everything else devices:write, and the error names it', async () => {
    const { world, admin, keyFor } = await setUpOrgs()
    const { body } = await send(world, admin, 'POST', '', { org_id: 'acme', name: 'canaries' })
    const { id } = body as GroupBody
    const reader = await keyFor('acme', ['devices:read'])
    const modeler = await keyFor('acme', ['models:read', 'models:write'])
    const table = [
      ['GET', '?org_id=acme', 'devices:read'],
      ['GET', `/${id}`, 'devices:read'],
      ['GET', `/${id}/devices`, 'devices:read'],
      ['POST', '', 'devices:write'],
      ['PUT', `/${id}`, 'devices:write'],
      ['DELETE', `/${id}`, 'devices:write'],
      ['POST', `/${id}/devices`, 'devices:write'],
      ['DELETE', `/${id}/devices`, 'devices:write'],
      ['POST', `/${id}/devices/d`, 'devices:write'],
      ['DELETE', `/${id}/devices/d`, 'devices:write'],
    ] as const
    for (const [method, path, scope] of table) {
      const refused = await send(world, scope === 'devices:read' ? modeler : reader, method, path)
      expect([method, path, refused.status]).toEqual([method, path, 403])
      expect((refused.body as { message: string }).message).toContain(scope)
    }
  })
})
