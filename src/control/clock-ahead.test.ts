import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createModel } from '../../test/fleet-of-models.ts'
import { type JobBody, startFleet, startJob, uploadModel } from '../../test/training-fleet.ts'
import { startWorld } from '../../test/world.ts'
import { takePart } from '../sdk/take-part.ts'
import { localEvaluator } from '../sdk/trainers/local-trainer.ts'
import { decisions, startFleet as startPolicyFleet, trainOnce } from './delivery/policies/policy-calls.fixture.ts'

it('times that were stored while the clock was ahead are reset once it is right again', async () => {
  const world = await startWorld()
  const { key } = await world.register('ahead')
  const request = async (method: string, path: string, body?: object) =>
    (await world.request(method, `/api/v1${path}`, { key, body })).body as Record<string, never>
  await createModel(world, key, 'm', ['1.0.0'])
  const rollout = await request('POST', '/models/m/rollouts', {
    version: '1.0.0',
    rollout_percentage: 10,
    step_interval_minutes: 1,
  })
  const deployment = await request('POST', '/deploy/execute', {
    model_name: 'm',
    model_version: '1.0.0',
    devices: ['ahead'],
    deadline_minutes: 2,
  })
  const round = await request('POST', '/training/rounds/start', {
    target_devices: 1,
    min_devices: 1,
    timeout_seconds: 60,
  })
  const run = (text: string) => sql.raw(text).execute(world.database!.sql)
  await run(`update devices set last_heartbeat = '2100-01-01', created_at = '2100-01-01', missed_at = '2100-01-01',
    heartbeat_slot = 4558000, heartbeat_counts = '{1}' where device_id = 'ahead'`)
  await run(`update rounds set started_at = '2100-01-01', timeout_at = '2100-01-01 00:01'`)
  await run(`update rollouts set next_step_at = '2100-01-01', health_since = '2100-01-01'`)
  await run(`update deployments set created_at = '2100-01-01', deadline_at = '2100-01-01 00:02'`)
  await world.advance(3600)
  expect(await request('GET', '/devices/ahead')).toMatchObject({ status: 'active' })

  await world.service.runRetention()
  const time = world.now().toISOString()
  const times = { last_heartbeat: time, created_at: time }
  expect(await request('GET', '/devices/ahead')).toMatchObject({ status: 'active', ...times })
  expect((await run('select next_step_at, health_since from rollouts')).rows).toEqual([
    { next_step_at: new Date(world.now().getTime() + 60_000), health_since: world.now() },
  ])
  const { rows } = await run('select started_at, timeout_at from rounds')
  expect(rows).toEqual([{ started_at: world.now(), timeout_at: new Date(world.now().getTime() + 60_000) }])
  const deploymentNow = () => request('GET', `/deployments/${deployment.deployment_id}`)
  const deadline_at = new Date(world.now().getTime() + 120_000).toISOString()
  expect(await deploymentNow()).toMatchObject({ status: 'started', deadline_at })
  // A process of an earlier release does not store how long a phase lasts.
  await run(`update deployments set phase_seconds = null, deadline_at = '2100-01-01'`)
  await world.service.runRetention()
  expect(await deploymentNow()).toMatchObject({ deadline_at: '2100-01-01T00:00:00.000Z' })
  await run(`update deployments set deadline_at = '${deadline_at}'`)
  await world.advance(61)
  expect(await request('GET', `/training/rounds/${round.id}/status`)).toMatchObject({ status: 'failed' })
  expect(await request('GET', `/models/m/rollouts/${rollout.rollout_id}`)).toMatchObject({ percentage: 20 })
  await world.advance(300)
  expect(await deploymentNow()).toMatchObject({ status: 'failed' })
  expect(await request('GET', '/devices/ahead')).toMatchObject({ status: 'inactive' })
})

it('the steps of a secure round and the waits of jobs that began while the clock was ahead begin once it is right again', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 3)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const secure = await startJob(world, key, { rounds: 1, min_devices: 3, target_devices: 3, secure_aggregation: {} })
  const waiting = (await startJob(world, key, { min_devices: 3, wait_for_devices_seconds: 600 })).body as JobBody
  const run = (text: string) => sql.raw(text).execute(world.database!.sql)
  const lead = "interval '30000 days'"
  await run(`update rounds set started_at = started_at + ${lead}, timeout_at = timeout_at + ${lead}`)
  await run(`update round_participants set selected_at = selected_at + ${lead}`)
  await run(`update secure_rounds set deadline_at = deadline_at + ${lead}`)
  await run(`update training_jobs set waiting_until = created_at + ${lead}, waiting_for = 'devices'
    where id = '${waiting.id}'`)
  await world.service.runRetention()
  const time = world.now().getTime()
  expect((await run('select deadline_at from secure_rounds')).rows).toEqual([{ deadline_at: new Date(time + 75_000) }])
  expect((await run('select distinct selected_at from round_participants')).rows).toEqual([
    { selected_at: world.now() },
  ])
  const job = (await world.request('GET', `/api/v1/training/jobs/${waiting.id}`, { key })).body
  expect(job).toMatchObject({ waiting_until: new Date(time + 600_000).toISOString() })
  // Nobody sends keys: the first step ends the round after a quarter of its timeout.
  await world.advance(76)
  const { id } = secure.body as JobBody
  const { history } = (await world.request('GET', `/api/v1/training/jobs/${id}`, { key })).body as JobBody
  expect(history[0]).toMatchObject({ status: 'failed' })
})

it('the evaluation of a last model that began while the clock was ahead ends once it is right again', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const { id } = (await startJob(world, key, { rounds: 1, min_devices: 2, evaluation_seconds: 60 })).body as JobBody
  for (const { device, rows, trainer } of fleet) {
    const { pendingRoundId } = await device.heartbeat()
    await takePart(device, pendingRoundId!, trainer, { evaluate: localEvaluator(rows) })
  }
  await world.service.runDueTasks()
  const jobNow = async () => (await world.request('GET', `/api/v1/training/jobs/${id}`, { key })).body as JobBody
  expect(await jobNow()).toMatchObject({ status: 'running', rounds_completed: 1 })
  const run = (text: string) => sql.raw(text).execute(world.database!.sql)
  const lead = "interval '30000 days'"
  await run(`update rounds set evaluation_until = evaluation_until + ${lead}`)
  await run(`update evaluations set asked_at = asked_at + ${lead}`)
  await run(`update training_jobs set waiting_until = waiting_until + ${lead}`)
  await world.service.runRetention()
  expect(await jobNow()).toMatchObject({ waiting_until: new Date(world.now().getTime() + 60_000).toISOString() })
  await world.advance(61)
  await world.service.runDueTasks()
  expect(await jobNow()).toMatchObject({ status: 'completed' })
})

it('a policy and its canary, and the curve of an experiment, that began while the clock was ahead begin once it is right again', async () => {
  const world = await startWorld()
  const { key } = await world.register('operator')
  const organization = { world, org: null, key } as never
  const fleet = await startPolicyFleet(organization, { enabled: true, canary_percentage: 50, observe_minutes: 30 }, 2)
  const request = async (method: string, path: string, body?: object) =>
    (await world.request(method, `/api/v1${path}`, { key, body })).body as Record<string, string>
  const variants = ['a', 'b'].map((name) => ({ name, model_id: fleet.modelId, allocation: 0.5 }))
  const { id } = await request('POST', '/experiments', { name: 'x', variants })
  await request('POST', `/experiments/${id}/start`)
  const observe = () =>
    request('POST', `/experiments/${id}/observations`, { device_id: 'd0', metrics: { accuracy: 1 } })
  await observe()
  await trainOnce(fleet)
  const run = (text: string) => sql.raw(text).execute(world.database!.sql)
  await run(`update delivery_policies set updated_at = '2100-01-01'`)
  await run(`update delivery_decisions set created_at = '2100-01-01'`)
  await run(`update experiment_estimates set at = '2100-01-01'`)
  await world.service.runRetention()
  const time = world.now().toISOString()
  expect(await request('GET', '/models/m/policy')).toMatchObject({ updated_at: time })
  expect(await decisions(world, key)).toMatchObject([{ status: 'observing', created_at: time }])
  await world.advance(60)
  await observe()
  await world.advance(30 * 60)
  expect(await decisions(world, key)).toMatchObject([{ status: 'rolled_back' }])
  expect((await run('select max(point) as points from experiment_estimates')).rows).toEqual([{ points: 2 }])
  await trainOnce(fleet)
  expect(await decisions(world, key)).toHaveLength(2)
})
