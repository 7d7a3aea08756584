import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'

interface Page {
  readonly devices: readonly { readonly device_id: string; readonly org_id: string | null }[]
  readonly next: string | null
  readonly total: number | null
}

const keyOf = async (world: World, org_id: string): Promise<string> => {
  const body = { name: org_id, org_id, scopes: ['devices:read', 'devices:write'] }
  const { body: made } = await world.request('POST', '/api/v1/keys', { key: world.service.firstAdminKey!, body })
  return (made as { api_key: string }).api_key
}

/** Two organizations with seven devices each, registered in pairs, both of a pair at the same time. */
const openFleets = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const [acme, beta] = [await keyOf(world, 'acme'), await keyOf(world, 'beta')]
  for (const [index, name] of ['f', 'b', 'd', 'a', 'g', 'c', 'e'].entries()) {
    for (const [key, kind] of [
      [acme, 'Phone'],
      [beta, 'pad'],
    ] as const) {
      const body = { device_id: `${kind}_${name}`, platform: index < 3 ? 'ios' : 'linux' }
      const { status } = await world.request('POST', '/api/v1/devices/register', { key, body })
      expect(status).toBe(201)
    }
    if (index % 2 === 1) await world.advance(600)
  }
  const search = async (key: string, query: string): Promise<Page> => {
    const { status, body } = await world.request('GET', `/api/v1/fleet/devices?${query}`, { key })
    expect(status).toBe(200)
    return body as Page
  }
  return { world, acme, beta, admin: world.service.firstAdminKey!, search }
}

const names = ({ devices }: Page): string[] => devices.map(({ device_id }) => device_id)

describe('the search of devices', () => {
  it('returns pages in every order, without gaps or repetitions, and counts on the first page', async () => {
    const { acme, admin, search } = await openFleets()
    for (const [key, total] of [
      [acme, 7],
      [admin, 14],
    ] as const) {
      for (const sort of ['device_id', 'last_seen', 'created']) {
        for (const text of ['', '&q=P']) {
          const all = names(await search(key, `sort=${sort}&limit=500${text}`))
          expect(new Set(all).size).toBe(total)
          expect(names(await search(key, `sort=${sort}&order=desc&limit=500${text}`))).toEqual(all.toReversed())
          const found: string[] = []
          let after = ''
          for (;;) {
            const page = await search(key, `sort=${sort}&limit=3${text}${after}`)
            expect(page.total).toBe(after === '' ? total : null)
            found.push(...names(page))
            if (page.next === null) break
            after = `&after=${page.next}`
          }
          expect(found).toEqual(all)
        }
      }
    }
  })

  it('finds whole names, which several organizations may use', async () => {
    const { world, acme, beta, admin, search } = await openFleets()
    for (const key of [acme, beta]) {
      for (const device_id of ['leet', 'fleet', 'Leet']) {
        const { status } = await world.request('POST', '/api/v1/devices/register', { key, body: { device_id } })
        expect(status).toBe(201)
      }
    }
    expect((await search(admin, 'device_id=leet')).devices).toMatchObject([
      { device_id: 'leet' },
      { device_id: 'leet' },
    ])
    expect(await search(acme, 'device_id=leet')).toMatchObject({ devices: [{ org_id: 'acme' }], total: 1, next: null })
  })

  it('finds parts of names in any case, and takes special characters literally', async () => {
    const { world, acme, beta, admin, search } = await openFleets()
    expect(names(await search(acme, 'q=PHONE_'))).toHaveLength(7)
    expect(names(await search(admin, 'q=NE_A'))).toEqual(['Phone_a'])
    expect(await search(acme, 'q=pad')).toEqual({ devices: [], next: null, total: 0 })
    for (const sign of ['%25', '__', '%5C', "'"]) expect(names(await search(admin, `q=${sign}`))).toEqual([])
    await world.request('POST', '/api/v1/devices/register', { key: beta, body: { device_id: 'Gerät-1' } })
    for (const text of ['gerä', 'GERät', 'T-1']) {
      expect(names(await search(beta, `q=${encodeURIComponent(text)}`))).toEqual(['Gerät-1'])
    }
  })

  it('filters by platform and status, and summarizes the fleet, for one organization or all that the key sees', async () => {
    const { acme, beta, admin, search, world } = await openFleets()
    expect(names(await search(acme, 'platform=ios'))).toEqual(['Phone_b', 'Phone_d', 'Phone_f'])
    expect(names(await search(acme, 'status=active'))).toEqual(['Phone_e'])
    expect(names(await search(acme, 'status=inactive&platform=ios&q=D'))).toEqual(['Phone_d'])
    const summary = async (key: string) => (await world.request('GET', '/api/v1/fleet/summary', { key })).body
    const received = (counts: Record<number, number>) => Array.from({ length: 60 }, (_, minute) => counts[minute] ?? 0)
    expect(await summary(acme)).toEqual({
      total: 7,
      active: 1,
      platforms: [
        { platform: 'linux', total: 4, active: 1 },
        { platform: 'ios', total: 3, active: 0 },
      ],
      last_heard: received({ 0: 1, 10: 2, 20: 2, 30: 2 }),
    })
    for (const path of ['devices', 'summary']) {
      const ofAcme = async (key: string) => world.request('GET', `/api/v1/fleet/${path}?org_id=acme`, { key })
      expect((await ofAcme(admin)).body).toEqual((await ofAcme(acme)).body)
      expect(await ofAcme(acme)).toMatchObject({ status: 200, body: { total: 7 } })
      expect(await ofAcme(beta)).toMatchObject({ status: 403 })
    }
    expect(await summary(admin)).toMatchObject({
      total: 14,
      active: 2,
      last_heard: received({ 0: 2, 10: 4, 20: 4, 30: 4 }),
    })
  })
})

it('a part of many names is found wherever those names are in the order', async () => {
  const { world, acme, search } = await openFleets()
  const at = new Date()
  await sql`
    insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select gen_random_uuid(), kind || '-' || n, 'acme', 'linux', '{}', 'active',
      ${at}::timestamptz + n * 7919 % 20011 * interval '1 second', ${at}, ${at}
    from generate_series(1, 10200) n, unnest('{car,van}'::text[]) kind`.execute(world.database!.sql)
  // As autovacuum does eventually: query plans for an empty table take a hundred times as long.
  await sql`analyze devices`.execute(world.database!.sql)
  const inOrder = (kind: string): string[] => Array.from({ length: 10_200 }, (_, n) => `${kind}-${n + 1}`).toSorted()
  const heard = (name: string): number => (Number(name.slice(4)) * 7919) % 20_011
  for (const [kind, total] of [
    ['car', 10_000],
    ['van', 10_000],
    ['van-9', 1111],
  ] as const) {
    const all = inOrder(kind.slice(0, 3)).filter((name) => name.startsWith(kind))
    const latest = all.toSorted((a, b) => heard(b) - heard(a))
    for (const [order, expected] of [
      ['', all],
      ['&order=desc', all.toReversed()],
      ['&sort=last_seen&order=desc', latest],
    ] as const) {
      const first = await search(acme, `q=${kind.toUpperCase()}&limit=500${order}`)
      expect({ found: names(first), total: first.total }).toEqual({ found: expected.slice(0, 500), total })
      const second = await search(acme, `q=${kind}&limit=500${order}&after=${first.next}`)
      expect(names(second)).toEqual(expected.slice(500, 1000))
    }
  }
})

it('an invalid cursor, or one of another order, is refused', async () => {
  const { acme, search, world } = await openFleets()
  const { next } = await search(acme, 'limit=2')
  const year = Buffer.from(JSON.stringify(['1', randomUUID()])).toString('base64url')
  const cursor = (moment: string) => Buffer.from(JSON.stringify([moment, randomUUID()])).toString('base64url')
  for (const moment of ['+020000-01-01T00:00:00.000Z', '-000044-03-15T00:00:00.000Z', '0000-01-01T00:00:00.000Z']) {
    const path = `/api/v1/fleet/devices?sort=created&after=${cursor(moment)}`
    expect([moment, (await world.request('GET', path, { key: acme })).status]).toEqual([moment, 400])
  }
  for (const moment of ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])
    expect(await search(acme, `sort=last_seen&after=${cursor(moment)}`)).toMatchObject({ total: null })
  const wrong = ['after=x', `after=${next}&sort=created`, `after=${year}&sort=created`, 'after=W10']
  for (const query of [...wrong, `after=${'A'.repeat(1000)}`]) {
    expect(await world.request('GET', `/api/v1/fleet/devices?${query}`, { key: acme })).toMatchObject({
      status: 400,
      body: { message: 'after must be the `next` of an earlier page, with the same sort.' },
    })
  }
})

it('devices may report 65,536 characters; lists leave out large values, which the device itself shows', async () => {
  const world = await startWorld()
  const { key } = await world.register('a', { capabilities: { ram: 8 } })
  const limit = (field: string) => ({
    status: 400,
    body: { message: `${field} must be at most 65536 characters of JSON.` },
  })
  const register = (capabilities: object) =>
    world.request('POST', '/api/v1/devices/register', { body: { device_id: 'b', capabilities } })
  expect(await register({ note: 'x'.repeat(65_526) })).toMatchObject(limit('capabilities'))
  expect(await register({ note: Array(1000).fill(1e100) })).toMatchObject(limit('capabilities'))
  expect((await register({ note: 'x'.repeat(65_525) })).status).toBe(201)
  const beat = (metrics: object) =>
    world.request('PUT', '/api/v1/devices/a/heartbeat', { key, body: { status: 'active', metrics } })
  expect(await beat({ note: 'x'.repeat(70_000) })).toMatchObject(limit('metrics'))
  expect((await beat({ battery: 0.5 })).status).toBe(200)

  // Earlier versions accepted any size.
  const large = { note: Array(20_000).fill(1e20) }
  await sql`update devices set metrics = ${JSON.stringify(large)}::jsonb where device_id = 'b'`.execute(
    world.database!.sql,
  )
  for (const query of ['', '?q=b', '?sort=created']) {
    const { body } = await world.request('GET', `/api/v1/fleet/devices${query}`, { key })
    const { devices } = body as { devices: { device_id: string }[] }
    const [a, b] = ['a', 'b'].map((id) => devices.find(({ device_id }) => device_id === id))
    if (query !== '?q=b') {
      expect(a).toMatchObject({ capabilities: { ram: 8 }, metrics: { battery: 0.5 } })
      expect(a).not.toHaveProperty('omitted')
    }
    expect(b).toMatchObject({ capabilities: {}, metrics: {}, omitted: ['capabilities', 'metrics'] })
  }
  const whole = (await world.request('GET', '/api/v1/devices/b', { key })).body
  expect(whole).toMatchObject({ capabilities: { note: 'x'.repeat(65_525) }, metrics: large })
  expect(whole).not.toHaveProperty('omitted')
})
