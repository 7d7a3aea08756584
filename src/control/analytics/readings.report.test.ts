import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../test/databases.ts'
import { createReadingsReport, type Requested } from './readings.report.ts'
import { collectSamples } from './samples.ts'
import type { Variable } from './variable.ts'

const at = new Date('2026-01-01T00:00:00Z')
// Each read covers more than two pages of rows.
const PAGE = 500
const DEVICES = 1101

eachDatabase('readings', (open) => {
  it('come page by page, each exactly once: of members, of groups that share devices, and of updates', async () => {
    const { sql: db } = await open()
    const [all, even, round] = [randomUUID(), randomUUID(), randomUUID()]
    await sql`insert into devices (id, device_id, org_id, platform, capabilities, status, metrics, last_heartbeat, created_at,
        updated_at)
      select gen_random_uuid(), 'd' || n, case when n <= 600 then 'acme' else 'beta' end, 'linux', '{}', 'active',
        jsonb_build_object('n', n), ${at}, ${at}, ${at} from generate_series(1, ${DEVICES}::int) n`.execute(db)
    for (const id of [all, even]) {
      await sql`insert into device_groups (id, org_id, name, description, group_type, tags, created_at)
        values (${id}, 'acme', ${id}, '', 'static', '{}', ${at})`.execute(db)
    }
    await sql`insert into device_group_members (group_id, device_id, added_at)
      select g.id, d.id, ${at} from devices d join device_groups g on g.id = ${all} or (d.metrics ->> 'n')::int % 2 = 0`.execute(
      db,
    )
    await sql`insert into rounds (id, round_number, status, target_devices, min_devices, timeout_seconds, grace_seconds, plan,
        taking_part, created_at) values (${round}, 1, 'completed', 9, 1, 60, 5, '{}', 9, ${at})`.execute(db)
    await sql`insert into updates (id, round_id, device_id, file_hash, size, num_samples, created_at)
      select gen_random_uuid(), ${round}::uuid, id, 'h', 1, (metrics ->> 'n')::int, ${at} from devices`.execute(db)
    // As the server's autovacuum and our own maintenance of the embedded database do.
    await sql`analyze`.execute(db)

    const read = async (variable: Variable, deviceGroupIds: Requested['deviceGroupIds'], ids: readonly string[]) => {
      const requested = {
        variables: [variable],
        orgIds: ['acme', 'beta'],
        deviceGroupIds,
        filters: { startTime: undefined, endTime: undefined, platforms: undefined },
        activeSince: at,
      }
      const samples = await collectSamples(createReadingsReport(PAGE).readings(db, requested), ids, {
        minDevices: 5,
        keepValues: true,
      })
      const figures = ids.map((id) => {
        const { shifted, shift, min, max } = samples.of(id)!
        return [shifted.count, Math.round((shift + shifted.mean) * 1e6) / 1e6, min, max, samples.of(id)!.quantile(0.5)]
      })
      return [samples.overlap, ...figures]
    }
    const metric = { from: 'metrics', name: 'n' } as const
    const samples = { from: 'update', name: 'num_samples' } as const
    const members = [false, [600, 300.5, 1, 600, 300.5], [501, 851, 601, DEVICES, 851]]
    expect(await read(metric, null, ['acme', 'beta'])).toEqual(members)
    expect(await read(samples, null, ['acme', 'beta'])).toEqual(members)
    const groups = [true, [DEVICES, 551, 1, DEVICES, 551], [550, 551, 2, 1100, 551]]
    expect(await read(metric, [all, even], [all, even])).toEqual(groups)
    expect(await read(samples, [all, even], [all, even])).toEqual(groups)
  })
})
