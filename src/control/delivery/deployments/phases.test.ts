import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { startWorld, type TestDevice, type World } from '../../../../test/world.ts'

interface Deployment {
  deployment_id: string
  status: string
  deadline_at: string
  activated_count: number
}

const START = Date.UTC(2026, 0, 1)
const atMinute = (minutes: number) => new Date(START + minutes * 60_000).toISOString()

/** Starts a fleet, and returns the calls for a deployment to all of it. */
const startFleet = async (devices: readonly object[]) => {
  const world = await startWorld()
  const fleet: TestDevice[] = []
  for (const [n, fields] of devices.entries()) fleet.push(await world.register(`d${n}`, fields))
  const { key } = fleet[0]!
  await createModel(world, key, 'm', ['1.0.0', '2.0.0'])
  return { world, fleet, ...callsOf(world, key) }
}

const callsOf = (world: World, key: string) => {
  const call = async (method: string, path: string, body?: object): Promise<Deployment> => {
    const response = await world.request(method, `/api/v1${path}`, { key, ...(body && { body }) })
    expect(response.status).toBe(200)
    return response.body as Deployment
  }
  return {
    execute: (body: object) => call('POST', '/deploy/execute', { model_name: 'm', model_version: '2.0.0', ...body }),
    promote: (id: string, percentage: number) =>
      call('POST', `/deployments/${id}/promote`, { rollout_percentage: percentage }),
    get: (id: string) => call('GET', `/deployments/${id}`),
    call,
    /** Reports `state` for each device that has the assignment; returns their number. */
    async report(fleet: readonly TestDevice[], id: string, state: string): Promise<number> {
      let told = 0
      for (const device of fleet) {
        const path = `/api/v1/devices/${device.deviceId}/assignments`
        const { body } = await world.request('GET', path, { key: device.key })
        const [given] = (body as { assignments: { plan_id: string }[] }).assignments
        if (given?.plan_id !== id) continue
        const report = { state, version: '2.0.0' }
        await world.request('POST', `${path}/${id}/report`, { key: device.key, body: report })
        told++
      }
      return told
    },
  }
}

it('switches at the next tick if that failed when the last device became ready, and does not hold up others', async () => {
  const { world, fleet, execute, get, report } = await startFleet([{}, {}])
  const prepare = (n: number) => execute({ strategy: 'blue_green', devices: [`d${n}`] })
  const [{ deployment_id: stuck }, { deployment_id: other }] = [await prepare(0), await prepare(1)]
  const { sql: db } = world.database!
  await sql`alter table deployments add constraint stuck check (id <> ${sql.lit(stuck)} or switched_at is null)`.execute(
    db,
  )
  await Promise.all([report(fleet.slice(0, 1), stuck, 'ready'), report(fleet.slice(1), other, 'ready')])
  expect(await get(stuck)).toMatchObject({ status: 'started', switched_at: null })
  expect(await get(other)).toMatchObject({ switched_at: atMinute(0) })
  await sql`alter table deployments drop constraint stuck`.execute(db)
  await world.advance(60)
  expect(await get(stuck)).toMatchObject({ status: 'started', switched_at: atMinute(1) })
  await report(fleet, stuck, 'active')
  expect(await get(stuck)).toMatchObject({ status: 'completed' })
  await world.advance(1)
  expect(await db.selectFrom('reported_plans').selectAll().execute()).toEqual([])
})

describe('the deadline of a deployment', () => {
  it('restarts with each promotion, so that one that fails on the added devices is withdrawn', async () => {
    const { world, fleet, execute, promote, get, report } = await startFleet(Array(10).fill({}))
    const { deployment_id: id } = await execute({ rollout_percentage: 10, deadline_minutes: 30 })
    await world.advance(5 * 60)
    expect(await report(fleet, id, 'active')).toBe(1)
    expect(await get(id)).toMatchObject({ status: 'completed', deadline_at: atMinute(30) })

    // A process of an earlier release does not store how long a phase lasts.
    await sql`update deployments set phase_seconds = null`.execute(world.database!.sql)
    await world.advance(55 * 60)
    expect(await promote(id, 20)).toMatchObject({ status: 'started', deadline_at: atMinute(90) })
    await world.advance(10 * 60)
    expect(await promote(id, 100)).toMatchObject({ status: 'started', deadline_at: atMinute(100) })
    await world.advance(1)
    expect(await get(id)).toMatchObject({ status: 'started' })
    await report(fleet, id, 'failed')
    expect(await get(id)).toMatchObject({ status: 'failed' })
  })

  it('restarts when blue_green switches, so the last device may become ready a minute before it', async () => {
    const { world, fleet, execute, get, report } = await startFleet([{}, {}])
    const { deployment_id: id } = await execute({ strategy: 'blue_green', deadline_minutes: 30 })
    await world.advance(29 * 60)
    await report(fleet, id, 'ready')
    expect(await get(id)).toMatchObject({ status: 'started', deadline_at: atMinute(59), switched_at: atMinute(29) })
    await world.advance(5 * 60)
    expect(await get(id)).toMatchObject({ status: 'started' })
    await report(fleet, id, 'active')
    expect(await get(id)).toMatchObject({ status: 'completed' })
  })
})

describe('a deployment that a newer rollout has replaced', () => {
  it('is not promoted: it would change nothing', async () => {
    const { world, fleet, execute, promote, get, report, call } = await startFleet(Array(10).fill({}))
    const { deployment_id: id } = await execute({ rollout_percentage: 20 })
    expect(await report(fleet, id, 'active')).toBe(2)
    const rollout = { version: '1.0.0', rollout_percentage: 100, step_interval_minutes: 1 }
    const created = await world.request('POST', '/api/v1/models/m/rollouts', { key: fleet[0]!.key, body: rollout })
    const { rollout_id } = created.body as { rollout_id: string }
    await world.advance(60)
    const before = await get(id)
    expect(before).toMatchObject({ status: 'completed' })
    const path = `/api/v1/deployments/${id}/promote`
    expect(await world.request('POST', path, { key: fleet[0]!.key, body: { rollout_percentage: 100 } })).toMatchObject({
      status: 409,
      body: {
        message:
          `Newer plans have replaced the deployment on all of these devices, such as rollout ${rollout_id} ` +
          '(version 1.0.0). Roll them back, or execute a new deployment.',
      },
    })
    expect(await get(id)).toEqual(before)
    await call('POST', `/models/m/rollouts/${rollout_id}/rollback`)
    expect(await promote(id, 100)).toMatchObject({ status: 'started', activated_count: 10 })
    expect(await report(fleet, id, 'active')).toBe(10)
  })

  it('while a device is missing, does not keep its devices from plans that are newer than both', async () => {
    const { world, fleet, execute, get, report, call } = await startFleet(Array(4).fill({}))
    const { key } = fleet[0]!
    const { deployment_id: id } = await execute({})
    await report(fleet.slice(1), id, 'active')
    const rollOut = async (version: string): Promise<string> => {
      const body = { version, rollout_percentage: 100, step_interval_minutes: 1 }
      const created = await world.request('POST', '/api/v1/models/m/rollouts', { key, body })
      return (created.body as { rollout_id: string }).rollout_id
    }
    const plansOf = () =>
      Promise.all(
        fleet.map(async ({ deviceId, key: own }) => {
          const { body } = await world.request('GET', `/api/v1/devices/${deviceId}/assignments`, { key: own })
          return (body as { assignments: { plan_id: string }[] }).assignments[0]?.plan_id
        }),
      )
    const completed = await rollOut('1.0.0')
    expect(await plansOf()).toEqual(Array(4).fill(id))
    await world.advance(60)
    expect(await plansOf()).toEqual(Array(4).fill(completed))
    expect(await get(id)).toMatchObject({ status: 'started' })
    const newer = await rollOut('2.0.0')
    expect(await plansOf()).toEqual(Array(4).fill(newer))
    const variants = [1, 2].map((n) => ({ name: `v${n}`, model_id: 'm', version: `${n}.0.0`, allocation: 0.5 }))
    const experiment = await world.request('POST', '/api/v1/experiments', { key, body: { name: 'e', variants } })
    const { id: experimentId } = experiment.body as { id: string }
    await call('POST', `/experiments/${experimentId}/start`)
    expect(await plansOf()).toEqual(Array(4).fill(experimentId))
    for (const { deviceId } of fleet) {
      expect(await call('GET', `/experiments/${experimentId}/assignment?device_id=${deviceId}`)).toMatchObject({
        assigned: true,
      })
    }
    const warnings = async (rollout: string): Promise<unknown> =>
      ((await call('GET', `/models/m/rollouts/${rollout}`)) as unknown as { warnings: string[] }).warnings
    expect(await warnings(newer)).toEqual([`Running experiments take precedence on their devices: ${experimentId}.`])
    const newest = await rollOut('1.0.0')
    expect(await warnings(newest)).toEqual([
      `Running experiments take precedence on their devices until this rollout is completed, which replaces them: ${experimentId}.`,
    ])
    await call('POST', `/models/m/rollouts/${newest}/rollback`)
    expect(await warnings(completed)).toEqual(await warnings(newer))
    await world.advance(60)
    expect(await warnings(completed)).toEqual([
      `Running experiments take precedence on their devices: ${experimentId}.`,
      `A newer rollout has reached all devices, which get its version instead: ${newer} (version 2.0.0).`,
    ])
  })
})

describe('a percentage of devices that have the same name in several organizations', () => {
  it('activates no more of them than it should', async () => {
    const { world, execute, promote } = await startFleet([{}])
    for (let n = 0; n < 9; n++) await world.register('d0', { org_id: `org-${n}` })
    const deployment = await execute({ rollout_percentage: 10 })
    expect(deployment).toMatchObject({ target_count: 10, activated_count: 1 })
    expect(await promote(deployment.deployment_id, 20)).toMatchObject({ activated_count: 2 })
  })
})
