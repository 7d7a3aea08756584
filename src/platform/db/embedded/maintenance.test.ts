import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshDataDir } from '../../../../test/databases.ts'
import { DurablePGlite } from './durable-pglite.ts'
import { createMaintenance } from './maintenance.ts'

const MINUTE = 60_000
const nothing = { checkpoints: 0, vacuums: 0 }

const openHere = async () => {
  const folder = join(await freshDataDir(), 'database')
  const db = new DurablePGlite(folder, () => {})
  await db.open((why) => {
    throw new Error(why)
  })
  const logMegabytes = async () =>
    4 * (await readdir(join(folder, 'pg_wal'))).filter((name) => name.length === 24).length
  return { db, logMegabytes }
}

test('maintenance checkpoints after a minute or 32 MB of log, vacuums changed tables, and otherwise does nothing', async () => {
  const { db, logMegabytes } = await openHere()
  await db.exec('create table t (n int, content text)')
  const maintenance = createMaintenance(db, 0)
  expect(await maintenance.run(0)).toEqual(nothing)
  expect(await maintenance.run(2 * MINUTE)).toEqual(nothing)

  await db.exec('insert into t values (0)')
  expect(await maintenance.run(2 * MINUTE)).toEqual({ checkpoints: 1, vacuums: 0 })
  await db.exec('insert into t values (0)')
  expect(await maintenance.run(2 * MINUTE + 1000)).toEqual(nothing)
  expect(await maintenance.run(3 * MINUTE)).toEqual({ checkpoints: 1, vacuums: 0 })
  expect(await maintenance.run(5 * MINUTE)).toEqual(nothing)

  // 45 MB of log each time: without a checkpoint it could not be reused.
  for (const _round of [1, 2]) {
    await db.exec("insert into t select n, repeat('x', 1900) from generate_series(1, 22000) as n")
    await db.exec('delete from t')
    // PostgreSQL publishes its statistics at most once a second unless forced to.
    await db.exec('select pg_stat_force_next_flush()')
    expect(await maintenance.run(5 * MINUTE + 1)).toEqual({ checkpoints: 1, vacuums: 1 })
  }
  expect(await logMegabytes()).toBeLessThan(80)
  const { rows } = await db.query<{ pages: number }>("select (pg_relation_size('t') / 8192)::int as pages")
  expect(rows[0]?.pages).toBeLessThan(100)

  expect(await maintenance.run(61 * MINUTE)).toEqual({ checkpoints: 1, vacuums: 1 })
  await db.close()
}, 60_000)
