import { describe, expect, it } from 'vitest'
import { createModel, uploadVersion } from '../../../../test/fleet-of-models.ts'
import { startWorld, type World } from '../../../../test/world.ts'

const at = '2026-01-01T00:00:00.000Z'

const rollOut = async (world: World, key: string, model: string, version: string): Promise<string> => {
  const body = { version, rollout_percentage: 100 }
  const response = await world.request('POST', `/api/v1/models/${model}/rollouts`, { key, body })
  expect(response.status).toBe(201)
  return (response.body as { rollout_id: string }).rollout_id
}

const start = async (config = {}) => {
  const world = await startWorld({ config })
  const { key } = await world.register('phone')
  const modelId = await createModel(world, key, 'm', ['1.0.0', '2.0.0'])
  return { world, key, modelId }
}

describe('the assignments of a device', () => {
  it('name the version to run, its download path, size, and hash', async () => {
    const { world, key, modelId } = await start()
    const planId = await rollOut(world, key, 'm', '2')
    const model = (await world.request('GET', '/api/v1/models/m', { key })).body as {
      versions: { model_size_bytes: number; model_hash: string }[]
    }
    const { status, body } = await world.request('GET', '/api/v1/devices/phone/assignments', { key })
    expect(status).toBe(200)
    expect(body).toEqual({
      device_id: 'phone',
      assignments: [
        {
          plan_id: planId,
          kind: 'rollout',
          model_id: modelId,
          model_name: 'm',
          version: '2.0.0',
          version_number: 2,
          format: 'pytorch',
          model_size_bytes: model.versions[1]!.model_size_bytes,
          model_hash: model.versions[1]!.model_hash,
          download_path: `/api/v1/models/${modelId}/versions/2/download`,
          activate: true,
        },
      ],
    })
    const path = (body as { assignments: { download_path: string }[] }).assignments[0]!.download_path
    expect((await world.request('GET', path, { key })).body).toBe('weights of m 2.0.0')
  })

  it('have an ETag that stays the same until they change', async () => {
    const { world, key } = await start()
    const ask = (etag = '') =>
      world.request('GET', '/api/v1/devices/phone/assignments', {
        key,
        headers: etag === '' ? {} : { 'if-none-match': etag },
      })
    const none = await ask()
    expect(none.body).toEqual({ device_id: 'phone', assignments: [] })
    await rollOut(world, key, 'm', '1.0.0')
    const first = (await ask(none.headers.get('etag')!)).headers.get('etag')!
    expect(first).toMatch(/^"[0-9a-f]{16}"$/)
    expect(await ask(first)).toMatchObject({ status: 304, body: null })
    expect((await ask(first)).headers.get('etag')).toBe(first)
    await createModel(world, key, 'other', ['1.0.0'])
    expect((await ask(`W/"x", ${first}`)).status).toBe(304)
    await rollOut(world, key, 'other', '1.0.0')
    expect((await ask(first)).body).toMatchObject({ assignments: [{}, {}] })
  })

  it('are visible to keys that may read devices, and to the device itself', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey ?? ''
    const join = async (device_id: string): Promise<string> => {
      const { body } = await world.request('POST', '/api/v1/devices/register', { key: admin, body: { device_id } })
      return (body as { api_key: string }).api_key
    }
    const [a, b] = [await join('a'), await join('b')]
    const statuses = async (key: string, path: string) =>
      (await world.request('GET', `/api/v1/devices/${path}/assignments`, { key })).status
    expect([await statuses(a, 'a'), await statuses(b, 'a'), await statuses(admin, 'a')]).toEqual([200, 403, 200])
    expect([await statuses(a, 'ghost'), await statuses('', 'a')]).toEqual([404, 401])
    await createModel(world, admin, 'm', ['1.0.0'])
    const planId = await rollOut(world, admin, 'm', '1.0.0')
    const report = (key: string) =>
      world.request('POST', `/api/v1/devices/a/assignments/${planId}/report`, {
        key,
        body: { state: 'active', version: '1.0.0' },
      })
    expect([(await report(a)).status, (await report(b)).status]).toEqual([200, 403])
  })
})

describe('a heartbeat', () => {
  const beat = async (world: World, key: string, query = '') =>
    (await world.request('PUT', `/api/v1/devices/phone/heartbeat${query}`, { key })).body as {
      assignments?: { version: string }[]
      assignments_tag?: string
    }

  it('returns the assignments, unless there are none or the device already knows them', async () => {
    const { world, key } = await start()
    const before = await beat(world, key)
    expect([before.assignments, before.assignments_tag]).toEqual([undefined, undefined])
    expect((await beat(world, key, '?known_assignments=x')).assignments_tag).toBe('none')
    await rollOut(world, key, 'm', '1.0.0')
    const reported = await beat(world, key)
    const listed = await world.request('GET', '/api/v1/devices/phone/assignments', { key })
    expect({ device_id: 'phone', assignments: reported.assignments }).toEqual(listed.body)
    expect(listed.headers.get('etag')).toBe(`"${reported.assignments_tag}"`)
    const known = await beat(world, key, `?known_assignments=${reported.assignments_tag}`)
    expect([known.assignments, known.assignments_tag]).toEqual([undefined, reported.assignments_tag])
  })

  it('with wait_seconds returns when the assignments change, or at once if the device knows different ones', async () => {
    const { world, key } = await start()
    await rollOut(world, key, 'm', '1.0.0')
    const { assignments_tag: tag } = await beat(world, key)
    const waiting = [
      beat(world, key, '?wait_seconds=50'),
      beat(world, key, `?wait_seconds=50&known_assignments=${tag}`),
    ]
    await createModel(world, key, 'other', ['1.0.0'])
    const second = await rollOut(world, key, 'm', '2.0.0')
    const responses = await Promise.all([...waiting, beat(world, key, `?wait_seconds=50&known_assignments=${tag}`)])
    expect(responses.map(({ assignments }) => assignments?.map(({ version }) => version))).toEqual(
      Array(3).fill(['2.0.0']),
    )
    const last = beat(world, key, `?wait_seconds=50&known_assignments=${responses[0]!.assignments_tag}`)
    await world.request('POST', `/api/v1/models/m/rollouts/${second}/rollback`, { key })
    expect((await last).assignments?.map(({ version }) => version)).toEqual(['1.0.0'])
  })

  it('of a device in an organization includes plans without an organization under open enrollment', async () => {
    const { world, key } = await start()
    await world.register('robot', { org_id: 'acme' })
    await rollOut(world, key, 'm', '1.0.0')
    const { body } = await world.request('PUT', '/api/v1/devices/robot/heartbeat', { key })
    expect(body).toMatchObject({ assignments: [{ version: '1.0.0' }] })
  })
})

describe('a report', () => {
  const report = (world: World, key: string, planId: string, body: object, device = 'phone') =>
    world.request('POST', `/api/v1/devices/${device}/assignments/${planId}/report`, { key, body })

  it('is stored as the newest, and returns whether the plan still assigns this version to the device', async () => {
    const { world, key } = await start()
    const planId = await rollOut(world, key, 'm', '1.0.0')
    const response = { state: 'downloading', version: '1.0.0' }
    const answer = await report(world, key, planId, response)
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({
      plan_id: planId,
      device_id: 'phone',
      ...response,
      reason: null,
      reported_at: at,
      current: true,
    })
    expect((await report(world, key, planId, response)).body).toEqual(answer.body)
    await report(world, key, planId, { ...response, state: 'failed', reason: 'no space', metrics: { accuracy: 0.9 } })
    expect((await world.request('GET', `/api/v1/models/m/rollouts/${planId}/devices`, { key })).body).toMatchObject({
      devices: [{ device_id: 'phone', state: 'failed', reason: 'no space', current: true }],
      total: 1,
    })
    expect((await report(world, key, planId, { ...response, version: '0.9.0' })).body).toMatchObject({ current: false })
    await rollOut(world, key, 'm', '2.0.0')
    expect((await report(world, key, planId, response)).body).toMatchObject({ current: false })
  })

  it('counts only if the plan assigns, or has assigned, that version to the device', async () => {
    const { world, key } = await start()
    const others = [await world.register('other-1'), await world.register('other-2')]
    const body = { org_id: 'default', name: 'phones' }
    const { id } = (await world.request('POST', '/api/v1/device-groups', { key, body })).body as { id: string }
    await world.request('POST', `/api/v1/device-groups/${id}/devices/phone`, { key })
    const rollout = await world.request('POST', '/api/v1/models/m/rollouts', {
      key,
      body: { version: '2.0.0', rollout_percentage: 100, group: 'phones', auto_rollback: true },
    })
    const planId = (rollout.body as { rollout_id: string }).rollout_id
    const read = async () => (await world.request('GET', `/api/v1/models/m/rollouts/${planId}`, { key })).body
    for (const other of others) {
      for (const state of ['failed', 'active'])
        expect(
          (await report(world, other.key, planId, { state, version: '2.0.0' }, other.deviceId)).body,
        ).toMatchObject({
          current: false,
        })
    }
    // The device's own report does not count either if it names another version than the plan's.
    await report(world, key, planId, { state: 'active', version: '1.0.0' })
    expect(await read()).toMatchObject({ status: 'active', reports: { active: 0, failed: 0 } })
    await report(world, key, planId, { state: 'downloading', version: '2.0.0' })
    await world.request('DELETE', `/api/v1/device-groups/${id}/devices/phone`, { key })
    // Continues a report that counted.
    expect((await report(world, key, planId, { state: 'failed', version: '2.0.0' })).body).toMatchObject({
      current: false,
    })
    expect(await read()).toMatchObject({ reports: { downloading: 0, failed: 1 } })
  })

  it('is stored for each of many devices that report at once', async () => {
    const { world, key } = await start()
    const planId = await rollOut(world, key, 'm', '1.0.0')
    await Promise.all(Array.from({ length: 40 }, (_, n) => world.register(`d${n}`)))
    await Promise.all(
      Array.from({ length: 120 }, (_, n) =>
        report(world, key, planId, { state: n < 80 ? 'verifying' : 'active', version: '1.0.0' }, `d${n % 40}`),
      ).map(async (response) => expect((await response).status).toBe(200)),
    )
    for (let n = 0; n < 40; n++) await report(world, key, planId, { state: 'ready', version: '1.0.0' }, `d${n}`)
    expect((await world.request('GET', `/api/v1/models/m/rollouts/${planId}`, { key })).body).toMatchObject({
      reports: { downloading: 0, verifying: 0, ready: 40, active: 0, failed: 0 },
    })
  })

  it('on a missing plan or device is 404 before any other error; invalid fields are refused', async () => {
    const { world, key } = await start()
    const planId = await rollOut(world, key, 'm', '1.0.0')
    const response = { state: 'active', version: '1.0.0' }
    expect((await report(world, key, 'c72800d8-0000-4000-8000-000000000000', response)).status).toBe(404)
    expect((await report(world, key, 'not-a-plan', response)).status).toBe(404)
    expect((await report(world, key, planId, {}, 'ghost')).status).toBe(404)
    for (const [body, field] of [
      [{ ...response, state: 'happy' }, 'state'],
      [{ state: 'active' }, 'version'],
      [{ ...response, reason: '' }, 'reason'],
      [{ ...response, metrics: { accuracy: 'high' } }, 'metrics'],
    ] as const) {
      const answer = await report(world, key, planId, body)
      expect(answer).toMatchObject({ status: 400, body: { error: 'bad_request' } })
      expect((answer.body as { message: string }).message).toContain(field)
    }
  })
})

it('a version uploaded again under another label does not change what a plan assigns', async () => {
  const { world, key } = await start()
  await rollOut(world, key, 'm', '2.0.0')
  await uploadVersion(world, key, 'm', '2.0.1')
  const { body } = await world.request('GET', '/api/v1/devices/phone/assignments', { key })
  expect(body).toMatchObject({ assignments: [{ version: '2.0.0', version_number: 2 }] })
})
