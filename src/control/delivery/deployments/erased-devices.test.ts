import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { eachDatabase, hasPostgres } from '../../../../test/databases.ts'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { startWorld, type TestDevice, type World } from '../../../../test/world.ts'
import type { Database } from '../../../platform/db/open.ts'
import { deviceId, MODEL, seedPlans } from '../assignments/plans.fixture.ts'
import { leaveDeployments } from '../ownership.store.ts'

const DEPLOYMENT = 'e0000000-0000-4000-8000-000000000001'

interface Deployment {
  readonly deployment_id: string
  readonly status: string
  readonly activated_count: number
  readonly target_count: number
}

const prepare = async (world: World, key: string, size: number) => {
  const fleet: TestDevice[] = []
  for (let n = 0; n < size; n++) fleet.push(await world.register(`d${n}`))
  await createModel(world, key, 'm', ['1.0.0', '2.0.0'])
  const call = async (method: string, path: string, body?: object) => {
    const response = await world.request(method, `/api/v1${path}`, { key, ...(body && { body }) })
    expect([path, response.status < 300 ? '' : response.body]).toEqual([path, ''])
    return response.body
  }
  const given = async ({ deviceId, key: own }: TestDevice) => {
    const { body } = await world.request('GET', `/api/v1/devices/${deviceId}/assignments`, { key: own })
    return (body as { assignments: { plan_id: string }[] }).assignments.map(({ plan_id }) => plan_id)
  }
  const report = async ({ deviceId, key: own }: TestDevice, plan: string) => {
    const body = { state: 'active', version: '2.0.0' }
    await world.request('POST', `/api/v1/devices/${deviceId}/assignments/${plan}/report`, { key: own, body })
  }
  return {
    world,
    fleet,
    given,
    report,
    call,
    erase: (device: TestDevice) => call('POST', `/devices/${device.deviceId}/erase`, { confirm: device.deviceId }),
    deploy: async (more: object) => {
      const devices = fleet.map(({ deviceId: name }) => name)
      return (await call('POST', '/deploy/execute', {
        model_name: 'm',
        model_version: '2.0.0',
        devices,
        ...more,
      })) as Deployment
    },
    show: async (id: string) => (await call('GET', `/deployments/${id}`)) as Deployment,
  }
}

describe('when a device is erased', () => {
  const openOrganization = boundOrganizations()
  const start = async (size: number) => {
    const { world, org, key } = await openOrganization()
    return { org, ...(await prepare(world, key, size)) }
  }

  it('a deployment activates another in its place, which has the whole time of a phase', async () => {
    const { world, fleet, given, report, erase, deploy, show, call } = await start(3)
    const { deployment_id: id } = await deploy({ rollout_percentage: 10, deadline_minutes: 30 })
    const activated = async () => {
      const found = await Promise.all(fleet.map(async (device) => (await given(device)).includes(id)))
      return fleet.filter((_, n) => found[n])
    }
    const [first, ...none] = await activated()
    expect(none).toEqual([])
    await world.advance(20 * 60)
    await erase(first!)
    expect(await show(id)).toMatchObject({
      status: 'started',
      target_count: 2,
      activated_count: 1,
      deadline_at: new Date(world.now().getTime() + 30 * 60_000).toISOString(),
    })
    fleet.splice(fleet.indexOf(first!), 1)
    const [second, ...others] = await activated()
    expect([second === undefined, others]).toEqual([false, []])
    const { events } = (await call('GET', `/deployments/${id}/history`)) as { events: { event: string }[] }
    expect(events.map(({ event }) => event)).toEqual(['create', 'replace'])
    await report(second!, id)
    expect(await show(id)).toMatchObject({ status: 'completed' })
  })

  it('a deployment activates no other where its percentage covers one less', async () => {
    const { fleet, given, erase, deploy, show } = await start(4)
    const { deployment_id: id } = await deploy({ rollout_percentage: 50 })
    const found = await Promise.all(fleet.map(async (device) => (await given(device)).includes(id)))
    const [one, two] = fleet.filter((_, n) => found[n])
    const unused = fleet.filter((_, n) => !found[n])
    await erase(unused[0]!)
    expect(await show(id)).toMatchObject({ target_count: 3, activated_count: 2 })
    await erase(one!)
    expect(await show(id)).toMatchObject({ target_count: 2, activated_count: 1 })
    expect([await given(two!), await given(unused[1]!)]).toEqual([[id], []])
  })

  it('a deployment that has no device left fails at once', async () => {
    const { fleet, erase, deploy, show } = await start(1)
    const { deployment_id: id } = await deploy({})
    await erase(fleet[0]!)
    expect(await show(id)).toMatchObject({ status: 'failed', reason: 'All of its devices were erased.' })
  })

  it('a rollout at 100% that waited for it alone is completed', async () => {
    const { world, org, fleet, report, erase, call } = await start(3)
    const devices = fleet.map(({ deviceId: name }) => name)
    const group = (await call('POST', '/device-groups', { org_id: org, name: 'g' })) as { id: string }
    await call('POST', `/device-groups/${group.id}/devices`, { device_ids: devices })
    const body = { version: '2.0.0', rollout_percentage: 100, step_interval_minutes: 600, group: group.id }
    const { rollout_id: id } = (await call('POST', '/models/m/rollouts', body)) as { rollout_id: string }
    const silent = fleet.pop()!
    for (const device of fleet) await report(device, id)
    const show = () => call('GET', `/models/m/rollouts/${id}`)
    expect(await show()).toMatchObject({ status: 'active' })
    await erase(silent)
    const row = world.database!.sql.selectFrom('rollouts').select('status').where('id', '=', id)
    expect(await row.executeTakeFirst()).toEqual({ status: 'completed' })
  })
})

describe.skipIf(!hasPostgres())('a device that is erased while a request refers to it', () => {
  const start = async (size: number) => {
    const world = await startWorld()
    return prepare(world, (await world.register('operator')).key, size)
  }

  /** Sends the request in the middle of the erasure of d0. */
  const duringErasure = async <Response>(db: Database, request: () => Promise<Response>): Promise<Response> => {
    const [locked, waiting] = [signal(), signal()]
    const erasure = db.transaction(async (tx) => {
      await tx.deleteFrom('devices').where('device_id', '=', 'd0').execute()
      locked.resolve()
      await waiting.promise
    })
    await locked.promise
    const response = request()
    await expect.poll(() => isOneBlocked(db)).toBe(true)
    waiting.resolve()
    await erasure
    return response
  }

  it('is not added to a group, but the others are', async () => {
    const { world, fleet, call } = await start(2)
    const group = (await call('POST', '/device-groups', { org_id: 'o', name: 'g' })) as { id: string }
    const path = `/api/v1/device-groups/${group.id}/devices`
    const { key } = fleet[1]!
    const add = () => world.request('POST', path, { key, body: { device_ids: ['d0', 'd1'] } })
    const { status, body } = await duringErasure(world.database!, add)
    expect([status, body]).toMatchObject([200, { added: ['d1'], skipped: ['d0'] }])
  })

  it.each(['a report', 'a deployment'])('makes %s a conflict', async (what) => {
    const { world, fleet, deploy } = await start(2)
    const [device, other] = fleet as [TestDevice, TestDevice]
    const { deployment_id: plan } = await deploy({})
    const send = (path: string, key: string, body: object) => world.request('POST', `/api/v1${path}`, { key, body })
    const request = {
      'a report': () =>
        send(`/devices/d0/assignments/${plan}/report`, device.key, { state: 'active', version: '2.0.0' }),
      'a deployment': () =>
        send('/deploy/execute', other.key, { model_name: 'm', model_version: '1.0.0', devices: ['d0'] }),
    }[what]!
    expect(await duringErasure(world.database!, request)).toMatchObject({
      status: 409,
      body: {
        message: 'Something that this request refers to was deleted while it ran (device_id). Check what still exists.',
      },
    })
  })
})

eachDatabase('the counts of a deployment', (open) => {
  it('are right when a device is erased while a promotion activates it', async () => {
    const db = await open()
    await seedPlans(db, [null], { orgs: ['o', 'o', 'o'], members: [1] })
    const at = new Date('2026-01-01T00:00:00Z')
    const deployment = { org_id: 'o', model_name: 'm', model_version: '1', model_id: MODEL, status: 'started' }
    const counts = { percentage: 10, target_count: 3, activated_count: 1 }
    await db.sql
      .insertInto('deployments')
      .values({ id: DEPLOYMENT, ...deployment, ...counts, strategy: 'canary', created_at: at })
      .execute()
    for (const n of [1, 2, 3])
      await db.sql
        .insertInto('deployment_targets')
        .values({ deployment_id: DEPLOYMENT, device_id: deviceId(n), activated: n === 1 })
        .execute()
    const [locked, waiting] = [signal(), signal()]
    const promotion = db.transaction(async (tx) => {
      await tx.selectFrom('deployments').select('id').where('id', '=', DEPLOYMENT).forUpdate().execute()
      locked.resolve()
      await waiting.promise
      await tx.updateTable('deployment_targets').set({ activated: true }).execute()
      await tx.updateTable('deployments').set({ percentage: 100, activated_count: 3 }).execute()
    })
    await locked.promise
    const erasure = db.transaction((tx) => leaveDeployments(tx, deviceId(2)))
    // The embedded database has one connection: there, the erasure begins once the promotion has ended.
    if (db.kind === 'postgres') await expect.poll(() => isOneBlocked(db)).toBe(true)
    waiting.resolve()
    expect(await erasure).toEqual([DEPLOYMENT])
    await promotion
    const row = await db.sql.selectFrom('deployments').select(['target_count', 'activated_count']).executeTakeFirst()
    expect(row).toEqual({ target_count: 2, activated_count: 2 })
  })
})

const signal = () => {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

const isOneBlocked = async (db: Database): Promise<boolean> => {
  const { rows } = await sql<{ blocked: boolean }>`
    select exists (select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0)
      as blocked`.execute(db.sql)
  return rows[0]!.blocked
}
