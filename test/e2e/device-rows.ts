import { sql } from 'kysely'
import type { World } from '../world.ts'

/**
 * Adds devices named n000, n001, and so on, each registered a second after the one before, up to now. Directly, because
 * hundreds of requests take seconds.
 */
export const addDevices = (world: World, count: number): Promise<unknown> =>
  sql`
    insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select gen_random_uuid(), 'n' || lpad(n::text, 3, '0'), 'linux', '{}', 'active', at, at, at
    from generate_series(0, ${count - 1}::int) as n,
      lateral (select ${world.now()}::timestamptz - (${count - 1}::int - n) * interval '1 second' as at) as moment
  `.execute(world.database!.sql)
