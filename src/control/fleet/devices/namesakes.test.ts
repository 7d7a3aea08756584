import { describe, expect, it } from 'vitest'
import { formOf, startWorld } from '../../../../test/world.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const weights = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer)

/** Two organizations, each with a device `phone`. */
const openTwins = async () => {
  const federation = await openFederation()
  const { world, send, keyOf } = federation
  const twin = async (org: string) => {
    const key = await keyOf(org)
    const { status, body } = await send(key, 'POST', '/devices/register', { device_id: 'phone' })
    expect(status).toBe(201)
    return { org, key, id: body.id as string, own: body.api_key as string }
  }
  return { ...federation, acme: await twin('acme'), beta: await twin('beta'), world }
}

const AMBIGUOUS =
  "Several organizations have a device 'phone'. Choose one with the query parameter org_id " +
  "('default' also stands for devices without an organization), or use a key of that organization."

describe('a device_id that two organizations use', () => {
  it('is unique only within its organization', async () => {
    const { send, acme, beta } = await openTwins()
    for (const { key } of [acme, beta]) {
      expect(await send(key, 'POST', '/devices/register', { device_id: 'phone' })).toMatchObject({ status: 409 })
    }
    for (const { key, id, org } of [acme, beta]) {
      expect(await send(key, 'GET', '/devices/phone')).toMatchObject({ status: 200, body: { id, org_id: org } })
    }
  })

  it('stands for the sending device in heartbeats, even in those that share a statement', async () => {
    const { world, send, admin, acme, beta } = await openTwins()
    await world.advance(60)
    const beats = await Promise.all(
      [acme, beta].map(({ own }, metric) => send(own, 'PUT', '/devices/phone/heartbeat', { metrics: { metric } })),
    )
    expect(beats.map(({ status }) => status)).toEqual([200, 200])
    const metrics = async (key: string) => (await send(key, 'GET', '/devices/phone')).body.metrics
    expect([await metrics(acme.key), await metrics(beta.key)]).toEqual([{ metric: 0 }, { metric: 1 }])
    const both = await Promise.all([
      send(admin, 'PUT', '/devices/phone/heartbeat', { metrics: { metric: 7 } }),
      send(acme.own, 'PUT', '/devices/phone/heartbeat', { metrics: { metric: 2 } }),
    ])
    expect(both).toMatchObject([{ status: 409, body: { message: AMBIGUOUS } }, { status: 200 }])
    expect(await send(admin, 'PUT', '/devices/phone/heartbeat?org_id=beta', { metrics: { metric: 3 } })).toMatchObject({
      status: 200,
    })
    expect([await metrics(acme.key), await metrics(beta.key)]).toEqual([{ metric: 2 }, { metric: 3 }])
  })
})

describe('a device_id that two organizations use', () => {
  it('is ambiguous for keys that see both', async () => {
    const { send, admin, acme, beta } = await openTwins()
    expect(await send(admin, 'GET', '/devices/phone')).toEqual({
      status: 409,
      body: { error: 'conflict', message: AMBIGUOUS, status_code: 409 },
    })
    for (const { org, id } of [acme, beta]) {
      expect(await send(admin, 'GET', `/devices/phone?org_id=${org}`)).toMatchObject({ status: 200, body: { id } })
      const given = await send(admin, 'GET', `/devices/phone/assignments?org_id=${org}`)
      expect(given).toMatchObject({ status: 200, body: { device_id: 'phone' } })
    }
    expect((await send(admin, 'GET', '/devices/phone?org_id=gamma')).status).toBe(404)
    expect((await send(acme.key, 'GET', '/devices/phone?org_id=beta')).status).toBe(404)
    expect((await send(acme.own, 'PUT', '/devices/phone/heartbeat?org_id=beta', {})).status).toBe(404)
  })

  it("joins the groups of its organization, and deployments of its organization's models", async () => {
    const { send, admin, acme } = await openTwins()
    const group = (await send(admin, 'POST', '/device-groups', { org_id: 'acme', name: 'g' })).body.id as string
    expect((await send(admin, 'POST', `/device-groups/${group}/devices/phone`)).status).toBeLessThan(300)
    const { body } = await send(admin, 'GET', `/device-groups/${group}/devices`)
    expect(body).toMatchObject({ devices: [{ id: acme.id }], total: 1 })
    const third = (await send(admin, 'POST', '/device-groups', { org_id: 'third', name: 'g' })).body.id as string
    for (const method of ['POST', 'DELETE']) {
      expect(await send(admin, method, `/device-groups/${third}/devices/phone`)).toMatchObject({ status: 404 })
    }
    await send(acme.key, 'POST', '/models', { name: 'm', framework: 'pytorch' })
    const preview = { model_name: 'm', model_version: 'latest', devices: ['phone'] }
    expect(await send(admin, 'POST', '/deploy/prepare', preview)).toMatchObject({ body: { target_count: 1 } })
    const unknown = await send(admin, 'POST', '/deploy/prepare', { ...preview, model_name: 'hf:nobody/knows' })
    expect(unknown).toMatchObject({ status: 409 })
  })

  it('has separate updates in a round of a federation, and the receipt names both and can be replayed', async () => {
    const { world, send, found, admin, acme, beta } = await openTwins()
    const federation = await found(['beta'])
    const tablet = (await send(acme.key, 'POST', '/devices/register', { device_id: 'tablet' })).body
    const round = await send(acme.key, 'POST', '/training/rounds/start', {
      target_devices: 3,
      min_devices: 3,
      federation,
    })
    expect(round.status).toBe(201)
    const id = round.body.id as string
    const parts = [
      [acme.own, weights(1, 2), 100],
      [beta.own, weights(5, 6), 300],
      [tablet.api_key as string, weights(9, 10), 100],
    ] as const
    for (const [key, file, num_samples] of parts) {
      const body = formOf(file, { num_samples })
      expect((await world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key, body })).status).toBe(201)
    }
    await world.advance(1)
    const selection = `/training/rounds/${id}/selection?device_id=phone`
    for (const org of ['acme', 'beta'])
      expect((await send(admin, 'GET', `${selection}&org_id=${org}`)).body).toMatchObject({ selected: true })
    expect((await send(admin, 'GET', `${selection}&org_id=third`)).status).toBe(404)
    const { body: receipt } = await send(acme.key, 'GET', `/training/rounds/${id}/receipt`)
    const entries = (receipt.updates as { device_id: string; org_id?: string; weight: number }[]).map(
      ({ device_id, org_id, weight }) => [device_id, org_id, weight],
    )
    expect(entries.sort()).toEqual([
      ['phone', 'acme', 0.2],
      ['phone', 'beta', 0.6],
      ['tablet', undefined, 0.2],
    ])
    expect(await send(acme.key, 'POST', `/training/rounds/${id}/receipt/replay`)).toMatchObject({
      body: { matches: true },
    })
  })
})

it('under open enrollment each device finds itself by its id, and others name the organization', async () => {
  const world = await startWorld()
  const one = await world.register('phone')
  const other = await world.register('phone', { org_id: 'acme' })
  const beat = (key: string, query = '') =>
    world.request('PUT', `/api/v1/devices/phone/heartbeat${query}`, { key, body: {} })
  expect([(await beat(one.key)).status, (await beat(other.key)).status]).toEqual([200, 200])
  const { key } = await world.register('console')
  expect([(await beat(key)).status, (await beat(key, '?org_id=acme')).status]).toEqual([409, 200])
  const found = await world.request('GET', '/api/v1/devices/phone?org_id=default', { key })
  expect(found.body).toMatchObject({ id: one.id, org_id: null })
  const again = await world.request('POST', '/api/v1/devices/register', { body: { device_id: 'phone' } })
  expect(again.status).toBe(409)
})
