import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { SCOPES } from '../src/domain/access.ts'
import { createModel } from './fleet-of-models.ts'
import { startWorld, type World } from './world.ts'

// The database refuses one organization's due work. Other organizations' work must neither wait nor fail.

/** Returns a function that ends the refusal, which otherwise ends with the test. */
const refuseChangesOf = async (world: World, table: string, id: string): Promise<() => Promise<void>> => {
  const run = async (statement: string) => void (await sql.raw(statement).execute(world.database!.sql))
  const allow = () => run(`drop trigger if exists refusing on ${table}`)
  onTestFinished(allow)
  await run(
    `create or replace function refused() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  )
  await run(
    `create trigger refusing before update on ${table} for each row when (old.id = '${id}') execute function refused()`,
  )
  return allow
}

/** Two organizations; the first one's work is due before the second one's. */
const startTwo = async (prepare: (world: World, key: string) => Promise<string>) => {
  const world = await startWorld({ config: { logLevel: 'silent', enrollment: 'token' } })
  const call = async (method: string, path: string, key: string, body?: object) => {
    const response = await world.request(method, path, { key, body })
    expect(response.status, path).toBeLessThan(300)
    return response.body as Record<string, unknown>
  }
  const start = async (org_id: string) => {
    const made = { name: org_id, scopes: SCOPES, org_id }
    const key = String((await call('POST', '/api/v1/keys', world.service.firstAdminKey!, made)).api_key)
    await call('POST', '/api/v1/devices/register', key, { device_id: 'd' })
    return { key, id: await prepare(world, key) }
  }
  const broken = await start('acme')
  await world.advance(1)
  const sound = await start('beta')
  const read = (key: string, path: string) => call('GET', path, key)
  return { world, broken, sound, read }
}

it('a round that cannot be ended does not block others from ending, or reads', async () => {
  const rounds = '/api/v1/training/rounds'
  const { world, broken, sound, read } = await startTwo(async (world, key) => {
    const body = { target_devices: 1, min_devices: 1, timeout_seconds: 60 }
    return ((await world.request('POST', `${rounds}/start`, { key, body })).body as { id: string }).id
  })
  const allow = await refuseChangesOf(world, 'rounds', broken.id)
  await world.advance(61)
  // Read from the database: reading the round through the API would also end it.
  const { rows } = await sql<{ status: string }>`select status from rounds where id = ${sound.id}`.execute(
    world.database!.sql,
  )
  expect(rows).toEqual([{ status: 'failed' }])
  expect(await read(sound.key, `${rounds}/${sound.id}/status`)).toMatchObject({ status: 'failed' })
  expect(await read(sound.key, rounds)).toMatchObject({ total: 1 })
  expect(await read(broken.key, `${rounds}/${broken.id}/status`)).toMatchObject({ status: 'active' })
  expect(await read(broken.key, rounds)).toMatchObject({ total: 1 })
  expect((await world.request('GET', '/ready')).status).toBe(200)
  await allow()
  expect(await read(broken.key, `${rounds}/${broken.id}/status`)).toMatchObject({ status: 'failed' })
})

it('a rollout that cannot advance does not block others from advancing, or reads', async () => {
  const { world, broken, sound, read } = await startTwo(async (world, key) => {
    await createModel(world, key, 'm', ['1.0.0'])
    const body = { version: '1.0.0', rollout_percentage: 10, step_interval_minutes: 1 }
    const { body: made } = await world.request('POST', '/api/v1/models/m/rollouts', { key, body })
    return (made as { rollout_id: string }).rollout_id
  })
  await refuseChangesOf(world, 'rollouts', broken.id)
  await world.advance(61)
  const { rows } = await sql<{ percentage: number }>`select percentage from rollouts where id = ${sound.id}`.execute(
    world.database!.sql,
  )
  expect(rows).toEqual([{ percentage: 20 }])
  for (const path of ['/api/v1/rollouts', '/api/v1/models/m/rollouts', '/api/v1/rollouts/active']) {
    expect(await read(sound.key, path)).toMatchObject({ rollouts: [{ rollout_id: sound.id, percentage: 20 }] })
    expect(await read(broken.key, path)).toMatchObject({ rollouts: [{ rollout_id: broken.id, percentage: 10 }] })
  }
})
