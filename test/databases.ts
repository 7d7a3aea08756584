import { cp, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, inject, onTestFinished } from 'vitest'
import { type Database, openDatabase } from '../src/db/open.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
type Kind = Database['kind']

// Starting an embedded database takes half a second: one whose test has ended is emptied and used again, by the later
// files of this process too. They end with the process, and the global set-up removes their folders.
const idle: Record<Kind, (() => Promise<Reusable>)[]> = { embedded: [], postgres: [] }
const cleanUps: (() => Promise<void>)[] = []

/** Called when the tests of a file have ended. */
export const cleanUpAfterFile = async (): Promise<void> => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
}

export const hasPostgres = (): boolean => inject('postgresUrl') !== null

/** A data folder with a migrated, closed embedded database, removed at the end of the file. */
export const freshDataDir = async (): Promise<string> => copyTemplate(await emptyFolder())

const copyTemplate = async (dataDir: string): Promise<string> => {
  await cp(inject('embeddedTemplate'), dataDir, { recursive: true })
  return dataDir
}

/** A folder that is removed at the end of the file. */
export const emptyFolder = async (): Promise<string> => {
  const folder = await lastingFolder()
  cleanUps.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** A folder that is removed when all files have ended. */
const lastingFolder = (): Promise<string> => mkdtemp(join(inject('folders'), 'test-'))

let databases = 0

/** The URL of a database of its own on the PostgreSQL server, dropped at the end of the file. */
export const freshPostgresUrl = async (template = inject('postgresTemplate')): Promise<string> => {
  const { url, name } = await createPostgres(template)
  cleanUps.push(() => administer(`drop database ${name} with (force)`))
  return url
}

const createPostgres = async (template: string): Promise<{ url: string; name: string }> => {
  const url = new URL(inject('postgresUrl') ?? '')
  // The global set-up drops by this beginning what is left over.
  const name = `${inject('postgresTemplate')}_${process.pid}_${++databases}`
  await administer(`create database ${name} template ${template}`)
  url.pathname = `/${name}`
  return { url: url.href, name }
}

const administer = async (statement: string): Promise<void> => {
  const client = new pg.Client(inject('postgresUrl') ?? '')
  await client.connect()
  await client.query(statement)
  await client.end()
}

interface Reusable {
  readonly url: string | null
  readonly db: Database
  /** What it is made of besides rows, as `SHAPE` says it. */
  readonly shape: string
}

/** A migrated database without rows. `close` it, or let it be closed when the test (or the file) ends. */
export const openTestDatabase = async (kind: Kind = 'embedded'): Promise<Database> => {
  const reusable = await (idle[kind].pop() ?? NEW[kind])()
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    const isUsable = await isLikeNew(reusable)
    // A server's sessions end with the test; the embedded database has one, which is emptied too.
    if (!isUsable || reusable.url !== null) await reusable.db.close()
    if (isUsable) idle[kind].push(async () => (reusable.url === null ? reusable : open(reusable.url, '')))
  }
  closeWithTest(close)
  return { ...reusable.db, close }
}

const NEW: Record<Kind, () => Promise<Reusable>> = {
  embedded: async () => open(null, await copyTemplate(await lastingFolder())),
  postgres: async () => open((await createPostgres(inject('postgresTemplate'))).url, ''),
}

const open = async (url: string | null, dataDir: string): Promise<Reusable> => {
  const db = await openDatabase({ url, dataDir, log: silent })
  return { url, db, shape: await shapeOf(db) }
}

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

const SHAPE = `select md5(concat_ws(';',
  (select string_agg(format('%s %s', relkind, relname), ',' order by relname) from pg_class
    where relnamespace = 'public'::regnamespace),
  (select string_agg(format('%s %s %s %s', attrelid, attnum, attname, atttypid), ',' order by attrelid, attnum)
    from pg_attribute join pg_class c on c.oid = attrelid where relnamespace = 'public'::regnamespace and attnum > 0),
  (select string_agg(format('%s %s', conrelid, conname), ',' order by conrelid, conname) from pg_constraint
    where connamespace = 'public'::regnamespace),
  (select string_agg(name, ',' order by name) from migrations))) as shape`

const shapeOf = async (db: Database): Promise<string> => {
  const { rows } = await sql.raw<{ shape: string }>(SHAPE).execute(db.sql)
  return rows[0]?.shape ?? ''
}

/** Empties a database and ends what its session holds. False when it is not as it was: a test changed its tables. */
const isLikeNew = async ({ db, shape }: Reusable): Promise<boolean> => {
  try {
    await sql.raw(EMPTY).execute(db.sql)
    // Settings, advisory locks, prepared statements, temporary tables; it fails in a transaction left open.
    await sql.raw('discard all').execute(db.sql)
    return (await shapeOf(db)) === shape
  } catch {
    return false
  }
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
