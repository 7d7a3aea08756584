import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, inject, onTestFinished } from 'vitest'
import { type Database, openDatabase } from '../src/db/open.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
type Kind = Database['kind']

// Starting an embedded database takes half a second: one whose test has ended is emptied and used again.
const idle: Record<Kind, Database[]> = { embedded: [], postgres: [] }
const cleanUps: (() => Promise<void>)[] = []

afterAll(async () => {
  for (const db of [...idle.embedded, ...idle.postgres]) await db.close()
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

export const hasPostgres = (): boolean => inject('postgresUrl') !== null

/** A data folder with a migrated, closed embedded database, removed at the end of the file. */
export const freshDataDir = async (): Promise<string> => {
  const dataDir = await emptyFolder()
  await cp(inject('embeddedTemplate'), dataDir, { recursive: true })
  return dataDir
}

/** A folder that is removed at the end of the file. */
export const emptyFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-test-'))
  cleanUps.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

let databases = 0

/** The URL of a database of its own on the PostgreSQL server, dropped at the end of the file. */
export const freshPostgresUrl = async (template = inject('postgresTemplate')): Promise<string> => {
  const url = new URL(inject('postgresUrl') ?? '')
  const name = `tributary_${process.pid}_${++databases}`
  const admin = async (statement: string): Promise<void> => {
    const client = new pg.Client(inject('postgresUrl') ?? '')
    await client.connect()
    await client.query(statement)
    await client.end()
  }
  await admin(`create database ${name} template ${template}`)
  cleanUps.push(() => admin(`drop database ${name} with (force)`))
  url.pathname = `/${name}`
  return url.href
}

/** A migrated database without rows. `close` it, or let it be closed when the test (or the file) ends. */
export const openTestDatabase = async (kind: Kind = 'embedded'): Promise<Database> => {
  const db = idle[kind].pop() ?? (await openNew(kind))
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await empty(db)
    idle[kind].push(db)
  }
  closeWithTest(close)
  return { ...db, close }
}

const openNew = async (kind: Kind): Promise<Database> =>
  kind === 'postgres'
    ? openDatabase({ url: await freshPostgresUrl(), dataDir: '', log: silent })
    : openDatabase({ url: null, dataDir: await freshDataDir(), log: silent })

// Five times as fast as truncating, which makes new files for every table and index. The replica role skips the
// foreign keys' triggers, so that the tables' order does not matter.
const EMPTY = `do $$ declare name text; begin
  set local session_replication_role = replica;
  for name in select quote_ident(tablename) from pg_tables where schemaname = 'public' and tablename <> 'migrations' loop
    execute 'delete from ' || name;
  end loop;
  for name in select quote_ident(sequencename) from pg_sequences where schemaname = 'public' and last_value is not null loop
    execute 'alter sequence ' || name || ' restart';
  end loop;
end $$`

const empty = async (db: Database): Promise<void> => {
  await sql.raw(EMPTY).execute(db.sql)
}

const closeWithTest = (close: () => Promise<void>): void => {
  try {
    onTestFinished(close)
  } catch {
    // Opened outside a test, for all tests of the file: it stays open until they have ended.
    cleanUps.push(close)
  }
}

/** The same tests on both databases. Each `open()` gives a migrated database without rows, closed after the test. */
export const eachDatabase = (title: string, tests: (open: () => Promise<Database>) => void): void => {
  describe(`${title} (embedded)`, () => tests(() => openTestDatabase('embedded')))
  describe.skipIf(!hasPostgres())(`${title} (PostgreSQL)`, () => tests(() => openTestDatabase('postgres')))
}
