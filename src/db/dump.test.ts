import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres, openTestDatabase } from '../../test/databases.ts'
import { exportTo, importFrom } from './dump.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { type Database, openDatabase } from './open.ts'
import { tablesInOrder } from './table-order.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const openEmpty = async (kind: Database['kind']): Promise<Database> =>
  kind === 'embedded'
    ? openDatabase({ url: null, dataDir: await emptyFolder(), log: silent })
    : openDatabase({ url: await freshPostgresUrl('template0'), dataDir: '', log: silent })

/** Every table with all its rows, as the database itself writes them. */
const contents = async (db: Database): Promise<Record<string, string[]>> => {
  const tables: Record<string, string[]> = {}
  for (const table of await tablesInOrder(db.sql)) {
    const { rows } = await sql<{ row: string }>`
      select t::text as row from ${sql.table(table)} as t order by t::text collate "C"
    `.execute(db.sql)
    tables[table] = rows.map(({ row }) => row)
  }
  return tables
}

const fill = async (db: Database): Promise<void> => {
  await sql`insert into orgs values ('acme', 'Acme "Ünïted"\nLtd', null, 'eu', '2026-03-29 01:30:00.123456+00')`.execute(
    db.sql,
  )
  await sql`
    insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    select gen_random_uuid(), 'device-' || n, 'linux', jsonb_build_object('n', n, 'text', E'\\n\\t"'), 'active', now(), now(), now()
    from generate_series(1, 2500) as n
  `.execute(db.sql)
  await sql`
    insert into models (id, org_id, framework, framework_version, accuracy, loss, is_baseline, description, created_at)
    values (gen_random_uuid(), 'acme', 'pytorch', '2', 0.1::float8 + 0.2::float8, 'NaN', true, '', now())
  `.execute(db.sql)
  await sql`insert into blobs (sha256, size, touched_at) values ('ab', 9007199254740991, now())`.execute(db.sql)
  await sql`
    insert into model_versions (model_id, version, format, version_label, file_name, sha256, size, description, warnings, uploaded_at)
    select id, 1, 'npz', '1.0.0', 'a.npz', 'ab', 5, '', array['a "quoted", one', '', 'NULL', '{}'], now() from models
  `.execute(db.sql)
}

test.skipIf(!hasPostgres())(
  'a database goes to PostgreSQL and back, and every value with it',
  async () => {
    const first = await openTestDatabase('embedded')
    await fill(first)
    const before = await contents(first)
    expect(Object.values(before).flat().length).toBe(2504)

    const folder = await emptyFolder()
    expect(await exportTo(first, join(folder, 'first'))).toBe(2504)
    const server = await openEmpty('postgres')
    expect(await importFrom(server, join(folder, 'first'), MIGRATIONS)).toBe(2504)
    expect(await contents(server)).toEqual(before)

    expect(await exportTo(server, join(folder, 'second'))).toBe(2504)
    const last = await openEmpty('embedded')
    expect(await importFrom(last, join(folder, 'second'), MIGRATIONS)).toBe(2504)
    expect(await contents(last)).toEqual(before)

    // Numbering goes on where it was.
    const { rows } = await sql`
    insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
    values (gen_random_uuid(), 'next', 'linux', '{}', 'active', now(), now(), now()) returning ordinal
  `.execute(last.sql)
    expect(rows).toEqual([{ ordinal: 2501 }])
    await Promise.all([server.close(), last.close()])
  },
  60_000,
)

test('an import takes all or nothing: not a damaged file, not another file, not into a database with rows', async () => {
  const db = await openTestDatabase('embedded')
  await fill(db)
  const whole = join(await emptyFolder(), 'whole')
  await exportTo(db, whole)
  await expect(exportTo(db, whole)).rejects.toThrow('EEXIST')
  await expect(importFrom(db, whole, MIGRATIONS)).rejects.toThrow(
    'already has rows: import into a new, empty database.',
  )
  await db.close()

  const lines = (await readFile(whole, 'utf8')).split('\n')
  const damaged = {
    'is not an export': '{"format":"something else"}',
    'is damaged: a line of it is not JSON': `${lines.slice(0, 20).join('\n')}\n["half a li`,
    'is incomplete': lines.slice(0, 1500).join('\n'),
    'was exported by a newer version': lines.join('\n').replace(']', ',"9999-later"]'),
  }
  const empty = await openTestDatabase('embedded')
  for (const [message, text] of Object.entries(damaged)) {
    const path = join(await emptyFolder(), 'damaged')
    await writeFile(path, text)
    await expect(importFrom(empty, path, MIGRATIONS)).rejects.toThrow(message)
    expect(Object.values(await contents(empty)).flat()).toEqual([])
  }
  expect(await importFrom(empty, whole, MIGRATIONS)).toBe(lines.length - 3 - (await tablesInOrder(empty.sql)).length)
})
