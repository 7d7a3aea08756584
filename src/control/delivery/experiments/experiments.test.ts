import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { plansStore } from '../assignments/plans.store.ts'
import { type ExperimentBody, nowhere, startExperimentService, uuid } from './experiments.fixture.ts'

const at = '2026-01-01T00:00:00.000Z'

interface Assigned {
  readonly assignments: readonly { plan_id: string; model_name: string; version: string; variant?: string }[]
}

describe('an experiment', () => {
  it('is created as a draft that pins the versions of its models, can be read, and is listed newest first', async () => {
    const { ask, send, addModel, create } = await startExperimentService()
    const old = await addModel('old', 2)
    const fresh = await addModel('new')
    const group = (await send('POST', '/device-groups', { org_id: 'acme', name: 'canaries' })).body as { id: string }
    await send('POST', `/device-groups/${group.id}/devices/operator`)
    const made = await ask('POST', '', {
      name: 'is it better?',
      variants: [
        { name: 'control', model_id: 'old', allocation: 0.25 },
        { name: 'first', model_id: old, version: '1', allocation: 0 },
        { name: 'treatment', model_id: fresh, version: 'latest', allocation: 0.75 },
      ],
      target_groups: [group.id, group.id],
    })
    const experiment = {
      id: uuid,
      org_id: null,
      name: 'is it better?',
      status: 'draft',
      variants: [
        { name: 'control', model_id: old, version: '2.0.0', allocation: 0.25 },
        { name: 'first', model_id: old, version: '1', allocation: 0 },
        { name: 'treatment', model_id: fresh, version: '1.0.0', allocation: 0.75 },
      ],
      target_groups: [group.id],
      primary_metric: 'accuracy',
      confidence_level: 0.95,
      reason: null,
      created_at: at,
      started_at: null,
      ended_at: null,
    }
    expect(made).toEqual({ status: 201, body: { ...experiment, warnings: [] } })
    const { id } = made.body as ExperimentBody
    expect(await ask('GET', `/${id}`)).toEqual({ status: 200, body: { ...experiment, id, warnings: [] } })
    const second = await create({
      name: 'second',
      variants: [
        { name: 'a', model_id: 'old', allocation: 0.5 },
        { name: 'b', model_id: 'new', allocation: 0.5 },
      ],
      primary_metric: 'latency_ms',
      confidence_level: 0.99,
    })
    expect(second).toMatchObject({ primary_metric: 'latency_ms', confidence_level: 0.99, target_groups: [] })
    const { warnings: _, ...listed } = second
    expect(await ask('GET', '')).toEqual({
      status: 200,
      body: { experiments: [listed, { ...experiment, id }], total: 2, limit: 100, offset: 0, warnings: [] },
    })
    expect(await ask('GET', '?limit=1&offset=1')).toMatchObject({
      body: { experiments: [{ id }], total: 2, limit: 1, offset: 1 },
    })
    await ask('POST', `/${id}/start`)
    expect(await ask('GET', '?status=running')).toMatchObject({ body: { experiments: [{ id }], total: 1 } })
    expect(await ask('GET', '?status=paused')).toMatchObject({ body: { experiments: [], total: 0 } })
  })

  it('warns of versions that are not uploaded and of groups without devices', async () => {
    const { ask, send, addModel, create } = await startExperimentService()
    await addModel('old', 0)
    await addModel('new')
    const group = async (name: string) =>
      ((await send('POST', '/device-groups', { org_id: 'acme', name })).body as { id: string }).id
    const [empty, gone] = [await group('empty'), await group('gone')]
    const { id, warnings } = await create({
      name: 'early',
      variants: [
        { name: 'a', model_id: 'old', allocation: 0.5 },
        { name: 'b', model_id: 'new', version: '7.1.0', allocation: 0.5 },
      ],
      target_groups: [empty, gone],
    })
    const unpublished = [
      "Version 1 of variant 'a' has not been uploaded yet: its devices get no version.",
      "Version 7.1.0 of variant 'b' has not been uploaded yet: its devices get no version.",
    ]
    expect(warnings).toEqual([
      ...unpublished,
      "Device group 'empty' has no devices.",
      "Device group 'gone' has no devices.",
    ])
    await send('DELETE', `/device-groups/${gone}`)
    expect(((await ask('GET', `/${id}`)).body as ExperimentBody).warnings).toEqual([
      ...unpublished,
      "Device group 'empty' has no devices.",
      `Device group ${gone} no longer exists.`,
    ])
  })

  it('warns of newer completed plans, which have replaced it on their devices', async () => {
    const { world, ask, send, createHalves, fleet, variantOf } = await startExperimentService()
    await fleet(4)
    const { id } = await createHalves()
    await ask('POST', `/${id}/start`)
    const warnings = async () => {
      const [shown, list, results] = await Promise.all(['', `/${id}`, `/${id}/analytics`].map((at) => ask('GET', at)))
      const of = (response: typeof shown) => (response!.body as ExperimentBody).warnings
      return { shown: of(list), list: of(shown), results: of(results)[0] }
    }
    const deployed = await send('POST', '/deploy/execute', {
      model_name: 'old',
      model_version: '1',
      devices: ['d0'],
      rollout_percentage: 100,
      strategy: 'immediate',
    })
    const { deployment_id } = deployed.body as { deployment_id: string }
    expect(await warnings()).toMatchObject({ shown: [], list: [] })
    await send('POST', `/devices/d0/assignments/${deployment_id}/report`, { state: 'active', version: '1' })
    const some = `Newer completed plans replace it on their devices: ${deployment_id} (version 1).`
    expect(await warnings()).toEqual({ shown: [some], list: [`Experiment 'a b': ${some}`], results: some })
    const rollout = await send('POST', '/models/new/rollouts', { version: '1', rollout_percentage: 100 })
    await world.advance(3600)
    const { rollout_id } = rollout.body as { rollout_id: string }
    const all = `No device gets 'treatment': the newer rollout ${rollout_id} has given all devices version 1. Roll it back, or end the experiment.`
    expect((await warnings()).shown).toEqual([some, all])
    expect(await variantOf(id, 'd1')).not.toBeNull()
    await ask('POST', `/${id}/complete`)
    expect(await warnings()).toMatchObject({ shown: [], list: [] })
  })

  it('warns of other running experiments on the same devices, of which the newest takes precedence', async () => {
    const { world, ask, send, addModel, create, halves } = await startExperimentService()
    await addModel('old')
    await addModel('new')
    const { id: left } = (await send('POST', '/device-groups', { org_id: 'acme', name: 'left' })).body as { id: string }
    const { id: right } = (await send('POST', '/device-groups', { org_id: 'acme', name: 'right' })).body as {
      id: string
    }
    const start = async (name: string, target_groups: readonly string[]) => {
      const { id, warnings } = await create(halves({ name, target_groups }))
      await ask('POST', `/${id}/start`)
      return { id, created: warnings.filter((warning) => !warning.startsWith('Device group')) }
    }
    const first = await start('first', [left])
    const elsewhere = await start('elsewhere', [right])
    const second = await start('second', [left])
    const over = `It takes precedence over older running experiments on its devices: ${first.id}.`
    const once = over.replace('It', 'Once started, it')
    expect([first, elsewhere, second].map(({ created }) => created)).toEqual([[], [], [once]])
    const warningsOf = async (id: string) =>
      ((await ask('GET', `/${id}/analytics`)).body as ExperimentBody).warnings.filter((one) => one.includes('running'))
    const under = `Newer running experiments take precedence on their devices: ${second.id}.`
    expect(await Promise.all([first, elsewhere, second].map(({ id }) => warningsOf(id)))).toEqual([[under], [], [over]])
    const { deviceId: shared } = await world.register('shared')
    for (const group of [left, right]) await send('POST', `/device-groups/${group}/devices/${shared}`)
    expect(await Promise.all([elsewhere, second].map(({ id }) => warningsOf(id)))).toEqual([
      [under, over],
      [expect.stringContaining(elsewhere.id)],
    ])
    await send('DELETE', `/device-groups/${left}/devices/${shared}`)
    expect(await warningsOf(elsewhere.id)).toEqual([])
    await ask('POST', `/${second.id}/complete`)
    expect(await Promise.all([first, second].map(({ id }) => warningsOf(id)))).toEqual([[], []])
  })

  it('goes from draft to its end; any other transition is a conflict that changes nothing', async () => {
    const { world, ask, createHalves, halves } = await startExperimentService()
    const { id } = await createHalves()
    const steer = (event: string, body?: object) => ask('POST', `/${id}/${event}`, body)
    const refused = async (event: string, status: string, done: string) => {
      expect(await steer(event)).toEqual({
        status: 409,
        body: {
          error: 'conflict',
          message: `An experiment that is ${status} cannot be ${done}.`,
          status_code: 409,
        },
      })
      expect(await ask('GET', `/${id}`)).toMatchObject({ body: { status } })
    }
    await refused('pause', 'draft', 'paused')
    await refused('resume', 'draft', 'resumed')
    await refused('complete', 'draft', 'completed')
    await world.advance(60)
    const started_at = '2026-01-01T00:01:00.000Z'
    expect(await steer('start')).toEqual({ status: 200, body: { id, status: 'running', started_at } })
    await refused('start', 'running', 'started')
    await refused('resume', 'running', 'resumed')
    expect(await steer('pause', { reason: 'a holiday' })).toMatchObject({
      status: 200,
      body: { id, status: 'paused', reason: 'a holiday', started_at, ended_at: null },
    })
    await refused('start', 'paused', 'started')
    await refused('pause', 'paused', 'paused')
    await world.advance(60)
    expect(await steer('resume')).toMatchObject({ status: 200, body: { status: 'running', reason: null, started_at } })
    await world.advance(60)
    expect(await steer('complete', { reason: 'treatment is better' })).toEqual({
      status: 200,
      body: {
        id,
        org_id: null,
        name: 'a b',
        status: 'completed',
        variants: [
          { name: 'control', model_id: uuid, version: '1.0.0', allocation: 0.5 },
          { name: 'treatment', model_id: uuid, version: '1.0.0', allocation: 0.5 },
        ],
        target_groups: [],
        primary_metric: 'accuracy',
        confidence_level: 0.95,
        reason: 'treatment is better',
        created_at: at,
        started_at,
        ended_at: '2026-01-01T00:03:00.000Z',
        warnings: [],
      },
    })
    for (const [event, done] of [
      ['start', 'started'],
      ['pause', 'paused'],
      ['resume', 'resumed'],
      ['complete', 'completed'],
      ['cancel', 'canceled'],
    ] as const) {
      await refused(event, 'completed', done)
    }
    const other = (await ask('POST', '', halves({ name: 'other' }))).body as ExperimentBody
    expect(await ask('POST', `/${other.id}/cancel`)).toMatchObject({
      status: 200,
      body: { status: 'cancelled', started_at: null, ended_at: '2026-01-01T00:03:00.000Z' },
    })
  })

  describe.each(['embedded', 'postgres'] as const)('controlled by two operators at once (%s)', (database) => {
    it.skipIf(database === 'postgres' && !hasPostgres())('starts once, and ends once', async () => {
      const { ask, createHalves } = await startExperimentService({ database })
      const { id } = await createHalves()
      const race = async (...events: string[]) =>
        (await Promise.all(events.map((event) => ask('POST', `/${id}/${event}`)))).map(({ status }) => status).sort()
      expect(await race(...Array.from({ length: 8 }, () => 'start'))).toEqual([200, ...Array(7).fill(409)])
      expect(await race('complete', 'cancel', 'complete', 'cancel')).toEqual([200, 409, 409, 409])
    })
  })

  it('is refused with invalid fields, and the error names the field', async () => {
    const { ask, addModel, halves, createHalves } = await startExperimentService()
    const { id } = await createHalves()
    await addModel('third')
    const pair = (first: object, second: object = {}) => ({
      ...halves({ name: 'x' }),
      variants: [
        { name: 'control', model_id: 'old', allocation: 0.5, ...first },
        { name: 'treatment', model_id: 'new', allocation: 0.5, ...second },
      ],
    })
    const table: readonly [string, string, object | undefined, string][] = [
      ['POST', '', {}, 'name'],
      ['POST', '', { name: 'x' }, 'variants'],
      ['POST', '', halves({ name: '' }), 'name'],
      ['POST', '', halves({ name: 'x'.repeat(129) }), 'name'],
      ['POST', '', halves({ variants: [] }), 'variants'],
      ['POST', '', halves({ variants: [{ name: 'a', model_id: 'old', allocation: 1 }] }), 'variants'],
      ['POST', '', pair({ name: 'treatment' }), "variants: two of them are named 'treatment'"],
      ['POST', '', pair({ allocation: 0.4 }), 'sum to 0.9'],
      ['POST', '', pair({ allocation: 0.500000002 }), 'must sum to 1'],
      ['POST', '', pair({ allocation: 1.5 }), 'allocation'],
      ['POST', '', pair({ allocation: -0.5 }, { allocation: 1.5 }), 'allocation'],
      ['POST', '', pair({ allocation: '0.5' }), 'allocation'],
      ['POST', '', pair({ model_id: 'ghost' }), "model_id of 'control': Model 'ghost'"],
      ['POST', '', pair({ model_id: nowhere }), "model_id of 'control'"],
      ['POST', '', pair({ version: '' }), 'version'],
      ['POST', '', halves({ name: 'x', target_groups: [nowhere] }), 'target_groups'],
      ['POST', '', halves({ name: 'x', target_groups: 'all' }), 'target_groups'],
      ['POST', '', halves({ name: 'x', primary_metric: '' }), 'primary_metric'],
      ['POST', '', halves({ name: 'x', confidence_level: 1 }), 'confidence_level'],
      ['POST', '', halves({ name: 'x', confidence_level: 0 }), 'confidence_level'],
      ['GET', '?status=asleep', undefined, 'status'],
      ['GET', '?limit=1001', undefined, 'limit'],
      ['GET', '?offset=-1', undefined, 'offset'],
      ['POST', `/${id}/pause`, { reason: '' }, 'reason'],
    ]
    for (const [method, path, body, field] of table) {
      expect([method, path, body, await ask(method, path, body)]).toEqual([
        method,
        path,
        body,
        {
          status: 400,
          body: { error: 'bad_request', message: expect.stringContaining(field), status_code: 400 },
        },
      ])
    }
    expect(await ask('POST', '', halves())).toEqual({
      status: 409,
      body: {
        error: 'conflict',
        message: "An experiment named 'a b' already exists. Choose another name.",
        status_code: 409,
      },
    })
  })

  it('that does not exist is 404 before any other error', async () => {
    const { ask } = await startExperimentService()
    const table: readonly [string, string, object | undefined][] = [
      ['GET', '', undefined],
      ['GET', '/analytics', undefined],
      ['GET', '/assignment?device_id=operator', undefined],
      ['GET', '/assignment?device_id=', undefined],
      ['POST', '/start', undefined],
      ['POST', '/pause', { reason: 7 }],
      ['POST', '/resume', undefined],
      ['POST', '/complete', undefined],
      ['POST', '/cancel', undefined],
      ['POST', '/observations', { device_id: 7 }],
    ]
    for (const [method, path, body] of table) {
      for (const id of [nowhere, 'x']) {
        const message = `Experiment '${id}' does not exist, or this key has no access to it.`
        expect([method, path, await ask(method, `/${id}${path}`, body)]).toEqual([
          method,
          path,
          { status: 404, body: { error: 'not_found', message, status_code: 404 } },
        ])
      }
    }
  })
})

describe('the devices of an experiment', () => {
  it('get their variants while it runs, only in the target groups, and lose them when it does not', async () => {
    const { ask, send, createHalves, variantOf, fleet } = await startExperimentService()
    await fleet(30)
    const group = (await send('POST', '/device-groups', { org_id: 'acme', name: 'canaries' })).body as { id: string }
    const inside = Array.from({ length: 28 }, (_, n) => `d${n}`)
    await send('POST', `/device-groups/${group.id}/devices`, { device_ids: inside })
    const { id } = await createHalves({ target_groups: [group.id] })
    const given = async (deviceId: string) =>
      ((await send('GET', `/devices/${deviceId}/assignments`)).body as Assigned).assignments.map(
        ({ plan_id, model_name, variant }) => [plan_id, model_name, variant],
      )
    expect(await given('d0')).toEqual([])
    await ask('POST', `/${id}/start`)
    const variants = new Set<string | null>()
    for (const deviceId of inside) {
      const variant = await variantOf(id, deviceId)
      variants.add(variant)
      expect(await given(deviceId)).toEqual([[id, variant === 'control' ? 'old' : 'new', variant]])
    }
    expect(variants).toEqual(new Set(['control', 'treatment']))
    expect(await given('d29')).toEqual([])
    await send('POST', `/device-groups/${group.id}/devices/d29`)
    expect(await given('d29')).toHaveLength(1)
    await send('DELETE', `/device-groups/${group.id}/devices/d29`)
    expect(await given('d29')).toEqual([])
    await ask('POST', `/${id}/pause`)
    expect(await given('d0')).toEqual([])
    await ask('POST', `/${id}/resume`)
    expect(await given('d0')).toHaveLength(1)
    await ask('POST', `/${id}/complete`)
    expect(await given('d0')).toEqual([])
  })

  it('lose their variants when their group is deleted', async () => {
    const { ask, send, createHalves } = await startExperimentService()
    const group = (await send('POST', '/device-groups', { org_id: 'acme', name: 'canaries' })).body as { id: string }
    await send('POST', `/device-groups/${group.id}/devices/operator`)
    const { id } = await createHalves({ target_groups: [group.id] })
    await ask('POST', `/${id}/start`)
    const given = async () => ((await send('GET', '/devices/operator/assignments')).body as Assigned).assignments.length
    expect(await given()).toBe(1)
    await send('DELETE', `/device-groups/${group.id}`)
    expect(await given()).toBe(0)
  })

  it('can be looked up one by one, and each response says why a device gets nothing', async () => {
    const { world, ask, send, addModel, createHalves, create, fleet } = await startExperimentService()
    const [mine] = await fleet(1)
    const { id } = await createHalves()
    const placed = async (deviceId: string, experiment = id) =>
      (await ask('GET', `/${experiment}/assignment?device_id=${deviceId}`)).body as { variant: string; reason: string }
    const draft = await placed('d0')
    const model = { control: 'old', treatment: 'new' }[draft.variant] ?? ''
    const modelId = ((await send('GET', `/models/${model}`)).body as { id: string }).id
    const place = {
      experiment_id: id,
      device_id: 'd0',
      status: 'running',
      variant: draft.variant,
      model_id: modelId,
      version: '1.0.0',
      assigned: true,
      reason: null,
    }
    expect(draft).toEqual({ ...place, status: 'draft', assigned: false, reason: 'The experiment is draft.' })
    // As another process starts it, whose notification is still on its way.
    await world.database!.transaction(async (tx) => {
      const started_revision = await plansStore.bump(tx)
      await tx.updateTable('experiments').set({ status: 'running', started_revision }).where('id', '=', id).execute()
    })
    expect(await placed('d0')).toEqual(place)
    const own = await world.request('GET', `/api/v1/experiments/${id}/assignment`, { key: mine!.key })
    expect(own).toMatchObject({ status: 200, body: place })

    const group = (await send('POST', '/device-groups', { org_id: 'acme', name: 'nobody' })).body as { id: string }
    const elsewhere = await create({
      name: 'elsewhere',
      variants: [
        { name: 'a', model_id: 'old', allocation: 0 },
        { name: 'b', model_id: 'old', allocation: 1 },
      ],
      target_groups: [group.id],
    })
    expect(await placed('d0', elsewhere.id)).toEqual({
      ...place,
      experiment_id: elsewhere.id,
      status: 'draft',
      variant: null,
      model_id: null,
      version: null,
      assigned: false,
      reason: "It is in none of the experiment's target groups.",
    })

    await addModel('empty', 0)
    const early = await create({
      name: 'early',
      variants: [
        { name: 'a', model_id: 'empty', allocation: 0 },
        { name: 'b', model_id: 'empty', allocation: 1 },
      ],
    })
    await ask('POST', `/${early.id}/start`)
    expect((await placed('d0', early.id)).reason).toBe("Version 1 of variant 'b' has not been uploaded yet.")

    const rival = await create({
      name: 'rival',
      variants: [
        { name: 'c', model_id: model, allocation: 0.5 },
        { name: 'd', model_id: model, allocation: 0.5 },
      ],
    })
    await ask('POST', `/${rival.id}/start`)
    expect((await placed('d0')).reason).toBe(
      `Its variant is '${draft.variant}', but experiment ${rival.id} takes precedence and assigns version 1.0.0.`,
    )
    expect(await ask('GET', `/${id}/assignment?device_id=ghost`)).toMatchObject({ status: 404 })
  })
})

describe('under token enrollment', () => {
  it('a key sees and changes only the experiments of its organization, within its scopes', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey ?? ''
    const keyFor = async (org_id: string, scopes: readonly string[]): Promise<string> => {
      const body = { name: `${org_id} ${scopes}`, org_id, scopes }
      const made = await world.request('POST', '/api/v1/keys', { key: admin, body })
      return (made.body as { api_key: string }).api_key
    }
    const all = ['devices:read', 'devices:write', 'models:read', 'models:write']
    const [acme, umbrella] = [await keyFor('acme', all), await keyFor('umbrella', all)]
    const reader = await keyFor('acme', ['models:read'])
    const stranger = await keyFor('acme', ['devices:read', 'devices:write'])
    const send = async (key: string, method: string, path: string, body?: unknown) => {
      const response = await world.request(method, `/api/v1${path}`, { key, body })
      return { status: response.status, body: response.body as never }
    }
    const register = async (device_id: string): Promise<string> =>
      ((await send(acme, 'POST', '/devices/register', { device_id })).body as { api_key: string }).api_key
    const [one, two] = [await register('one'), await register('two')]
    for (const key of [acme, umbrella]) {
      await send(key, 'POST', '/models', { name: 'old' })
      await send(key, 'POST', '/models', { name: 'new' })
    }
    const variants = [
      { name: 'a', model_id: 'old', allocation: 0.5 },
      { name: 'b', model_id: 'new', allocation: 0.5 },
    ]
    const made = await send(acme, 'POST', '/experiments', { name: 'x', variants })
    expect(made).toMatchObject({ status: 201, body: { org_id: 'acme' } })
    const { id } = made.body as ExperimentBody
    expect((await send(umbrella, 'POST', '/experiments', { name: 'x', variants })).status).toBe(201)

    const routes: readonly [string, string, object | undefined, 'models:read' | 'models:write'][] = [
      ['GET', `/experiments/${id}`, undefined, 'models:read'],
      ['GET', `/experiments/${id}/analytics`, undefined, 'models:read'],
      ['GET', `/experiments/${id}/assignment?device_id=one`, undefined, 'models:read'],
      ['POST', `/experiments/${id}/start`, undefined, 'models:write'],
      ['POST', `/experiments/${id}/pause`, undefined, 'models:write'],
      ['POST', `/experiments/${id}/resume`, undefined, 'models:write'],
      ['POST', `/experiments/${id}/complete`, undefined, 'models:write'],
      ['POST', `/experiments/${id}/cancel`, undefined, 'models:write'],
      ['POST', `/experiments/${id}/observations`, { device_id: 'one', metrics: { accuracy: 1 } }, 'models:write'],
    ]
    for (const [method, path, body, scope] of routes) {
      expect([method, path, (await send(umbrella, method, path, body)).status]).toEqual([method, path, 404])
      const lacking = await send(scope === 'models:read' ? stranger : reader, method, path, body)
      expect([method, path, lacking]).toMatchObject([method, path, { status: 403, body: { error: 'forbidden' } }])
      expect((lacking.body as { message: string }).message).toContain(scope)
    }
    expect((await send(reader, 'POST', '/experiments', { name: 'y', variants })).status).toBe(403)
    expect((await send(stranger, 'GET', '/experiments')).status).toBe(403)
    expect((await send(umbrella, 'GET', '/experiments')).body).toMatchObject({ total: 1 })
    expect((await send(admin, 'GET', '/experiments')).body).toMatchObject({ total: 2 })

    const group = (await send(umbrella, 'POST', '/device-groups', { org_id: 'umbrella', name: 'g' })).body as {
      id: string
    }
    expect(await send(acme, 'POST', '/experiments', { name: 'y', variants, target_groups: [group.id] })).toMatchObject({
      status: 400,
      body: { message: `target_groups: Device group '${group.id}' does not exist, or this key has no access to it.` },
    })
    const modelOf = async (key: string, name: string) =>
      ((await send(key, 'GET', `/models/${name}`)).body as { id: string }).id
    const mixed = [
      { name: 'a', model_id: await modelOf(acme, 'old'), allocation: 0.5 },
      { name: 'b', model_id: await modelOf(umbrella, 'new'), allocation: 0.5 },
    ]
    expect(await send(admin, 'POST', '/experiments', { name: 'mixed', variants: mixed })).toMatchObject({
      status: 400,
      body: { message: 'variants: their models belong to different organizations.' },
    })
    const ours = mixed.map((variant) => ({ ...variant, model_id: mixed[0]!.model_id }))
    expect(
      await send(admin, 'POST', '/experiments', { name: 'ours', variants: ours, target_groups: [group.id] }),
    ).toMatchObject({
      status: 400,
      body: { message: "target_groups: 'g' belongs to a different organization than the models." },
    })

    for (const name of ['old', 'new']) await send(acme, 'POST', `/models/${name}/versions/upload`, formOf(name))
    await send(acme, 'POST', `/experiments/${id}/start`)
    const observe = (key: string, ...devices: string[]) =>
      send(key, 'POST', `/experiments/${id}/observations`, {
        observations: devices.map((device_id) => ({ device_id, metrics: { accuracy: 0.5 } })),
      })
    expect(await observe(one, 'one')).toEqual({ status: 200, body: { experiment_id: id, accepted: 1, skipped: [] } })
    expect(await observe(one, 'one', 'two')).toMatchObject({
      status: 403,
      body: { message: 'This key may act for its own device only; for others it lacks models:write.' },
    })
    expect(await send(two, 'GET', `/experiments/${id}/assignment`)).toMatchObject({
      status: 200,
      body: { device_id: 'two' },
    })
    expect(await send(two, 'GET', `/experiments/${id}/assignment?device_id=one`)).toMatchObject({
      status: 403,
      body: { message: 'This key may ask for its own device only; for others it lacks devices:read.' },
    })
  })
})
