import { createPublicKey, verify } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { apiOf, formOf, startWorld } from '../../../../test/world.ts'
import { deliveryRowsOf } from '../../delivery/ownership.store.ts'
import { openFederation } from '../../federations/federation.fixture.ts'
import { openStream } from '../../operations/events/events.fixture.ts'
import { trainingRowsOf } from '../../training/ownership.store.ts'
import { fleetRowsOf } from './erasures.store.ts'

const DATABASES = ['embedded', ...(hasPostgres() ? ['postgres' as const] : [])] as ('embedded' | 'postgres')[]
const weights = new Uint8Array(Float32Array.of(1, 2, 3).buffer)
type Body = Readonly<Record<string, unknown>>

const setUp = async (enrollment: 'open' | 'token' = 'token', database?: 'embedded' | 'postgres') => {
  const world = await startWorld({ ...(database && { database }), config: { enrollment } })
  const root = enrollment === 'token' ? world.service.firstAdminKey! : (await world.register('operator')).key
  const ask = apiOf<Body>(world, root)
  const must = async (method: string, path: string, body?: unknown, key = root) => {
    const response = await ask(method, path, body, key)
    expect([method, path, response.status < 300 ? '' : response.body]).toEqual([method, path, ''])
    return response.body
  }
  const register = async (device_id: string) =>
    (await must('POST', '/devices/register', { device_id, org_id: 'default' })) as { id: string; api_key: string }
  const erase = (name: string, key = root) => ask('POST', `/devices/${name}/erase`, { confirm: name }, key)
  return { world, ask, must, register, erase, root }
}

it('a device is exported, and erased in the middle of a round and a rollout', async () => {
  const { world, ask, must, register, erase, root } = await setUp()
  const [phone, other] = [await register('phone'), await register('other')]
  const group = await must('POST', '/device-groups', { org_id: 'default', name: 'lab' })
  await must('POST', `/device-groups/${group.id}/devices`, { device_ids: ['phone', 'other'] })
  const model = await must('POST', '/models', { name: 'm', framework: 'pytorch', org_id: 'default' })
  await must('POST', `/models/${model.id}/versions/upload`, formOf(weights, { version: '1' }))
  await must('POST', `/models/${model.id}/rollouts`, { version: '1', rollout_percentage: 100, start_immediately: true })
  await must('PUT', '/devices/phone/heartbeat', { metrics: { battery_level: 5 } }, phone.api_key)
  await must('PUT', '/devices/other/heartbeat', {}, other.api_key)
  const start = { target_devices: 2, min_devices: 1, org_id: 'default' }
  const round = await must('POST', '/training/rounds/start', start)
  const submit = (key: string) =>
    ask('POST', `/training/rounds/${round.id}/updates`, formOf(weights, { num_samples: 5 }), key)
  expect((await submit(phone.api_key)).status).toBeLessThan(300)

  const exported = (await must('GET', '/devices/phone/export')) as {
    data: Record<string, { rows: Body[]; truncated: boolean }>
  }
  expect(exported).toMatchObject({
    device: { id: phone.id, metrics: { battery_level: 5 } },
    assignments: [{ model_id: model.id }],
    data: {
      groups: { rows: [{ group_id: group.id }], truncated: false },
      rounds: { rows: [{ round_id: round.id, state: 'delivered' }] },
      updates: { rows: [{ round_id: round.id, num_samples: 5 }] },
      keys: { rows: [{ device_id: phone.id }] },
    },
  })
  expect(Object.keys(exported.data.keys!.rows[0]!)).not.toContain('hash')

  await world.advance(1)
  const events = await openStream(world.baseUrl, { key: root, query: '?topics=device' })
  expect(await events.next()).toMatchObject({ event: 'ready' })
  expect((await ask('POST', '/devices/phone/erase', { confirm: 'other' })).status).toBe(400)
  const erased = await erase('phone')
  expect(erased).toMatchObject({
    status: 200,
    body: { device: phone.id, erased: { device: 1, groups: 1, rounds: 1, updates: 1, keys: 1 } },
  })
  const { document, signature, public_key } = erased.body as Record<string, string>
  const spki = createPublicKey({ key: Buffer.from(public_key!, 'base64'), format: 'der', type: 'spki' })
  expect(verify(null, Buffer.from(document!), spki, Buffer.from(signature!, 'base64'))).toBe(true)
  expect(document).not.toContain('phone')
  expect((await must('GET', `/device-erasures/${erased.body.id}`)).document).toBe(document)
  expect(await must('GET', '/device-erasures')).toMatchObject({ total: 1, erasures: [{ id: erased.body.id }] })

  // A stream may begin with what had just happened.
  let next = await events.next()
  while (next?.event === 'device.registered') next = await events.next()
  expect(next).toMatchObject({
    event: 'device.erased',
    data: { subject: { kind: 'device', id: phone.id }, payload: {} },
  })

  expect((await erase('phone')).status).toBe(404)
  expect((await ask('GET', '/devices/phone/export')).status).toBe(404)
  expect((await ask('PUT', '/devices/phone/heartbeat', {}, phone.api_key)).status).toBe(401)
  expect(await must('GET', `/device-groups/${group.id}`)).toMatchObject({ device_count: 1 })
  expect(await must('GET', '/devices?org_id=default')).toMatchObject({ total: 1 })
  expect(await must('GET', `/training/rounds/${round.id}/status`)).toMatchObject({
    status: 'active',
    completed_devices: 0,
  })
  expect((await submit(other.api_key)).status).toBeLessThan(300)
  await world.advance(3600)
  expect(await must('GET', `/training/rounds/${round.id}/status`)).toMatchObject({
    status: 'completed',
    completed_devices: 1,
  })
  expect(await must('POST', '/audit/verify')).toMatchObject({ valid: true })
})

it('the round of an erased device cannot be replayed, which does not mean that its bytes have changed', async () => {
  const { must, register, erase, ask, world } = await setUp()
  const devices = [await register('phone'), await register('other')]
  const round = await must('POST', '/training/rounds/start', { target_devices: 2, min_devices: 2, org_id: 'default' })
  for (const { api_key: key } of devices)
    await must('POST', `/training/rounds/${round.id}/updates`, formOf(weights, { num_samples: 5 }), key)
  await world.service.runDueTasks()
  expect(await must('POST', `/training/rounds/${round.id}/receipt/replay`)).toMatchObject({ matches: true })
  const before = (await must('GET', `/training/rounds/${round.id}/receipt`)) as { updates: Body[] }
  expect(before.updates.map(({ device_id }) => device_id)).toEqual(['other', 'phone'])
  expect((await erase('phone')).status).toBe(200)
  expect(await must('GET', `/training/rounds/${round.id}/receipt`)).toEqual({
    ...before,
    updates: [before.updates[0], { ...before.updates[1], device_id: devices[0]!.id }],
  })
  expect(await ask('POST', `/training/rounds/${round.id}/receipt/replay`)).toMatchObject({
    status: 409,
    body: { message: 'A device whose update is in the receipt was erased; the round cannot be replayed.' },
  })
})

it('the audit log does not keep the name of a device as that of its revoked key', async () => {
  const { must, register, erase } = await setUp()
  const { id } = await register('carols-phone')
  const { keys } = (await must('GET', '/keys?devices=true')) as { keys: Body[] }
  await must('DELETE', `/keys/${keys.find(({ name }) => name === 'carols-phone')!.id}`)
  const log = async () => JSON.stringify(await must('GET', '/audit?action=revokeKey'))
  expect(await log()).toContain('carols-phone')
  expect(await erase('carols-phone')).toMatchObject({ body: { device: id, erased: { keys: 1, audit_names: 1 } } })
  expect(await log()).not.toContain('carols-phone')
})

it('the reason why a round failed no longer names an erased device', async () => {
  const { must, register, erase, world } = await setUp()
  const devices = [await register('phone'), await register('phone 2')]
  const round = await must('POST', '/training/rounds/start', { target_devices: 2, min_devices: 2, org_id: 'default' })
  for (const [at, { api_key: key }] of devices.entries()) {
    const update = new Uint8Array(new Float32Array(3 + at).fill(1).buffer)
    await must('POST', `/training/rounds/${round.id}/updates`, formOf(update, { num_samples: 5 }), key)
  }
  await world.service.runDueTasks()
  const reason = async () => (await must('GET', `/training/rounds/${round.id}/status`)).failure_reason as string
  const before = await reason()
  expect(before).toContain("device 'phone'")
  expect((await erase('phone')).status).toBe(200)
  expect(await reason()).toBe(before.replaceAll("device 'phone'", `device '${devices[0]!.id}'`))
  expect(await reason()).toContain("device 'phone 2'")
})

it('no record contains what an erased device wrote about its failures', async () => {
  const { world, must, register, erase } = await setUp()
  const text = 'ZEBRA of Jane Doe'
  const devices = [await register('phone'), await register('second'), await register('third')]
  const report = (name: string, key: string, plan: unknown) =>
    must('POST', `/devices/${name}/assignments/${plan}/report`, { state: 'failed', version: '1', reason: text }, key)
  await must('POST', '/models', { name: 'm', framework: 'pytorch', org_id: 'default' })
  await must('POST', '/models/m/versions/upload', formOf(weights, { version: '1' }))
  const body = { version: '1', rollout_percentage: 100, start_immediately: true }
  const { rollout_id } = await must('POST', '/models/m/rollouts', body)
  for (const [at, name] of ['phone', 'second', 'third'].entries()) await report(name, devices[at]!.api_key, rollout_id)
  const rollout = `/models/m/rollouts/${rollout_id}`
  expect((await must('GET', rollout)).reason).toMatch(`Most often: ${text}`)
  await must('POST', `${rollout}/resume`)
  // A deleted rollout keeps its history, but no reports, which name the authors.
  await must('POST', '/models', { name: 'deleted', framework: 'pytorch', org_id: 'default' })
  await must('POST', '/models/deleted/versions/upload', formOf(weights, { version: '1' }))
  const { rollout_id: deleted } = await must('POST', '/models/deleted/rollouts', body)
  for (const [at, name] of ['phone', 'second', 'third'].entries()) await report(name, devices[at]!.api_key, deleted)
  expect((await must('GET', `/models/deleted/rollouts/${deleted}`)).reason).toMatch(`Most often: ${text}`)
  await must('DELETE', `/models/deleted/rollouts/${deleted}`)
  const aim = { model_name: 'm', model_version: '1', devices: ['phone'], rollout_percentage: 100 }
  const { deployment_id } = await must('POST', '/deploy/execute', aim)
  await report('phone', devices[0]!.api_key, deployment_id)
  const start = { target_devices: 1, min_devices: 1, org_id: 'default' }
  for (const name of ['second', 'third'])
    await must('PUT', `/devices/${name}/heartbeat`, { status: 'inactive' }, devices[name === 'second' ? 1 : 2]!.api_key)
  await must('PUT', '/devices/phone/heartbeat', {}, devices[0]!.api_key)
  const round = await must('POST', '/training/rounds/start', start)
  await must('GET', `/training/rounds/${round.id}/plan`, undefined, devices[0]!.api_key)
  await must('POST', `/training/rounds/${round.id}/failures`, { reason: text }, devices[0]!.api_key)
  await world.advance(3600)
  const status = () => must('GET', `/training/rounds/${round.id}/status`)
  expect((await status()).failure_reason).toMatch(`1 of 1 device failed: ${text} (1)`)
  const { id: job } = await must('POST', '/training/jobs', { model: 'm', rounds: 3, min_devices: 1, target_devices: 1 })
  for (let failed = 0; failed < 3; failed++) {
    await must('PUT', '/devices/phone/heartbeat', {}, devices[0]!.api_key)
    await world.service.runDueTasks()
    const { pending_round_id: id } = await must('PUT', '/devices/phone/heartbeat', {}, devices[0]!.api_key)
    await must('POST', `/training/rounds/${id}/failures`, { reason: text }, devices[0]!.api_key)
    await world.advance(60)
  }
  expect(await must('GET', `/training/jobs/${job}`)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining(`The last: 1 of 1 device failed: ${text} (1)`),
  })

  for (const name of ['phone', 'second', 'third']) expect((await erase(name)).status).toBe(200)
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace`.execute(
    world.database!.sql,
  )
  const found = []
  for (const { name } of tables) {
    const rows = sql`select to_jsonb(t) as row from ${sql.table(name)} t where to_jsonb(t)::text like '%ZEBRA%'`
    found.push(...(await rows.execute(world.database!.sql)).rows.map((row) => [name, row]))
  }
  expect(found).toEqual([])
  expect((await status()).failure_reason).toMatch('1 of 1 device failed: (erased)')
  expect(await must('GET', `/deployments/${deployment_id}`)).toMatchObject({
    reason: '1 of 1 reporting devices failed (the limit is 5%). Most often: (erased)',
  })
})

it.runIf(hasPostgres())('an erasure waits for a rollout whose reason is being written', async () => {
  const { world, must, register, erase } = await setUp()
  const { api_key: key } = await register('phone')
  await must('POST', '/models', { name: 'm', framework: 'pytorch', org_id: 'default' })
  await must('POST', '/models/m/versions/upload', formOf(weights, { version: '1' }))
  const rollout = { version: '1', rollout_percentage: 100, start_immediately: true }
  const { rollout_id: id } = await must('POST', '/models/m/rollouts', rollout)
  const failed = { state: 'failed', version: '1', reason: 'ZEBRA' }
  await must('POST', `/devices/phone/assignments/${id}/report`, failed, key)
  const erasure = await world.database!.transaction(async (tx) => {
    await sql`select from rollouts where id = ${id} for update`.execute(tx)
    const running = erase('phone')
    const waiting = sql`select from pg_locks where not granted`
    while ((await waiting.execute(tx)).rows.length === 0);
    await sql`update rollouts set status = 'paused', reason = 'Most. Most often: ZEBRA' where id = ${id}`.execute(tx)
    return { running }
  })
  expect((await erasure.running).status).toBe(200)
  expect((await must('GET', `/models/m/rollouts/${id}`)).reason).toBe('Most. Most often: (erased)')
})

it("the reason why a federation's round failed still names another organization's device of the same name", async () => {
  const { world, send, keyOf, found } = await openFederation()
  const federation = await found(['beta'])
  const [acme, beta] = [await keyOf('acme'), await keyOf('beta')]
  const register = async (key: string, device_id: string) =>
    (await send(key, 'POST', '/devices/register', { device_id })).body as { id: string; api_key: string }
  const other = await register(acme, 'other')
  await register(acme, 'phone')
  const phone = await register(beta, 'phone')
  const round = await send(acme, 'POST', '/training/rounds/start', { federation, target_devices: 3, min_devices: 2 })
  expect(round).toMatchObject({ status: 201 })
  for (const [at, { api_key: key }] of [other, phone].entries()) {
    const update = new Uint8Array(new Float32Array(3 + at).fill(1).buffer)
    const path = `/training/rounds/${round.body.id}/updates`
    expect((await send(key, 'POST', path, formOf(update, { num_samples: 5 }))).status).toBe(201)
  }
  await world.advance(24 * 3600)
  await world.service.runDueTasks()
  const reason = async () =>
    (await send(acme, 'GET', `/training/rounds/${round.body.id}/status`)).body.failure_reason as string
  const before = await reason()
  expect(before).toContain("device 'phone'")
  const erase = async (orgId: string) =>
    (await send(await keyOf(orgId, ['admin']), 'POST', '/devices/phone/erase', { confirm: 'phone' })).status
  expect(await erase('acme')).toBe(200)
  expect(await reason()).toBe(before)
  expect(await erase('beta')).toBe(200)
  expect(await reason()).toBe(before.replaceAll("device 'phone'", `device '${phone.id}'`))
})

it.each(DATABASES)('of many concurrent erasures, amid heartbeats, one succeeds (%s)', async (database) => {
  const { register, ask, erase, must } = await setUp('token', database)
  const { api_key } = await register('phone')
  await register('other')
  await must('POST', '/training/rounds/start', { target_devices: 1, min_devices: 1, org_id: 'default' })
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      at % 5 === 0 ? erase('phone') : ask('PUT', '/devices/phone/heartbeat', { metrics: { at } }, api_key),
    ),
  )
  const erasures = responses.filter((_, at) => at % 5 === 0).map(({ status }) => status)
  expect(erasures.sort()).toEqual([200, 404, 404, 404])
  expect(responses.filter(({ status }) => status >= 500)).toEqual([])
  expect((await ask('GET', '/devices/phone')).status).toBe(404)
})

it('an erased device cannot enroll again on its own, but can with a key', async () => {
  const { world, erase, root } = await setUp('open')
  const register = (key?: string) =>
    world.request('POST', '/api/v1/devices/register', { key, body: { device_id: 'phone' } })
  expect((await register()).status).toBe(201)
  expect((await erase('phone')).status).toBe(200)
  expect(await register()).toMatchObject({ status: 409, body: { message: expect.stringContaining('was erased') } })
  expect((await register(root)).status).toBe(201)
})

it('another organization neither exports nor erases a device, nor reads the receipt', async () => {
  const { must, ask, register, erase } = await setUp()
  await register('phone')
  await must('POST', '/orgs', { name: 'beta' })
  const { api_key } = await must('POST', '/keys', { name: 'b', org_id: 'beta', scopes: ['admin', 'devices:write'] })
  const beta = api_key as string
  expect((await erase('phone', beta)).status).toBe(404)
  expect((await ask('GET', '/devices/phone/export', undefined, beta)).status).toBe(404)
  const { id } = (await erase('phone')).body
  expect((await ask('GET', `/device-erasures/${id}`, undefined, beta)).status).toBe(404)
  expect((await ask('GET', '/device-erasures', undefined, beta)).body).toMatchObject({ total: 0 })
})

it('requests for a device that is erased at the same time never fail with a server error', async () => {
  const { ask, must, register, erase } = await setUp()
  await must('POST', '/models', { name: 'm', org_id: 'default' })
  await must('POST', '/models/m/versions/upload', formOf(weights))
  const { id: group } = await must('POST', '/device-groups', { org_id: 'default', name: 'lab' })
  const failed: unknown[] = []
  for (let n = 0; n < 14; n++) {
    const name = `device-${n}`
    const { api_key } = await register(name)
    const { id: round } = await must('POST', '/training/rounds/start', { target_devices: 2, min_devices: 1 })
    const heartbeat = () => ask('PUT', `/devices/${name}/heartbeat`, { metrics: { battery_level: n } }, api_key)
    const path = `/training/rounds/${round}`
    const aim = { model_name: 'm', model_version: '1', devices: [name], rollout_percentage: 100 }
    const requests = [
      async () => {
        await heartbeat()
        return ask('POST', `${path}/updates`, formOf(weights, { num_samples: 1 }), api_key)
      },
      heartbeat,
      () => erase(name),
      () => ask('POST', '/devices/register', { device_id: name, org_id: 'default' }),
      () => ask('POST', `/device-groups/${group}/devices`, { device_ids: [name] }),
      () => ask('GET', `/devices/${name}/assignments`, undefined, api_key),
      () => ask('POST', '/deploy/execute', aim),
    ]
    // A different order each time: the erasure comes before, between, and after all others.
    const turn = n % requests.length
    const responses = await Promise.all([...requests.slice(turn), ...requests.slice(0, turn)].map((send) => send()))
    failed.push(...responses.filter(({ status }) => status >= 500))
    await ask('POST', `${path}/cancel`)
  }
  expect(failed).toEqual([])
})

it('an export continues after the rows of earlier ones', async () => {
  const { world, must, register } = await setUp()
  const { id } = await register('phone')
  await sql`with groups as (
    insert into device_groups (id, org_id, name, description, group_type, tags, created_at)
    select gen_random_uuid(), 'default', 'group ' || n, '', 'static', '{}', now() from generate_series(1, 1500) n returning id
  ) insert into device_group_members (group_id, device_id, added_at) select id, ${id}, now() from groups`.execute(
    world.database!.sql,
  )
  const groupsFrom = async (offset: number) => {
    const { data } = await must('GET', `/devices/phone/export?offset=${offset}`)
    return (data as Record<string, { rows: Body[]; truncated: boolean }>).groups!
  }
  const pages = [await groupsFrom(0), await groupsFrom(1000), await groupsFrom(1500)]
  expect(pages.map(({ rows, truncated }) => [rows.length, truncated])).toEqual([
    [1000, true],
    [500, false],
    [0, false],
  ])
  expect(new Set(pages.flatMap(({ rows }) => rows.map(({ group_id }) => group_id))).size).toBe(1500)
})

it('every table with rows about devices is exported and erased with the device', async () => {
  const { world } = await setUp()
  const db = world.database!.sql
  const device = { id: 'id', deviceId: 'name', orgId: null }
  const contributed = [fleetRowsOf, deliveryRowsOf, trainingRowsOf].flatMap((rowsOf) => Object.values(rowsOf(device)))
  const covered = contributed.map((rows) => /from (\w+)/.exec(rows.compile(db).sql)![1])
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns where table_schema = current_schema and column_name = 'device_id'
    union select conrelid::regclass::text from pg_constraint where confrelid = 'devices'::regclass and contype = 'f'`.execute(
    db,
  )
  // The device itself, and its keys, which the access module contributes.
  const forgotten = rows.map(({ name }) => name).filter((name) => !['devices', 'keys', ...covered].includes(name))
  expect(forgotten, 'tables that no module contributes: see erasures.contribute').toEqual([])
})
