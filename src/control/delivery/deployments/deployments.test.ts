import { describe, expect, it } from 'vitest'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import type { TestDevice, World } from '../../../../test/world.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const WEEK_SECONDS = 7 * 24 * 60 * 60

const openOrganization = boundOrganizations()

const startFleet = async (devices: number, versions = ['1.0.0', '2.0.0']) => {
  const { world, org, key } = await openOrganization()
  const fleet: TestDevice[] = []
  for (let n = 0; n < devices; n++) fleet.push(await world.register(`d${n}`))
  const modelId = await createModel(world, key, 'm', versions)
  return { world, org, fleet, key, modelId }
}

const AIM = { model_name: 'm', model_version: '2.0.0' }
const execute = async (world: World, key: string, body: object = {}): Promise<string> => {
  const response = await world.request('POST', '/api/v1/deploy/execute', { key, body: { ...AIM, ...body } })
  expect(response).toMatchObject({ status: 200, body: { status: 'started' } })
  return (response.body as { deployment_id: string }).deployment_id
}
const get = async (world: World, key: string, id: string) =>
  (await world.request('GET', `/api/v1/deployments/${id}`, { key })).body
const assignmentsOf = async (world: World, device: TestDevice) => {
  const { body } = await world.request('GET', `/api/v1/devices/${device.deviceId}/assignments`, { key: device.key })
  const { assignments } = body as { assignments: { plan_id: string; version: string; activate: boolean }[] }
  return assignments.map(({ plan_id, version, activate }) => ({ plan_id, version, activate }))
}
const report = async (world: World, device: TestDevice, id: string, state: string, reason?: string) => {
  const path = `/api/v1/devices/${device.deviceId}/assignments/${id}/report`
  const body = { state, version: '2.0.0', ...(reason === undefined ? {} : { reason }) }
  expect((await world.request('POST', path, { key: device.key, body })).status).toBe(200)
}

describe('preparing a deployment', () => {
  it('resolves named devices and a group, and warns of unknown names', async () => {
    const { world, org, key } = await startFleet(4)
    const group = { org_id: org, name: 'robots' }
    const { id } = (await world.request('POST', '/api/v1/device-groups', { key, body: group })).body as { id: string }
    await world.request('POST', `/api/v1/device-groups/${id}/devices`, { key, body: { device_ids: ['d2', 'd3'] } })
    const prepare = async (body: object) =>
      (await world.request('POST', '/api/v1/deploy/prepare', { key, body: { ...AIM, ...body } })).body
    expect(await prepare({ devices: ['d2', 'd1', 'd1'], group: 'robots' })).toEqual({
      ok: true,
      target_count: 3,
      resolved_targets: ['d1', 'd2', 'd3'],
      warnings: [],
    })
    expect(await prepare({ devices: ['ghost'], group: 'nobody' })).toEqual({
      ok: false,
      target_count: 0,
      resolved_targets: [],
      warnings: ['Unknown devices: ghost.', 'Unknown group: nobody.', 'No target device was found.'],
    })
    expect(await prepare({ model_name: 'hf:org/model', devices: ['d1'] })).toMatchObject({
      ok: true,
      warnings: ["The catalog has no model 'hf:org/model': devices must resolve the name themselves."],
    })
    expect(await prepare({ model_version: '9.0.0', devices: ['d1'] })).toMatchObject({
      warnings: ['Version 9.0.0 has not been uploaded yet: devices get nothing until it is.'],
    })
    await world.advance(400)
    expect(await prepare({ devices: ['d1'] })).toMatchObject({
      ok: true,
      warnings: ['Inactive devices, which get it once they are active: d1.'],
    })
    expect((await world.request('GET', '/api/v1/deployments', { key })).body).toMatchObject({ total: 0 })
  })

  it('names no devices for a key without devices:read', async () => {
    const { world, org, key } = await startFleet(2)
    const body = { name: 'models', scopes: ['models:read'] }
    const made = (await world.request('POST', '/api/v1/keys', { key, body })).body as { api_key: string }
    const prepare = async (aim: object) =>
      (await world.request('POST', '/api/v1/deploy/prepare', { key: made.api_key, body: { ...AIM, ...aim } })).body
    expect(await prepare({})).toMatchObject({ ok: true, target_count: 2, resolved_targets: [] })
    const { id } = (
      await world.request('POST', '/api/v1/device-groups', { key, body: { org_id: org, name: 'robots' } })
    ).body as { id: string }
    await world.request('POST', `/api/v1/device-groups/${id}/devices`, { key, body: { device_ids: ['d0', 'd1'] } })
    await world.advance(3600)
    const warnings = ['Inactive devices, which get it once they are active: 2.']
    expect(await prepare({ group: 'robots' })).toEqual({ ok: true, target_count: 2, resolved_targets: [], warnings })
  })

  it('takes only devices of the given platform', async () => {
    const { world, key } = await startFleet(1)
    await world.register('phone', { platform: 'ios' })
    const prepare = async (body: object) =>
      (await world.request('POST', '/api/v1/deploy/prepare', { key, body: { ...AIM, ...body } })).body
    expect([
      await prepare({ platform: 'ios', devices: ['d0', 'phone'] }),
      await prepare({ platform: 'ios' }),
    ]).toMatchObject([
      { resolved_targets: ['phone'], warnings: ['Devices that do not run ios: d0.'] },
      {
        resolved_targets: ['phone'],
        warnings: ['Neither devices nor a group is given: all 1 active device on ios.'],
      },
    ])
  })

  it('refuses an empty list of devices, which is what a filter that matches nothing yields', async () => {
    const { world, key } = await startFleet(1)
    for (const path of ['prepare', 'execute']) {
      const body = { ...AIM, devices: [] }
      expect(await world.request('POST', `/api/v1/deploy/${path}`, { key, body })).toMatchObject({
        status: 400,
        body: {
          message: expect.stringMatching(/^devices must be an array of 1 to 10000 items, got an array of 0 items/),
        },
      })
    }
  })

  it('targets the whole active fleet if nothing is named', async () => {
    const { world, key } = await startFleet(2)
    const response = await world.request('POST', '/api/v1/deploy/prepare', { key, body: AIM })
    expect(response.body).toEqual({
      ok: true,
      target_count: 2,
      resolved_targets: ['d0', 'd1'],
      warnings: ['Neither devices nor a group is given: all 2 active devices.'],
    })
  })

  it.each([
    [{ model_version: '1' }, 'model_name'],
    [{ model_name: 'm' }, 'model_version'],
    [{ ...AIM, devices: 'd1' }, 'devices'],
    [{ ...AIM, rollout_percentage: 101 }, 'rollout_percentage'],
    [{ ...AIM, strategy: 'hope' }, 'strategy'],
    [{ ...AIM, devices: ['ghost'] }, 'no device to deploy to'],
  ])('or executing one with %j is refused, naming %s', async (body, field) => {
    const { world, key } = await startFleet(1)
    const response = await world.request('POST', '/api/v1/deploy/execute', { key, body })
    expect(response.status).toBe(400)
    expect((response.body as { message: string }).message).toContain(field)
  })
})

describe('a deployment', () => {
  it('activates its share of the targets, shows every device, and completes when all of them run it', async () => {
    const { world, fleet, key, modelId } = await startFleet(4)
    const response = await world.request('POST', '/api/v1/deploy/execute', {
      key,
      body: { ...AIM, devices: fleet.map(({ deviceId }) => deviceId), rollout_percentage: 30 },
    })
    expect(response.body).toEqual({
      deployment_id: uuid,
      status: 'started',
      target_count: 4,
      activated_count: 2,
      warnings: [],
    })
    const id = (response.body as { deployment_id: string }).deployment_id
    const given = await Promise.all(fleet.map((device) => assignmentsOf(world, device)))
    const activated = fleet.filter((_, n) => given[n]!.length > 0)
    expect(activated).toHaveLength(2)
    expect(given.flat()).toEqual(Array(2).fill({ plan_id: id, version: '2.0.0', activate: true }))

    await report(world, activated[0]!, id, 'downloading')
    await report(world, activated[1]!, id, 'active')
    expect(await get(world, key, id)).toMatchObject({
      status: 'started',
      model_id: modelId,
      devices: { assigned: 0, downloading: 1, verifying: 0, ready: 0, active: 1, failed: 0 },
    })
    await report(world, activated[0]!, id, 'active')
    expect(await get(world, key, id)).toMatchObject({ status: 'completed', reason: null, activated_count: 2 })
    const { body } = await world.request('GET', `/api/v1/deployments/${id}/devices?limit=3`, { key })
    const { devices } = body as { devices: { device_id: string; state: string }[] }
    expect(body).toMatchObject({ total: 4, limit: 3, offset: 0 })
    const ran = new Set(activated.map(({ deviceId }) => deviceId))
    expect(devices.map(({ device_id, state }) => [device_id, state])).toEqual(
      ['d0', 'd1', 'd2'].map((name) => [name, ran.has(name) ? 'active' : 'waiting']),
    )

    const promoted = await world.request('POST', `/api/v1/deployments/${id}/promote`, {
      key,
      body: { rollout_percentage: 100 },
    })
    expect(promoted.body).toMatchObject({ status: 'started', activated_count: 4, rollout_percentage: 100 })
    for (const device of fleet) await report(world, device, id, 'active')
    expect(await get(world, key, id)).toMatchObject({ status: 'completed' })
    const again = await world.request('POST', `/api/v1/deployments/${id}/promote`, {
      key,
      body: { rollout_percentage: 50 },
    })
    expect(again.status).toBe(409)
  })

  it('is withdrawn automatically when too many devices fail, and they get their previous version', async () => {
    const { world, fleet, key } = await startFleet(4)
    const devices = fleet.map(({ deviceId }) => deviceId)
    const first = await execute(world, key, { devices, model_version: '1.0.0' })
    const second = await execute(world, key, { devices })
    await report(world, fleet[0]!, second, 'active')
    for (const device of fleet.slice(1, 3)) await report(world, device, second, 'failed', 'no space left')
    expect(await get(world, key, second)).toMatchObject({
      status: 'failed',
      reason: '2 of 3 reporting devices failed (the limit is 5%). Most often: no space left',
      devices: { assigned: 0, downloading: 0, verifying: 0, ready: 0, active: 0, failed: 2, withdrawn: 2 },
    })
    const listed = (await world.request('GET', `/api/v1/deployments/${second}/devices`, { key })).body
    const states = ['withdrawn', 'failed', 'failed', 'withdrawn']
    expect(listed).toMatchObject({ devices: states.map((state) => ({ state })) })
    const list = async (query: string) => {
      const { body } = await world.request('GET', `/api/v1/deployments?${query}`, { key })
      const { deployments, total } = body as { deployments: { deployment_id: string }[]; total: number }
      return [total, deployments.map(({ deployment_id }) => deployment_id)]
    }
    expect(await list('status=started')).toEqual([1, [first]])
    expect(await list(`status=failed&ended_since=${world.now().toISOString()}`)).toEqual([1, [second]])
    expect(await list(`ended_since=${new Date(world.now().getTime() + 1000).toISOString()}`)).toEqual([0, []])
    for (const device of fleet) {
      expect(await assignmentsOf(world, device)).toEqual([{ plan_id: first, version: '1.0.0', activate: true }])
    }
    const path = `/api/v1/deployments/${second}/rollback`
    expect((await world.request('POST', path, { key })).status).toBe(409)
  })

  it('is rolled back by an operator only once, and the reason stays readable', async () => {
    const { world, fleet, key } = await startFleet(1)
    const id = await execute(world, key, { devices: ['d0'] })
    const roll = () =>
      world.request('POST', `/api/v1/deployments/${id}/rollback`, { key, body: { reason: 'complaints' } })
    const responses = await Promise.all([roll(), roll()])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(await get(world, key, id)).toMatchObject({ status: 'rolled_back', reason: 'complaints' })
    expect(await assignmentsOf(world, fleet[0]!)).toEqual([])
    const { body } = await world.request('GET', `/api/v1/deployments/${id}/history`, { key })
    expect((body as { events: { event: string }[] }).events.map(({ event }) => event)).toEqual(['create', 'rollback'])
  })

  it('switches every device at once under blue_green, when the last one is ready', async () => {
    const { world, fleet, key } = await startFleet(3)
    const devices = fleet.map(({ deviceId }) => deviceId)
    const id = await execute(world, key, { devices, strategy: 'blue_green' })
    const flags = async () =>
      (await Promise.all(fleet.map((device) => assignmentsOf(world, device)))).map(([given]) => given?.activate)
    for (const device of fleet.slice(0, 2)) await report(world, device, id, 'ready')
    expect(await flags()).toEqual([false, false, false])
    await report(world, fleet[2]!, id, 'ready')
    expect(await flags()).toEqual([true, true, true])
    for (const device of fleet) await report(world, device, id, 'active')
    expect(await get(world, key, id)).toMatchObject({ status: 'completed', switched_at: world.now().toISOString() })
  })

  it('ends when the last device that it waits for is erased, and no longer counts it', async () => {
    const { world, fleet, key } = await startFleet(3)
    const id = await execute(world, key, { devices: ['d0', 'd1', 'd2'] })
    for (const device of fleet.slice(0, 2)) await report(world, device, id, 'active')
    const erase = { key, body: { confirm: 'd2' } }
    expect((await world.request('POST', '/api/v1/devices/d2/erase', erase)).status).toBe(200)
    expect(await get(world, key, id)).toMatchObject({ status: 'completed', target_count: 2, activated_count: 2 })
  })

  it('ends at its deadline, and a device that comes back days later still catches up', async () => {
    const { world, fleet, key } = await startFleet(2)
    const id = await execute(world, key, { devices: ['d0', 'd1'] })
    await report(world, fleet[0]!, id, 'active')
    await world.advance(WEEK_SECONDS + 1)
    expect(await get(world, key, id)).toMatchObject({
      status: 'completed',
      reason: '1 of 2 devices run it; 1 had not reported and may catch up.',
    })
    expect(await assignmentsOf(world, fleet[1]!)).toEqual([{ plan_id: id, version: '2.0.0', activate: true }])
    const silent = await execute(world, key, { devices: ['d1'], deadline_minutes: 1 })
    await world.advance(61)
    expect(await get(world, key, silent)).toMatchObject({ status: 'failed' })
  })

  it('that does not exist is 404 on every route', async () => {
    const { world, key } = await startFleet(1)
    for (const id of ['nonsense', '00000000-0000-4000-8000-000000000000']) {
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/devices'],
        ['GET', '/history'],
        ['POST', '/rollback'],
        ['POST', '/promote'],
      ] as const) {
        expect((await world.request(method, `/api/v1/deployments/${id}${rest}`, { key })).status).toBe(404)
      }
    }
  })
})

it("a key without an organization deploys to the model's organization, and is warned of other devices", async () => {
  const { world, admin, send, keyOf } = await openFederation()
  for (const org of ['acme', 'beta']) {
    const key = await keyOf(org)
    for (const name of ['0', '1']) await send(key, 'POST', '/devices/register', { device_id: `${org}-${name}` })
  }
  await createModel(world, await keyOf('acme'), 'm', ['1.0.0', '2.0.0'])
  const { id: model_name } = (await send(await keyOf('acme'), 'GET', '/models/m')).body as { id: string }
  const others = 'Devices of other organizations, which it does not reach: beta-0, beta-1.'
  const aim = { model_name, model_version: '2.0.0' }
  expect(await send(admin, 'POST', '/deploy/prepare', aim)).toMatchObject({
    body: { ok: true, resolved_targets: ['acme-0', 'acme-1'], warnings: [expect.any(String), others] },
  })
  const started = await send(admin, 'POST', '/deploy/execute', { ...aim, devices: ['beta-0', 'beta-1', 'acme-1'] })
  expect(started).toMatchObject({ status: 200, body: { target_count: 1, warnings: [others] } })
  expect(await send(admin, 'GET', '/devices/acme-1/assignments')).toMatchObject({
    body: { assignments: [{ plan_id: started.body.deployment_id }] },
  })
  expect(await send(admin, 'POST', '/deploy/execute', { ...aim, devices: ['beta-0', 'beta-1'] })).toMatchObject({
    status: 400,
    body: { message: `There is no device to deploy to. ${others} Give registered devices or a group.` },
  })
  const rollout = { version: '2', rollout_percentage: 50 }
  expect(await send(admin, 'POST', `/models/${model_name}/rollouts/dry-run`, rollout)).toMatchObject({
    body: { target_devices: 2 },
  })
})

it('a key without an organization cannot use a name that several organizations have', async () => {
  const { world, admin, send, keyOf } = await openFederation()
  for (const org of ['acme', 'beta']) {
    const key = await keyOf(org)
    await createModel(world, key, 'm', ['1.0.0'])
    await send(key, 'POST', '/device-groups', { org_id: org, name: 'lab' })
  }
  expect(await send(admin, 'GET', '/models/m')).toMatchObject({
    status: 400,
    body: { message: "Several organizations have a model 'm'. Use its id, or a key of the intended organization." },
  })
  const { body: own } = await send(await keyOf('beta'), 'GET', '/models/m')
  const aim = { model_name: 'unknown', model_version: '1.0.0', group: 'lab' }
  expect(await send(admin, 'POST', '/deploy/prepare', aim)).toMatchObject({
    status: 400,
    body: { message: "Several organizations have a device group 'lab'. Use its id." },
  })
  const rollout = { version: '1', rollout_percentage: 10, group: 'lab' }
  const started = await send(admin, 'POST', `/models/${own.id}/rollouts`, rollout)
  const { body: groups } = await send(admin, 'GET', '/device-groups?org_id=beta')
  expect(started.body.group_id).toBe((groups.groups as { id: string }[])[0]!.id)
  const { body: home } = await send(admin, 'POST', '/models', { name: 'm' })
  expect(await send(admin, 'GET', '/models/m')).toMatchObject({ body: { id: home.id, org_id: 'default' } })
})
