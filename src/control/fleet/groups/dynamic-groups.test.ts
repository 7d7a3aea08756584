import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../../../test/databases.ts'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { startWorld } from '../../../../test/world.ts'
import { conditionOf } from '../../../domain/condition-text.ts'
import { FILTER_CASES, FILTERED_DEVICES } from '../../../domain/device-filter.fixture.ts'
import type { Context } from '../../context.ts'
import { createDynamicGroups } from './dynamic-groups.service.ts'

const openOrganization = boundOrganizations()

interface Group {
  readonly id: string
  readonly device_count: number
}

const where = (...texts: readonly string[]) => texts.map((text) => conditionOf(text)!)

const setUp = async () => {
  const { world, org, key } = await openOrganization()
  const ask = (method: string, path: string, body?: object) => world.request(method, `/api/v1${path}`, { key, body })
  const create = async (filter: object | null, name = 'phones'): Promise<string> => {
    const { status, body } = await ask('POST', '/device-groups', { org_id: org, name, filter })
    expect(status).toBe(201)
    return (body as Group).id
  }
  /** Also compares the group's count. */
  const membersOf = async (id: string): Promise<string> => {
    const { devices } = (await ask('GET', `/device-groups/${id}/devices`)).body as {
      devices: { device_identifier: string }[]
    }
    const { device_count } = (await ask('GET', `/device-groups/${id}`)).body as Group
    expect(device_count).toBe(devices.length)
    return devices.map(({ device_identifier }) => device_identifier).join(' ')
  }
  const beat = (name: string, body: object) => ask('PUT', `/devices/${name}/heartbeat`, body)
  return { world, org, key, ask, create, membersOf, beat }
}

describe('a dynamic group', () => {
  it('has the devices that match its filter, those registered before it and later ones', async () => {
    const { world, ask, create, membersOf } = await setUp()
    const phone = { platform: 'android', capabilities: { memory_gb: 8, gpu: true } }
    await world.register('before', phone)
    await world.register('small', { ...phone, capabilities: { memory_gb: 4, gpu: true } })
    const id = await create(where('platform=android', 'memory_gb>=6', 'gpu=true'))
    expect(await membersOf(id)).toBe('before')
    await world.register('after', phone)
    await world.register('server', { ...phone, platform: 'linux' })
    expect(await membersOf(id)).toBe('before after')
    const filter = encodeURIComponent(JSON.stringify(where('memory_gb<6', 'platform=android')))
    expect((await ask('GET', `/fleet/devices?filter=${filter}`)).body).toMatchObject({
      devices: [{ device_id: 'small' }],
      total: 1,
    })
    expect((await ask('GET', `/fleet/devices?filter=${filter}&q=server`)).body).toMatchObject({ total: 0 })
    expect((await ask('GET', `/device-groups/${id}`)).body).toMatchObject({
      group_type: 'dynamic',
      device_count: 2,
      filter: [
        { field: 'platform', op: 'eq', value: 'android' },
        { field: 'capabilities.memory_gb', op: 'gte', value: 6 },
        { field: 'capabilities.gpu', op: 'eq', value: true },
      ],
    })
  })

  it('has the same devices whether they are compared in the database or in memory', async () => {
    const { world, create, membersOf } = await setUp()
    const register = async (prefix: string) => {
      for (const { deviceId, ...fields } of FILTERED_DEVICES) await world.register(`${prefix}${deviceId}`, fields)
    }
    const sorted = (names: string) => names.split(' ').filter(Boolean).sort()
    await register('')
    const groups = await Promise.all(
      FILTER_CASES.map(async ([field, op, value, matching], at) => {
        const id = await create([{ field, op, value }], `case-${at}`)
        expect([field, op, value, sorted(await membersOf(id))]).toEqual([field, op, value, sorted(matching)])
        return { id, field, op, value, matching }
      }),
    )
    await register('2-')
    await Promise.all(
      groups.map(async ({ id, field, op, value, matching }) => {
        if (field === 'device_id') return
        const all = [...sorted(matching), ...sorted(matching).map((name) => `2-${name}`)]
        expect([field, op, value, sorted(await membersOf(id))]).toEqual([field, op, value, all.sort()])
      }),
    )
  })

  it('follows what a heartbeat changes, and a change of its filter', async () => {
    const { world, ask, create, membersOf, beat } = await setUp()
    await world.register('a')
    await world.register('b', { trains: false })
    const id = await create(where('trains=true'))
    expect(await membersOf(id)).toBe('a')
    await beat('a', { trains: false })
    await beat('b', { trains: true })
    await beat('b', { status: 'inactive' })
    expect(await membersOf(id)).toBe('b')
    await ask('PUT', `/device-groups/${id}`, { filter: where('trains=false') })
    expect(await membersOf(id)).toBe('a')
    await ask('PUT', `/device-groups/${id}`, { name: 'renamed' })
    await beat('a', { trains: true })
    expect(await membersOf(id)).toBe('')
  })

  it('follows capabilities that a heartbeat reports; those that it does not name stay, within limits', async () => {
    const { world, ask, create, membersOf, beat } = await setUp()
    await world.register('a', { capabilities: { site: 'lab', memory_gb: 4, os: { version: 1, name: 'x' } } })
    const id = await create(where('memory_gb>=6', 'site=lab'))
    expect(await membersOf(id)).toBe('')
    const { headers } = await beat('a', { capabilities: { memory_gb: 8, os: { version: 2 }, load: 1e39 } })
    expect(headers.get('x-service-warning')).toContain("capabilities: 'load' became null")
    expect(await membersOf(id)).toBe('a')
    const reported = async () =>
      ((await ask('GET', '/devices/a')).body as { capabilities: Record<string, unknown> }).capabilities
    const expected = { site: 'lab', memory_gb: 8, os: { version: 2 }, load: null }
    expect(await reported()).toEqual(expected)
    await beat('a', { metrics: { x: 1 } })
    expect(await reported()).toEqual(expected)
    // Reports of ever different capabilities do not grow.
    for (let n = 0; n < 12; n++) await beat('a', { capabilities: { [`k${n}`]: 'x'.repeat(15_000) } })
    expect(JSON.stringify(await reported()).length).toBeLessThan(128 * 1024)
    expect(await membersOf(id)).toBe('')
  })

  it('is changed only through its filter, until it is static again', async () => {
    const { world, ask, create, membersOf } = await setUp()
    await world.register('a')
    await world.register('b')
    const id = await create(null)
    await ask('POST', `/device-groups/${id}/devices/b`)
    await ask('PUT', `/device-groups/${id}`, { filter: where('device_id=a') })
    expect(await membersOf(id)).toBe('a')
    const refused = {
      status: 409,
      body: {
        error: 'conflict',
        message:
          "Device group 'phones' is dynamic: it has the devices that match its filter. Change its filter, or make it static with " +
          '"filter": null (svc groups update --static), which keeps its devices.',
        status_code: 409,
      },
    }
    for (const [method, path, body] of [
      ['POST', '/devices', { device_ids: ['b'] }],
      ['DELETE', '/devices', { device_ids: ['a'] }],
      ['POST', '/devices/b'],
      ['DELETE', '/devices/a'],
    ] as const) {
      expect(await ask(method, `/device-groups/${id}${path}`, body)).toMatchObject(refused)
    }
    expect(await membersOf(id)).toBe('a')
    const made = await ask('PUT', `/device-groups/${id}`, { filter: null })
    expect(made.body).toMatchObject({ group_type: 'static', filter: null, device_count: 1 })
    await ask('POST', `/device-groups/${id}/devices/b`)
    expect(await membersOf(id)).toBe('a b')
  })

  it('gives a device that joins the version that a rollout delivers to the group', async () => {
    const { world, key, ask, create } = await setUp()
    const id = await create(where('platform=android'))
    await createModel(world, key, 'm', ['1.0.0'])
    const rollout = { version: '1.0.0', rollout_percentage: 100, group: id }
    expect((await ask('POST', '/models/m/rollouts', rollout)).status).toBe(201)
    const assigned = async (name: string, fields: object) => {
      await world.register(name, fields)
      const { assignments = [] } = (await ask('PUT', `/devices/${name}/heartbeat`)).body as { assignments?: object[] }
      return assignments
    }
    expect(await assigned('phone', { platform: 'android' })).toMatchObject([{ kind: 'rollout', version: '1.0.0' }])
    expect(await assigned('server', { platform: 'linux' })).toEqual([])
  })

  it('has no devices of other organizations; that of `default` has devices without one', async () => {
    const { world, org, create, membersOf } = await setUp()
    const open = await startWorld()
    await open.register('unbound')
    const { key } = await open.register('own', { org_id: 'default' })
    await open.register('foreign', { org_id: 'acme' })
    const made = async (org_id: string) => {
      const body = { org_id, name: 'all', filter: where('device_id') }
      return ((await open.request('POST', '/api/v1/device-groups', { key, body })).body as Group).device_count
    }
    expect([await made('default'), await made('acme')]).toEqual([2, 1])
    await world.register('mine')
    await world.register('theirs', { org_id: `${org}-other` })
    expect(await membersOf(await create(where('device_id')))).toBe('mine')
  })

  it('is refused with a filter that is wrong, naming the field', async () => {
    const { org, ask, create } = await setUp()
    const id = await create(where('gpu'))
    const bad = [{ field: 'platform', op: 'eq', value: 'andriod' }]
    for (const [method, path, body, field] of [
      ['POST', '/device-groups', { org_id: org, name: 'x', filter: bad }, 'filter[0].value must be one of ios'],
      ['POST', '/device-groups', { org_id: org, name: 'x', filter: [] }, 'filter must'],
      [
        'POST',
        '/device-groups',
        { org_id: org, name: 'x', filter: [{ field: 'gpu', op: 'eq', value: 1 }] },
        'filter[0].field must be',
      ],
      ['POST', '/device-groups', { org_id: org, name: 'x', filter: where('gpu'), group_type: 'lab' }, 'group_type'],
      ['PUT', `/device-groups/${id}`, { filter: bad }, 'filter[0].value must be one of ios'],
      ['GET', '/fleet/devices?filter=gpu', undefined, 'filter must be a JSON list'],
      ['GET', '/fleet/devices?filter={}', undefined, 'filter must be a list of 1 to 16 conditions'],
      ['GET', `/fleet/devices?filter=${'['.repeat(7000)}`, undefined, 'filter is nested deeper than 100 levels.'],
    ] as const) {
      expect(await ask(method, path, body)).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(field) },
      })
    }
  })

  it('is completed after its process has ended, for a filter and for a device', async () => {
    const { world, org, create, membersOf, beat } = await setUp()
    const { sql: db } = world.database!
    // More than two batches; the process that registered d1 ended before it determined the device's groups.
    await sql`
      insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at,
        groups_outdated)
      select gen_random_uuid(), 'd' || n, ${org}, 'linux', jsonb_build_object('n', n), 'active', at, at, at, n = 1
      from generate_series(1, 2300) as n, to_timestamp(0) as at`.execute(db)
    const id = await create(where('n>2298'))
    expect((await membersOf(id)).split(' ').sort()).toEqual(['d2299', 'd2300'])
    await sql`update device_groups set filter_change = gen_random_uuid(),
      filter = ${JSON.stringify(where('n in (3, 1200, 2300)'))}::jsonb where id = ${id}`.execute(db)
    await world.advance(0)
    expect((await membersOf(id)).split(' ').sort()).toEqual(['d1200', 'd2300', 'd3'])
    await sql`delete from device_group_members where group_id = ${id}`.execute(db)
    await sql`update device_groups set device_count = 0, filter = ${JSON.stringify(where('n<3'))}::jsonb where id = ${id}`.execute(
      db,
    )
    await beat('d1', {})
    await beat('d2', {})
    expect(await membersOf(id)).toBe('d1')
  })

  it('is right after devices registered and changed while its filter changed', async () => {
    const { world, ask, create, membersOf, beat } = await setUp()
    const id = await create(where('trains=true'))
    const names = Array.from({ length: 60 }, (_, n) => `d${n}`)
    await Promise.all([
      ...names.map(async (name, n) => {
        await world.register(name, { trains: n % 2 === 0, capabilities: { n } })
        await beat(name, { trains: n % 3 === 0 })
      }),
      (async () => {
        for (let n = 0; n < 10; n++) {
          await ask('PUT', `/device-groups/${id}`, { filter: where(n % 2 === 0 ? 'n<30' : 'trains=true') })
        }
      })(),
    ])
    const expected = names.filter((_, n) => n % 3 === 0)
    expect((await membersOf(id)).split(' ').sort()).toEqual(expected.sort())
  })

  it('does not fail a registration, whose key would be lost, if its groups cannot be determined', async () => {
    const database = await openTestDatabase()
    await sql`drop table device_groups cascade`.execute(database.sql)
    const logged: unknown[] = []
    const log = { error: (fields: object) => logged.push(fields) }
    const context = { database, log, now: () => new Date() } as unknown as Context
    await createDynamicGroups(context).registered([{ id: randomUUID(), deviceId: 'a', orgId: null }])
    expect(logged).toMatchObject([{ err: { message: expect.stringContaining('device_groups') }, devices: 1 }])
  })
})
