import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { formOf, startWorld } from '../../../../test/world.ts'
import { updatesReport } from './updates.report.ts'

test('reads each update of a round with thousands of updates once', async () => {
  const world = await startWorld()
  const { key } = await world.register('a')
  const started = await world.request('POST', '/api/v1/training/rounds/start', {
    key,
    body: { target_devices: 2, min_devices: 2 },
  })
  const { id } = started.body as { id: string }
  const file = formOf(new Uint8Array(new Float32Array([1, 2]).buffer), { num_samples: 10 })
  expect((await world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key, body: file })).status).toBe(201)
  const db = world.database!.sql
  await sql`
    insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select gen_random_uuid(), 'copy-' || n, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at
    from devices, generate_series(1, 2499) n`.execute(db)
  await sql`
    insert into updates (id, round_id, device_id, sha256, file_hash, size, num_samples, created_at)
    select gen_random_uuid(), u.round_id, d.id, u.sha256, u.file_hash, u.size, u.num_samples, u.created_at
    from updates u, devices d where d.id <> u.device_id`.execute(db)

  const delivered = await updatesReport.delivered(db, id)
  expect(delivered).toHaveLength(2500)
  expect(new Set(delivered.map(({ deviceName }) => deviceName)).size).toBe(2500)
}, 60_000)
