import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { migrate } from '../migrate.ts'
import type { Database, Executor } from '../open.ts'
import { numberRanges } from './0005-number-ranges.ts'
import { MIGRATIONS } from './all.ts'

const RANGES = `select conrelid::regclass::text as table, conname as name from pg_constraint
  where conname like '%\\_range' and contype = 'c'`

/** Undoes the migration. */
const undo = async ({ sql: db }: Database): Promise<void> => {
  const { rows } = await sql.raw<{ table: string; name: string }>(RANGES).execute(db)
  for (const { table, name } of rows) await sql.raw(`alter table ${table} drop constraint ${name}`).execute(db)
  await sql`delete from migrations where name = ${numberRanges.name}`.execute(db)
}

const fill = async (db: Executor, losses: readonly string[], mean: string): Promise<void> => {
  const [round, at] = [randomUUID(), '2026-01-01T00:00:00Z']
  await sql`insert into rounds (id, round_number, status, target_devices, min_devices, timeout_seconds, grace_seconds, plan,
      taking_part, loss, accuracy, created_at)
    values (${round}, 1, 'completed', 9, 1, 60, 5, '{}', 9, ${mean}::float8, 0.5, ${at})`.execute(db)
  await sql`insert into models (id, framework, framework_version, description, is_baseline, accuracy, loss, created_at)
    values (${randomUUID()}, 'pytorch', '', '', false, ${mean}::float8, ${mean}::float8, ${at})`.execute(db)
  for (const loss of losses) {
    const device = randomUUID()
    await sql`insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
      values (${device}, ${device}, 'linux', '{}', 'active', ${at}, ${at}, ${at})`.execute(db)
    await sql`insert into updates (id, round_id, device_id, file_hash, size, num_samples, local_loss, local_accuracy, created_at)
      values (${randomUUID()}, ${round}, ${device}, 'h', 1, 1, ${loss}::float8, 0.25, ${at})`.execute(db)
  }
}

eachDatabase('the ranges of numbers', (open) => {
  it('are applied to existing rows: out-of-range values become null, tiny ones 0, and others stay', async () => {
    const db = await open()
    await undo(db)
    await fill(db.sql, ['0.5', '1e308', '-Infinity', 'NaN', '1e-300', '-3.4e38'], 'NaN')
    expect(await migrate(db, MIGRATIONS)).toContain(numberRanges.name)
    const { rows: updates } = await sql`select local_loss from updates order by local_loss`.execute(db.sql)
    expect(updates).toEqual([-3.4e38, 0, 0.5, null, null, null].map((local_loss) => ({ local_loss })))
    expect((await sql`select accuracy, loss from models`.execute(db.sql)).rows).toEqual([
      { accuracy: null, loss: null },
    ])
    expect((await sql`select accuracy, loss from rounds`.execute(db.sql)).rows).toEqual([{ accuracy: 0.5, loss: null }])
  })

  it('are enforced by the database', async () => {
    const { sql: db } = await open()
    await fill(db, ['0'], '1')
    for (const [table, column, value] of [
      ['updates', 'local_loss', '3.5e38'],
      ['updates', 'local_loss', '-3.5e38'],
      ['updates', 'local_loss', 'NaN'],
      ['models', 'accuracy', 'Infinity'],
      ['models', 'loss', 'NaN'],
      ['rounds', 'loss', '-Infinity'],
    ] as const) {
      const change = sql.raw(`update ${table} set ${column} = '${value}'`).execute(db)
      await expect(change).rejects.toThrow(`${table}_${column}_range`)
    }
    await sql`update models set loss = ${Number.MAX_VALUE}, accuracy = ${-Number.MAX_VALUE}`.execute(db)
    await sql`update updates set local_loss = 3.4e38`.execute(db)
  })

  it('cover every floating-point column', async () => {
    const db = await open()
    const { rows: columns } = await sql<{ name: string }>`
      select table_name || '_' || column_name || '_range' as name from information_schema.columns
      where table_schema = 'public' and data_type in ('double precision', 'real')`.execute(db.sql)
    const { rows: ranges } = await sql.raw<{ name: string }>(RANGES).execute(db.sql)
    expect(ranges.map(({ name }) => name).sort()).toEqual(columns.map(({ name }) => name).sort())
  })
})
