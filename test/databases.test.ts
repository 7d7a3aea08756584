import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Database } from '../src/platform/db/open.ts'
import { eachDatabase, shapeOf } from './databases.ts'

/** Identifies the database: a different one is in another cluster or has another oid. */
const identityOf = async (db: Database): Promise<unknown> => {
  const { rows } = await sql`
    select system_identifier::text, oid::int, pg_postmaster_start_time()::text as started
    from pg_control_system(), pg_database where datname = current_database()
  `.execute(db.sql)
  return rows
}

/** Everything that a test could leave in a database, or in the session that the next test reuses. */
const traces = async (db: Database): Promise<unknown> => {
  const { rows } = await sql`
    select (select count(*) from pg_locks
        where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks,
      (select count(*) from pg_prepared_statements) as statements,
      (select count(*) from pg_class where relpersistence = 't') as temporary_tables,
      (select count(*) from pg_listening_channels()) as channels,
      current_setting('work_mem') as work_mem
  `.execute(db.sql)
  return rows[0]
}

const filledTables = async (db: Database): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r'
      and (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || relname, true, true, '')))[1]::text <> '0'
  `.execute(db.sql)
  return rows.map(({ name }) => name)
}

const registerDevice = async (db: Database): Promise<unknown> => {
  const { rows } = await sql`
    insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    values (gen_random_uuid(), 'a', 'linux', '{}', 'active', now(), now(), now()) returning ordinal
  `.execute(db.sql)
  return rows
}

eachDatabase('a test database', (open) => {
  test('is reused after it is closed, with no rows or session state left', async () => {
    const first = await open()
    const untouched = await traces(first)
    const identity = await identityOf(first)
    expect(await registerDevice(first)).toEqual([{ ordinal: 1 }])
    expect(await filledTables(first)).toContain('devices')
    for (const statement of [
      'select pg_advisory_lock(1)',
      'prepare question as select 1',
      'create temporary table note (n int)',
      'listen news',
      "set work_mem = '1MB'",
    ]) {
      await sql.raw(statement).execute(first.sql)
    }
    expect(await traces(first)).toEqual({
      locks: 1,
      statements: 1,
      temporary_tables: 1,
      channels: 1,
      work_mem: '1MB',
    })
    await first.close()

    const second = await open()
    expect(await identityOf(second)).toEqual(identity)
    expect(await traces(second)).toEqual(untouched)
    expect(await filledTables(second)).toEqual(['migrations'])
    expect(await registerDevice(second)).toEqual([{ ordinal: 1 }])
  })

  test('is never shared with another test that is still open', async () => {
    const both = await Promise.all([open(), open()])
    const identities = await Promise.all(both.map(identityOf))
    expect(identities[0]).not.toEqual(identities[1])
    await registerDevice(both[0])
    expect(await filledTables(both[1])).toEqual(['migrations'])
  })

  test('is not reused if its tables have changed or its session cannot be reset', async () => {
    let db = await open()
    const spoiled: unknown[] = []
    for (const statement of ['alter table orgs add column extra text', 'begin']) {
      spoiled.push(await identityOf(db))
      await sql.raw(statement).execute(db.sql)
      await db.close()
      db = await open()
      expect(spoiled).not.toContainEqual(await identityOf(db))
    }
  })

  test.each([
    'create table another (n int)',
    'drop index devices_by_org',
    'alter table orgs add column extra text',
    'alter table orgs rename column name to label',
    'alter table orgs alter column compliance set not null',
    "alter table orgs alter column name set default 'nobody'",
    "alter table orgs add check (name <> '')",
    "insert into migrations values ('9999-later', now())",
  ])('has a different shape after: %s', async (statement) => {
    const db = await open()
    const shape = await shapeOf(db.sql)
    const tried = db.transaction(async (tx) => {
      await sql.raw(statement).execute(tx)
      expect(await shapeOf(tx)).not.toBe(shape)
      throw new Error('enough')
    })
    await expect(tried).rejects.toThrow('enough')
    expect(await shapeOf(db.sql)).toBe(shape)
  })
})
