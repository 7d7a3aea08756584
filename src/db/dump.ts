import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { type Migration, migrate } from './migrate.ts'
import type { Database, Executor } from './open.ts'
import { StartError } from './start-error.ts'
import { type Column, columnsOf, restartSequences, tablesInOrder } from './table-order.ts'

// A dump is text, one JSON value per line: a header, per table its name followed by its rows (arrays of PostgreSQL's
// text form of each value, or null), and the number of rows. It carries a database from one PostgreSQL version, or from
// the embedded database, to another.

interface Header {
  readonly format: 'tributary-dump'
  readonly version: 1
  readonly migrations: readonly string[]
}

interface TableLine {
  readonly table: string
  readonly columns: readonly string[]
}

type Row = readonly (string | null)[]

const PAGE = 1000

/**
 * Writes everything in the database to a file that does not exist yet, as of one moment.
 * @returns the number of rows.
 */
export const exportTo = async (db: Database, path: string): Promise<number> => {
  const file = await open(path, 'wx', 0o600)
  try {
    const rows = await db.transaction((tx) => writeAll(tx, file))
    await file.sync()
    return rows
  } catch (error) {
    await rm(path)
    throw error
  } finally {
    await file.close()
  }
}

const writeAll = async (tx: Executor, file: FileHandle): Promise<number> => {
  const write = (...lines: unknown[]) => file.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await sql`set transaction isolation level repeatable read, read only`.execute(tx)
  await sql`set local statement_timeout = 0`.execute(tx)
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
  const { rows: migrations } = await sql<{ name: string }>`select name from migrations order by name`.execute(tx)
  const header: Header = { format: 'tributary-dump', version: 1, migrations: migrations.map(({ name }) => name) }
  await write(header)
  let total = 0
  for (const table of await tablesInOrder(tx)) {
    const columns = await columnsOf(tx, table)
    await write({ table, columns: columns.map(({ name }) => name) } satisfies TableLine)
    const texts = sql.join(columns.map(({ name }) => sql`${sql.ref(name)}::text`))
    await sql`declare dump cursor for select array[${texts}] as row from ${sql.table(table)}`.execute(tx)
    for (;;) {
      const { rows } = await sql<{ row: Row }>`fetch ${sql.lit(PAGE)} from dump`.execute(tx)
      await write(...rows.map(({ row }) => row))
      total += rows.length
      if (rows.length < PAGE) break
    }
    await sql`close dump`.execute(tx)
  }
  await write({ rows: total })
  return total
}

/**
 * Fills a database that has no tables yet from a file that `exportTo` wrote, and migrates it to what this program
 * needs. All of it is read or none.
 * @returns the number of rows.
 * @throws StartError when the file is not a whole dump, comes from a newer program, or the database is not empty.
 */
export const importFrom = async (db: Database, path: string, migrations: readonly Migration[]): Promise<number> => {
  const lines = readLines(path)
  const header = (await lines.next()).value as Partial<Header> | undefined
  if (header?.format !== 'tributary-dump' || header.version !== 1 || !Array.isArray(header.migrations)) {
    throw new StartError(`${path} is not an export of Tributary's database that this version can read.`)
  }
  const names: readonly string[] = header.migrations
  const then = migrations.filter(({ name }) => names.includes(name))
  if (then.length < names.length) {
    throw new StartError(
      `${path} was exported by a newer version of the program: import it with that one or a later one.`,
    )
  }
  await migrate(db, then)
  const rows = await db.transaction((tx) => readAll(tx, path, lines))
  await migrate(db, migrations)
  return rows
}

async function* readLines(path: string): AsyncGenerator<unknown, undefined> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    try {
      yield JSON.parse(line)
    } catch {
      throw new StartError(`${path} is damaged: a line of it is not JSON. Export it again.`)
    }
  }
}

const readAll = async (tx: Executor, path: string, lines: AsyncGenerator<unknown, undefined>): Promise<number> => {
  await sql`set local statement_timeout = 0`.execute(tx)
  await refuseFullTables(tx)
  let into: { table: string; columns: readonly Column[] } | undefined
  let page: Row[] = []
  let total = 0
  const flush = async (): Promise<void> => {
    if (into && page.length > 0) await insert(tx, into.table, into.columns, page)
    page = []
  }
  for await (const line of lines) {
    if (Array.isArray(line)) {
      page.push(line)
      total += 1
      if (page.length === PAGE) await flush()
      continue
    }
    await flush()
    const { table, columns, rows } = line as Partial<TableLine & { rows: number }>
    if (table !== undefined && columns !== undefined) {
      const known = await columnsOf(tx, table)
      into = { table, columns: columns.flatMap((column) => known.filter(({ name }) => name === column)) }
    } else if (rows === total) {
      await restartSequences(tx)
      return total
    }
  }
  throw new StartError(`${path} is incomplete: it ends after ${total} rows, or lacks some. Export it again.`)
}

const insert = async (tx: Executor, table: string, columns: readonly Column[], rows: readonly Row[]): Promise<void> => {
  const values = columns.map((_, index) => sql`${rows.map((row) => row[index] ?? null)}::text[]`)
  const names = columns.map(({ name }) => sql.ref(name))
  const typed = columns.map(({ name, type }) => sql`${sql.ref(name)}::${sql.raw(type)}`)
  await sql`insert into ${sql.table(table)} (${sql.join(names)}) overriding system value
    select ${sql.join(typed)} from unnest(${sql.join(values)}) as page(${sql.join(names)})`.execute(tx)
}

const refuseFullTables = async (tx: Executor): Promise<void> => {
  for (const table of await tablesInOrder(tx)) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(tx)
    if (rows.length > 0) {
      throw new StartError(`Table ${table} already has rows: import into a new, empty database.`)
    }
  }
}
