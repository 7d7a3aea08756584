import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createModel } from '../../test/fleet-of-models.ts'
import { startWorld } from '../../test/world.ts'

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
  await world.advance(61)
  expect(await request('GET', `/training/rounds/${round.id}/status`)).toMatchObject({ status: 'failed' })
  expect(await request('GET', `/models/m/rollouts/${rollout.rollout_id}`)).toMatchObject({ percentage: 20 })
  await world.advance(300)
  expect(await request('GET', '/devices/ahead')).toMatchObject({ status: 'inactive' })
})
