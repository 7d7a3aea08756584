import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { createModel, uploadVersion } from '../../../../test/fleet-of-models.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import {
  applyAction,
  create,
  created,
  fleetIn,
  get,
  history,
  path,
  type Rollout,
  report,
  runs,
  startFleet,
  uuid,
} from './rollout-calls.fixture.ts'

const openOrganization = boundOrganizations()

const openFleet = async (devices: number) => fleetIn(await openOrganization(), devices)

describe('creating a rollout', () => {
  it('makes it active; by default it grows to all devices in steps of ten percent an hour', async () => {
    const { world, key, modelId, later, at, org } = await openFleet(1)
    const rollout = await created(world, key)
    expect(rollout).toEqual({
      rollout_id: uuid,
      model_id: modelId,
      model_name: 'm',
      org_id: org,
      version: '2.0.0',
      status: 'active',
      percentage: 10,
      initial_percentage: 10,
      target_percentage: 100,
      increment_step: 10,
      step_interval_minutes: 60,
      group_id: null,
      auto_rollback: false,
      reason: null,
      next_step_at: later(60),
      created_at: at,
      started_at: at,
      ended_at: null,
      ended_by: null,
      updated_at: at,
      reports: { downloading: 0, verifying: 0, ready: 0, active: 0, failed: 0 },
      health: { since: at, reports: 0, failed: 0, max_failure_share: 0.05, min_reports: 3 },
      failures: [],
      warnings: [],
    })
    expect(await get(world, key, rollout)).toEqual(rollout)
    const { model_name, reports, health, failures, warnings, ...listed } = rollout
    expect((await world.request('GET', '/api/v1/rollouts/active', { key })).body).toEqual({ rollouts: [listed] })
    expect((await world.request('GET', '/api/v1/models/m/rollouts', { key })).body).toEqual({
      rollouts: [{ ...listed, model_name }],
      total: 1,
      limit: 100,
      offset: 0,
    })
  })

  it('adds it to the list of all models, which filters by status and separates organizations', async () => {
    const { world, key } = await startFleet(1)
    const paused = await created(world, key)
    await applyAction(world, key, paused, 'pause')
    const running = await created(world, key)
    await createModel(world, key, 'other', ['1.0.0'])
    const body = { version: '1.0.0', rollout_percentage: 5 }
    const other = (await world.request('POST', '/api/v1/models/other/rollouts', { key, body })).body as Rollout
    const list = async (query: string, as = key) => {
      const { body: found } = await world.request('GET', `/api/v1/rollouts${query}`, { key: as })
      const { rollouts, total } = found as { rollouts: Rollout[]; total: number }
      return [total, rollouts.map(({ rollout_id, model_name }) => [rollout_id, model_name])]
    }
    expect(await list('')).toEqual([
      3,
      [
        [other.rollout_id, 'other'],
        [running.rollout_id, 'm'],
        [paused.rollout_id, 'm'],
      ],
    ])
    expect(await list('?limit=1&offset=1')).toEqual([3, [[running.rollout_id, 'm']]])
    expect(await list('?status=paused')).toEqual([1, [[paused.rollout_id, 'm']]])
    await applyAction(world, key, paused, 'rollback')
    const done = await created(world, key, { rollout_percentage: 100 })
    await world.advance(3600)
    expect(await list('?ended_by=user')).toEqual([1, [[paused.rollout_id, 'm']]])
    expect(await list('?status=completed&ended_by=service')).toEqual([1, [[done.rollout_id, 'm']]])
    expect(await list(`?ended_since=${world.now().toISOString()}`)).toEqual([1, [[done.rollout_id, 'm']]])
    expect((await world.request('GET', '/api/v1/rollouts?ended_since=today', { key })).status).toBe(400)
    const { api_key } = (
      await world.request('POST', '/api/v1/keys', {
        key,
        body: { name: 'elsewhere', org_id: 'acme', scopes: ['models:read'] },
      })
    ).body as { api_key: string }
    expect(await list('', api_key)).toEqual([0, []])
  })

  it('leaves it pending if it is not to start immediately: it reaches no device until it is started', async () => {
    const { world, key, fleet, later } = await openFleet(1)
    const rollout = await created(world, key, { start_immediately: false, rollout_percentage: 100 })
    expect(rollout).toMatchObject({ status: 'pending', started_at: null, next_step_at: null })
    expect((await world.request('GET', '/api/v1/rollouts/active', { key })).body).toEqual({ rollouts: [] })
    expect(await runs(world, fleet[0]!)).toEqual([])
    await world.advance(60)
    expect((await applyAction(world, key, rollout, 'start')).body).toMatchObject({
      status: 'active',
      started_at: later(1),
    })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
  })

  it('for a version that is not uploaded warns, and no device gets it until it is', async () => {
    const { world, key, fleet } = await openFleet(1)
    const rollout = await created(world, key, { version: '3.0.0', rollout_percentage: 100, target_percentage: 100 })
    expect(rollout.warnings).toEqual(['Version 3.0.0 has not been uploaded yet: devices get nothing until it is.'])
    expect(await runs(world, fleet[0]!)).toEqual([])
    await world.advance(3600)
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active', percentage: 100 })
    await uploadVersion(world, key, 'm', '3.0.0')
    expect(await runs(world, fleet[0]!)).toEqual(['3.0.0'])
    expect((await get(world, key, rollout)).warnings).toEqual([])
  })

  it('with `latest` means the version that is the latest at that time', async () => {
    const { world, key, fleet } = await openFleet(1)
    const rollout = await created(world, key, { version: 'latest', rollout_percentage: 100 })
    await uploadVersion(world, key, 'm', '3.0.0')
    expect(await get(world, key, rollout)).toMatchObject({ version: '2.0.0' })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
  })

  it('with invalid fields is refused, naming them; for a model that does not exist it is 404', async () => {
    const { world, key } = await openFleet(1)
    for (const [body, field] of [
      [{ rollout_percentage: 101 }, 'rollout_percentage'],
      [{ rollout_percentage: -1 }, 'rollout_percentage'],
      [{ rollout_percentage: 1.5 }, 'rollout_percentage'],
      [{ rollout_percentage: undefined }, 'rollout_percentage'],
      [{ target_percentage: 101 }, 'target_percentage'],
      [{ target_percentage: 9 }, 'target_percentage'],
      [{ increment_step: 0 }, 'increment_step'],
      [{ increment_step: 101 }, 'increment_step'],
      [{ step_interval_minutes: 0 }, 'step_interval_minutes'],
      [{ version: '' }, 'version'],
      [{ version: undefined }, 'version'],
      [{ group: 'nobody' }, 'group'],
      [{ start_immediately: 'yes' }, 'start_immediately'],
    ] as const) {
      const response = await create(world, key, body)
      expect(response).toMatchObject({ status: 400, body: { error: 'bad_request', status_code: 400 } })
      expect((response.body as { message: string }).message).toContain(field)
      const requested = { key, body }
      expect((await world.request('POST', '/api/v1/models/ghost/rollouts', requested)).status).toBe(404)
    }
  })
})

describe('a rollout that runs', () => {
  it('grows by a step each interval while it is healthy, and completes at its target', async () => {
    const { world, key, later } = await openFleet(1)
    const rollout = await created(world, key, { rollout_percentage: 20, target_percentage: 90, increment_step: 40 })
    const seen: unknown[] = []
    for (let hour = 0; hour < 4; hour++) {
      const { percentage, status, next_step_at, ended_at } = await get(world, key, rollout)
      seen.push([percentage, status, next_step_at, ended_at])
      await world.advance(3600)
    }
    expect(seen).toEqual([
      [20, 'active', later(60), null],
      [60, 'active', later(120), null],
      [90, 'completed', null, later(120)],
      [90, 'completed', null, later(120)],
    ])
    expect(
      (await history(world, key, rollout)).map(({ event, status, percentage }) => [event, status, percentage]),
    ).toEqual([
      ['create', 'pending', 20],
      ['start', 'active', 20],
      ['step', 'active', 60],
      ['step', 'active', 90],
      ['reach', 'completed', 90],
    ])
    expect((await world.request('GET', '/api/v1/rollouts/active', { key })).body).toEqual({ rollouts: [] })
  })

  it('takes one step after an interruption, however long that was', async () => {
    const { world, key, later } = await openFleet(1)
    const rollout = await created(world, key)
    await world.advance(10 * 3600)
    expect(await get(world, key, rollout)).toMatchObject({ percentage: 20, next_step_at: later(660) })
  })

  it('pauses with a reason as soon as too many devices fail, and continues from there when it is resumed', async () => {
    const { world, key, fleet, later, at } = await openFleet(4)
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await report(world, fleet[0]!, rollout, 'failed', 'out of memory')
    await report(world, fleet[1]!, rollout, 'failed', 'out of memory')
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active' })
    await report(world, fleet[2]!, rollout, 'active')
    const paused = await get(world, key, rollout)
    expect(paused).toMatchObject({
      status: 'paused',
      reason: '2 of 3 reporting devices failed (66.7%; the limit is 5%). Most often: out of memory',
      next_step_at: null,
      reports: { downloading: 0, verifying: 0, ready: 0, active: 1, failed: 2 },
      health: { since: at, reports: 3, failed: 2, max_failure_share: 0.05, min_reports: 3 },
      failures: [{ reason: 'out of memory', devices: 2 }],
    })
    await world.advance(7200)
    expect(await get(world, key, rollout)).toEqual(paused)
    expect(await runs(world, fleet[3]!)).toEqual(['2.0.0'])
    expect((await applyAction(world, key, rollout, 'resume')).body).toMatchObject({
      status: 'active',
      reason: null,
      health: { since: later(120), reports: 0, failed: 0 },
    })
    await report(world, fleet[2]!, rollout, 'active')
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active' })
    await world.advance(3600)
    expect(await get(world, key, rollout)).toMatchObject({ status: 'completed' })
  })

  it('rolls back automatically with auto_rollback: every device gets its previous version', async () => {
    const { world, key, fleet, later } = await openFleet(3)
    const good = await created(world, key, { version: '1.0.0', rollout_percentage: 100 })
    await world.advance(3600)
    expect(await get(world, key, good)).toMatchObject({ status: 'completed' })
    const bad = await created(world, key, { rollout_percentage: 100, auto_rollback: true })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    await report(world, fleet[0]!, bad, 'active')
    for (const device of fleet.slice(1)) await report(world, device, bad, 'failed', 'exit code 1')
    expect(await get(world, key, bad)).toMatchObject({
      status: 'rolled_back',
      reason: '2 of 3 reporting devices failed (66.7%; the limit is 5%). Most often: exit code 1',
      ended_at: later(60),
      ended_by: 'service',
      reports: { downloading: 0, verifying: 0, ready: 0, active: 0, failed: 2, withdrawn: 1 },
    })
    const warnings = [
      `Version 2.0.0 was withdrawn from devices before, by rollout ${bad.rollout_id}: 2 of 3 reporting devices failed (66.7%; the limit is 5%). Most often: exit code 1`,
    ]
    expect(await created(world, key, { start_immediately: false })).toMatchObject({ warnings })
    const target = { model_name: 'm', model_version: '2.0.0', devices: [fleet[0]!.deviceId] }
    expect((await world.request('POST', '/api/v1/deploy/prepare', { key, body: target })).body).toMatchObject({
      warnings: expect.arrayContaining(warnings),
    })
    expect((await world.request('GET', path(bad, '/devices'), { key })).body).toMatchObject({
      devices: ['withdrawn', 'failed', 'failed'].map((state) => ({ state, current: false })),
      states: {},
    })
    expect((await history(world, key, bad)).map(({ event, status }) => [event, status])).toEqual([
      ['create', 'pending'],
      ['start', 'active'],
      ['fail_health', 'paused'],
      ['rollback', 'rolled_back'],
    ])
    expect(await Promise.all(fleet.map((device) => runs(world, device)))).toEqual(fleet.map(() => ['1.0.0']))
  })

  it('is rolled back by the next tick if that failed when the devices reported', async () => {
    const { world, key, fleet } = await startFleet(3)
    const bad = await created(world, key, { rollout_percentage: 100, auto_rollback: true })
    const { sql: db } = world.database!
    const isKept = sql`id <> ${sql.lit(bad.rollout_id)} or status = 'active'`
    await sql`alter table rollouts add constraint kept check (${isKept})`.execute(db)
    for (const device of [...fleet, ...fleet])
      expect(await report(world, device, bad, 'failed')).toMatchObject({ status: 200 })
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    // Marks do not pile up while the check fails.
    expect(await db.selectFrom('reported_plans').selectAll().execute()).toHaveLength(1)
    await sql`alter table rollouts drop constraint kept`.execute(db)
    await world.advance(1)
    expect(await runs(world, fleet[0]!)).toEqual([])
    expect(await get(world, key, bad)).toMatchObject({ status: 'rolled_back' })
  })

  it('is checked after waits that double while that fails', async () => {
    const { world, key, fleet } = await startFleet(3)
    const bad = await created(world, key, { rollout_percentage: 100, auto_rollback: true })
    const { sql: db } = world.database!
    const isKept = sql`id <> ${sql.lit(bad.rollout_id)} or status = 'active'`
    await sql`alter table rollouts add constraint kept check (${isKept})`.execute(db)
    for (const device of fleet) await report(world, device, bad, 'failed')
    await world.advance(1)
    await sql`alter table rollouts drop constraint kept`.execute(db)
    await world.advance(1)
    expect(await runs(world, fleet[0]!), 'the second wait is two seconds').toEqual(['2.0.0'])
    await world.advance(1)
    expect(await runs(world, fleet[0]!)).toEqual([])
  })

  it('that is resumed is checked at once: its devices may have reported while it was paused', async () => {
    const { world, key, fleet } = await startFleet(2)
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await applyAction(world, key, rollout, 'pause')
    for (const device of fleet) await report(world, device, rollout, 'active')
    const statusOf = async () => {
      const { sql: db } = world.database!
      return (await db.selectFrom('rollouts').select('status').executeTakeFirstOrThrow()).status
    }
    expect(await statusOf()).toBe('paused')
    await applyAction(world, key, rollout, 'resume')
    expect(await statusOf()).toBe('completed')
  })

  it('is completed by the report of the last device that was heard from within a step interval', async () => {
    const { world, key, fleet } = await openFleet(3)
    await world.advance(1800)
    await world.register('silent')
    await world.advance(1801)
    for (const device of fleet) await world.request('PUT', `/api/v1/devices/${device.deviceId}/heartbeat`, device)
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await report(world, fleet[0]!, rollout, 'active')
    await report(world, fleet[1]!, rollout, 'active')
    await report(world, fleet[2]!, rollout, 'verifying')
    expect(await get(world, key, rollout)).toMatchObject({ status: 'active' })
    await report(world, fleet[2]!, rollout, 'active')
    expect(await get(world, key, rollout), 'silent may come back').toMatchObject({ status: 'active' })
    await world.advance(1800)
    await report(world, fleet[2]!, rollout, 'active')
    expect(await get(world, key, rollout)).toMatchObject({ status: 'completed', percentage: 100, reason: null })
    expect((await history(world, key, rollout)).map(({ event }) => event)).toEqual(['create', 'start', 'reach'])
  })

  it('of a group waits only for the devices of the group, and below 100 percent for the clock', async () => {
    const { world, key, fleet, org } = await openFleet(2)
    const group = { org_id: org, name: 'lab' }
    const { id } = (await world.request('POST', '/api/v1/device-groups', { key, body: group })).body as { id: string }
    await world.request('POST', `/api/v1/device-groups/${id}/devices/d1`, { key })
    const part = await created(world, key, { rollout_percentage: 99, target_percentage: 99 })
    const lab = await created(world, key, { rollout_percentage: 100, group: 'lab' })
    await report(world, fleet[1]!, lab, 'active')
    for (const device of fleet) await report(world, device, part, 'active')
    expect(await get(world, key, lab)).toMatchObject({ status: 'completed' })
    expect(await get(world, key, part)).toMatchObject({ status: 'active' })
  })

  it('survives a restart of the service', async () => {
    const { world, key, fleet } = await startFleet(1, ['2.0.0'], {
      durable: true,
      database: hasPostgres() ? 'postgres' : 'embedded',
    })
    const rollout = await created(world, key, { rollout_percentage: 100 })
    await world.restart()
    expect(await runs(world, fleet[0]!)).toEqual(['2.0.0'])
    await world.advance(3600)
    expect(await get(world, key, rollout)).toMatchObject({ status: 'completed' })
  })
})
