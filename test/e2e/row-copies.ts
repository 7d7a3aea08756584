import { sql } from 'kysely'
import type { World } from '../world.ts'

/**
 * Adds copies of a row with new ids; their `column` is this prefix and a number from 1. Directly, because a hundred requests
 * take a second.
 */
export const copyRow = (
  world: World,
  table: 'devices' | 'device_groups' | 'models' | 'rollouts',
  { id, count, column, prefix }: { id: string; count: number; column: string; prefix: string },
): Promise<unknown> =>
  sql`
    insert into ${sql.table(table)} overriding user value
    select (jsonb_populate_record(original,
      jsonb_build_object('id', gen_random_uuid(), ${column}::text, ${prefix}::text || n))).*
    from ${sql.table(table)} as original, generate_series(1, ${count}::int) as n where id = ${id}
  `.execute(world.database!.sql)
