import { sql } from 'kysely'
import type { Database, Executor } from './open.ts'
import { StartError } from './start-error.ts'

export interface Migration {
  /** Unique, and sorted in the order of application: `0001-foundation`. */
  readonly name: string
  readonly statements: readonly string[]
}

// An arbitrary number that nothing else in this database uses, and that never changes.
const ADVISORY_LOCK = 7_274_651_823_001
/** PostgreSQL's code. */
const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Updates the tables: forward only, each migration in one transaction together with its record. Processes that start
 * together wait for each other; the second finds the work done.
 * @returns the names of the migrations applied by this call.
 * @throws StartError if the database has migrations unknown to this program (a newer one wrote it), if it is empty and cannot
 * store every text, or if its user may not create tables.
 */
export const migrate = async (db: Database, migrations: readonly Migration[]): Promise<readonly string[]> => {
  const applied: string[] = []
  for (;;) {
    const name = await db
      .transaction((tx) => applyNext(tx, migrations))
      .catch((error: unknown) => {
        throw (error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE ? mayNotCreate(error as Error) : error
      })
    if (name === undefined) return applied
    applied.push(name)
  }
}

const mayNotCreate = (error: Error): StartError =>
  new StartError(
    `The database user is not allowed to create tables (${error.message}). Make it the owner of the database: ` +
      'alter database … owner to …',
    error,
  )

const applyNext = async (tx: Executor, migrations: readonly Migration[]): Promise<string | undefined> => {
  // Indexing a large table, waiting for a process that does, or computing new columns may take longer than a request is allowed to.
  await sql`set local statement_timeout = 0`.execute(tx)
  await sql`set local lock_timeout = 0`.execute(tx)
  await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx)
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK})`.execute(tx)
  await sql`create table if not exists migrations (name text primary key, applied_at timestamptz not null)`.execute(tx)
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(tx)
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = rows.filter(({ name }) => !known.has(name))
  if (unknown.length > 0) {
    throw new StartError(
      `The database has migrations that this program does not know (${unknown.map(({ name }) => name).join(', ')}): ` +
        'a newer version wrote it. Start that version or a later one, or restore a backup from before the upgrade.',
    )
  }
  if (rows.length === 0) await requireUnicode(tx)
  const done = new Set(rows.map(({ name }) => name))
  const next = migrations.find(({ name }) => !done.has(name))
  if (next === undefined) return undefined
  for (const statement of next.statements) await sql.raw(statement).execute(tx)
  await sql`insert into migrations (name, applied_at) values (${next.name}, now())`.execute(tx)
  return next.name
}

/** SQL_ASCII stores the bytes of any text unchanged. */
const requireUnicode = async (tx: Executor): Promise<void> => {
  const { rows } = await sql<{ name: string; encoding: string }>`
    select current_database() as name, current_setting('server_encoding') as encoding`.execute(tx)
  const { name, encoding } = rows[0]!
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return
  throw new StartError(
    `The database '${name}' has the encoding ${encoding}, which cannot represent the letters of many names. Create another one: ` +
      `createdb --encoding=UTF8 --template=template0 ${name}`,
  )
}
