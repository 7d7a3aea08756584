import { describe, expect, it } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { formOf, startWorld, type TestDevice, type World } from '../../../../test/world.ts'
import { createDevice } from '../../../sdk/device-client.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const openOrganization = organizations()

const ROUNDS = '/api/v1/training/rounds'
type Body = Readonly<Record<string, unknown>> & { readonly id: string }

const start = (world: World, key: string, fields: object = {}) =>
  world.request('POST', `${ROUNDS}/start`, { key, body: { target_devices: 2, min_devices: 1, ...fields } })
const namesIn = async (world: World, key: string, id: string) => {
  const { body } = await world.request('GET', `${ROUNDS}/${id}/participants`, { key })
  return (body as { participants: { device_identifier: string }[] }).participants.map((one) => one.device_identifier)
}
const beat = async (world: World, { deviceId, key }: TestDevice, body?: object) =>
  (await world.request('PUT', `/api/v1/devices/${deviceId}/heartbeat`, { key, body })).body as Body

describe('a device that does not train', () => {
  it('is in no round, whether it declared this at registration or in a heartbeat, until it declares otherwise', async () => {
    const world = openOrganization()
    const phone = await world.register('phone', { trains: false })
    const tablet = await world.register('tablet')
    const { key } = await world.register('trainer')
    await beat(world, tablet, { trains: false })
    const { id } = (await start(world, key)).body as Body
    expect(await namesIn(world, key, id)).toEqual(['trainer'])
    expect(await beat(world, phone)).not.toHaveProperty('pending_round_id')
    expect(await beat(world, phone, { trains: true })).toMatchObject({ pending_round_id: id })
    const seen = await world.request('GET', '/api/v1/devices/tablet', { key })
    expect(seen.body).toMatchObject({ device_id: 'tablet', trains: false })
    expect((await world.request('GET', '/api/v1/devices/phone', { key })).body).toMatchObject({ trains: true })
  })

  it('can be declared through the SDK, at registration and in every heartbeat', async () => {
    const world = openOrganization()
    const { key } = await world.register('trainer')
    const options = { baseUrl: world.baseUrl, deviceId: 'kiosk' }
    const { apiKey } = await createDevice({ ...options, trains: false }).register()
    const trainsNow = async () =>
      ((await world.request('GET', '/api/v1/devices/kiosk', { key })).body as { trains: boolean }).trains
    expect(await trainsNow()).toBe(false)
    await createDevice({ ...options, apiKey, trains: true }).heartbeat()
    expect(await trainsNow()).toBe(true)
    await createDevice({ ...options, apiKey }).heartbeat()
    expect(await trainsNow()).toBe(true)
    await createDevice({ ...options, apiKey, trains: false }).heartbeat()
    expect(await trainsNow()).toBe(false)
  })

  it('takes no place in a round that its own key starts', async () => {
    const world = openOrganization()
    const { key } = await world.register('phone', { trains: false })
    const { id } = (await start(world, key)).body as Body
    expect(await namesIn(world, key, id)).toEqual([])
  })

  it('includes a paired phone, and no job waits for it', async () => {
    const world = await startWorld()
    const { key } = await world.register('operator')
    const pairing = (await world.request('POST', '/api/v1/pairings', { key, body: {} })).body as {
      code: string
    }
    const claimed = await world.request('POST', '/api/v1/pairings/claim', {
      body: { code: pairing.code, device_id: 'phone', platform: 'ios' },
    })
    expect(claimed.status).toBeLessThan(300)
    expect((await world.request('GET', '/api/v1/devices/phone', { key })).body).toMatchObject({ trains: false })
    const { id } = (await start(world, key)).body as Body
    expect(await namesIn(world, key, id)).toEqual(['operator'])
  })
})

describe('a round for an organization', () => {
  it('begins without enough active devices, with a warning that says how many it needs', async () => {
    const world = openOrganization()
    const { key } = await world.register('operator')
    const response = await start(world, key, { org_id: 'acme', target_devices: 3, min_devices: 2 })
    expect(response).toMatchObject({ status: 201, body: { org_id: 'acme', status: 'active' } })
    expect(response.headers.get('x-service-warning')).toBe(
      'No active device could be selected, but the round needs 2 updates: it waits for more until 2026-01-01T00:05:00.000Z. ' +
        'A round selects active devices of its organization or, if it has one, of its group or federation.',
    )
    const single = await start(world, key, { org_id: 'globex', target_devices: 1, min_devices: 1 })
    expect(single.headers.get('x-service-warning')).toContain('but the round needs 1 update: it waits')
    const own = await start(world, key)
    expect(own.headers.get('x-service-warning')).toBeNull()
  })

  it('gives no place to a device that starts it from another organization', async () => {
    const world = await startWorld()
    const { key } = await world.register('operator')
    const [a, b] = [await world.register('a', { org_id: 'acme' }), await world.register('b', { org_id: 'acme' })]
    const { id } = (await start(world, key, { org_id: 'acme', min_devices: 2 })).body as Body
    expect(await namesIn(world, key, id)).toEqual(['a', 'b'])
    for (const device of [a, b]) expect(await beat(world, device)).toMatchObject({ pending_round_id: id })
    expect(await beat(world, { id: '', deviceId: 'operator', key })).not.toHaveProperty('pending_round_id')
  })

  it('belongs to the organization of the device that starts it, unless another is named', async () => {
    const world = await startWorld()
    const own = await world.register('own', { org_id: 'acme' })
    const friend = await world.register('friend', { org_id: 'acme' })
    const loner = await world.register('loner')
    const started = await start(world, own.key)
    expect(started).toMatchObject({ status: 201, body: { org_id: 'acme' } })
    const { id } = started.body as Body
    expect(await namesIn(world, own.key, id)).toEqual(['friend', 'own'])
    for (const device of [own, friend]) expect(await beat(world, device)).toMatchObject({ pending_round_id: id })
    expect((await start(world, loner.key)).body).toMatchObject({ org_id: null, status: 'active' })
    const named = await start(world, friend.key, { org_id: 'globex', min_devices: 2 })
    expect(named).toMatchObject({ status: 201, body: { org_id: 'globex' } })
  })

  it('tells a device of another organization that it will not join, instead of promising it a place', async () => {
    const world = await startWorld()
    const { key } = await world.register('a', { org_id: 'acme' })
    const outside = await world.register('outside', { org_id: 'globex' })
    const { id } = (await start(world, key, { target_devices: 3 })).body as Body
    const reason =
      "Not selected: the round is for devices of organization 'acme' that train, and this one is not among them."
    const { body } = await world.request('GET', `${ROUNDS}/${id}/selection`, { key: outside.key })
    expect(body).toMatchObject({ selected: false, reason })
    const failure = await world.request('POST', `${ROUNDS}/${id}/failures`, { key: outside.key, body: { reason: 'x' } })
    expect(failure).toMatchObject({
      status: 409,
      body: { message: `This device is not a participant of the round. ${reason}` },
    })
  })
})

it('a key without an organization trains with the devices of the organization of the model', async () => {
  const { admin, send, keyOf } = await openFederation()
  const acme = await keyOf('acme')
  const { body: model } = await send(acme, 'POST', '/models', { name: 'net' })
  const weights = encodeModel(initialModel({ features: 3, classes: 2, hidden: [], seed: 1 }), new Map())
  await send(acme, 'POST', `/models/${model.id}/versions/upload`, formOf(weights, {}, 'model.safetensors'))
  await send(acme, 'POST', '/devices/register', { device_id: 'd0' })
  const round = { target_devices: 1, min_devices: 1 }
  const started = await send(admin, 'POST', '/training/rounds/start', { ...round, global_model_id: model.id })
  expect(started).toMatchObject({ status: 201, body: { org_id: 'acme' } })
  expect(await send(admin, 'GET', `/training/rounds/${started.body.id}/participants`)).toMatchObject({
    body: { participants: [{ device_identifier: 'd0' }] },
  })
  expect(await send(admin, 'POST', '/training/jobs', { model: model.id })).toMatchObject({ body: { org_id: 'acme' } })
  const elsewhere = { ...round, global_model_id: model.id, org_id: 'default' }
  expect(await send(admin, 'POST', '/training/rounds/start', elsewhere)).toMatchObject({ body: { org_id: 'default' } })
})
