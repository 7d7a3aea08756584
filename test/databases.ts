import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, inject, onTestFinished } from 'vitest'
import { createLocalHints, createServerHints } from '../src/platform/db/hints.ts'
import { type Database, type Executor, openDatabase } from '../src/platform/db/open.ts'
import { SESSION } from '../src/platform/db/open-server.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
type Kind = Database['kind']

// Starting an embedded database takes half a second, and a new session on a server loads its catalog again: a database whose test
// has ended is emptied and used again, by the later files of this process too. They end with the process, and the global set-up
// removes their folders.
const idle: Record<Kind, Reusable[]> = { embedded: [], postgres: [] }
const cleanUps: (() => Promise<void>)[] = []

/** Called when the tests of a file have ended. */
export const cleanUpAfterFile = async (): Promise<void> => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
}

export const hasPostgres = (): boolean => inject('postgresUrl') !== null

/** A data folder with a migrated, closed embedded database, removed at the end of the file. */
export const freshDataDir = async (): Promise<string> => copyTemplate(await emptyFolder())

const copyTemplate = (dataDir: string): string => {
  copyFolder(inject('embeddedTemplate'), dataDir)
  return dataDir
}

/** Its 700 files in a fifth of the processor time that `cp` of `node:fs/promises` takes. */
const copyFolder = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const copy = entry.isDirectory() ? copyFolder : copyFileSync
    copy(join(from, entry.name), join(to, entry.name))
  }
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
  readonly shape: string
}

/** A migrated database without rows. `close` it, or let it be closed when the test (or the file) ends. */
export const openTestDatabase = async (kind: Kind = 'embedded'): Promise<Database> => {
  const reusable = idle[kind].pop() ?? (await NEW[kind]())
  // Whoever listened in an earlier test has ended.
  const hints = reusable.url === null ? createLocalHints() : createServerHints(reusable.url)
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await hints.close()
    if (await isLikeNew(reusable)) idle[kind].push(reusable)
    else await reusable.db.close()
  }
  closeWithTest(close)
  return { ...reusable.db, hints, close }
}

const NEW: Record<Kind, () => Promise<Reusable>> = {
  embedded: async () => open(null, copyTemplate(await lastingFolder())),
  postgres: async () => open(bySocket((await createPostgres(inject('postgresTemplate'))).url), ''),
}

const bySocket = (url: string): string => {
  const socket = inject('postgresSocket')
  return socket === null ? url : `${url}?${new URLSearchParams({ host: socket })}`
}

const open = async (url: string | null, dataDir: string): Promise<Reusable> => {
  const db = await openDatabase({ url, dataDir, log: silent })
  return { url, db, shape: await shapeOf(db.sql) }
}

// Ten times as fast as truncating, which makes new files for every table and index; a file without bytes has no rows.
// The replica role skips the foreign keys' triggers, so that the tables' order does not matter.
const EMPTY = `do $$ declare name text; begin
  set local session_replication_role = replica;
  for name in select quote_ident(relname) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
      and relname <> 'migrations' and pg_relation_size(oid) > 0 loop
    execute 'delete from ' || name;
  end loop;
  perform setval(seqrelid, seqstart, false) from pg_sequence;
end $$`

// Whatever changes a table, column, index or constraint writes its catalog row anew, with the number of its transaction.
const lastChange = (catalog: string, condition: string): string =>
  `(select count(*) || ' ' || max(xmin::text::bigint) from ${catalog} where ${condition})`

const SHAPE = `select concat_ws(', ',
  ${lastChange('pg_class', "relnamespace = 'public'::regnamespace and relkind <> 'S'")},
  ${lastChange('pg_attribute', `attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)`)},
  ${lastChange('pg_constraint', "connamespace = 'public'::regnamespace")},
  (select string_agg(name, ',' order by name) from migrations)) as shape`

/** What a database is made of besides rows, in a form that only serves to compare. */
export const shapeOf = async (executor: Executor): Promise<string> => {
  const { rows } = await sql.raw<{ shape: string }>(SHAPE).execute(executor)
  return rows[0]?.shape ?? ''
}

/** Whether another session of a server's database holds something: an open transaction, or a lock of its own. */
const HOLDS = `select exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
  and (state <> 'idle' or pid in (select pid from pg_locks where locktype = 'advisory'))) as holds`

/** Empties a database and ends what its sessions hold. False when it is not as it was: a test changed its tables. */
const isLikeNew = async ({ db, shape, url }: Reusable): Promise<boolean> => {
  try {
    if (url !== null && (await sql.raw<{ holds: boolean }>(HOLDS).execute(db.sql)).rows[0]?.holds !== false)
      return false
    await sql.raw(EMPTY).execute(db.sql)
    // Settings, advisory locks, prepared statements, temporary tables; it fails in a transaction left open.
    await sql.raw('discard all').execute(db.sql)
    if (url !== null) await sql.raw(SESSION).execute(db.sql)
    return (await shapeOf(db.sql)) === shape
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
