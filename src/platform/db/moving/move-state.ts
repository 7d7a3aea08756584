import { sql } from 'kysely'
import type { Database, Executor } from '../open.ts'
import { StartError } from '../start-error.ts'

// The target stores the progress of a move in a separate schema, which the last step drops.

interface State {
  readonly fingerprint: string
  readonly foreign_keys: readonly ForeignKey[] | null
}

interface ForeignKey {
  readonly table: string
  readonly name: string
  readonly definition: string
}

/** Returns the names of all tables, apart from those that a move creates. */
export const tablesOf = async (tx: Executor): Promise<readonly string[]> => {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`.execute(
    tx,
  )
  return rows.map(({ name }) => name)
}

const isUnfinished = async (db: Executor): Promise<boolean> => {
  const { rows } = await sql<{ found: boolean }>`select to_regnamespace('tributary_move') is not null as found`.execute(
    db,
  )
  return rows[0]!.found
}

/** @throws StartError if a move to this server is not complete */
export const refuseUnfinishedMove = async ({ kind, sql: db }: Database): Promise<void> => {
  if (kind !== 'postgres' || !(await isUnfinished(db))) return
  throw new StartError('The move to the database in SERVICE_DATABASE_URL is not complete: run svc migrate again.')
}

/**
 * Begins a move, or resumes an interrupted one. Rows copied from another state of the source are discarded.
 * @throws StartError if the target has other data
 */
export const beginMove = async (tx: Executor, fingerprint: string): Promise<void> => {
  if (!(await isUnfinished(tx))) {
    const tables = await tablesOf(tx)
    if (tables.length > 0) {
      throw new StartError(
        `The target has tables already (${tables.slice(0, 5).join(', ')}, ...). Use an empty database; if this installation ` +
          'was moved there before, set SERVICE_DATABASE_URL and start the service.',
      )
    }
    await sql`create schema tributary_move`.execute(tx)
    await sql`create table tributary_move.state (fingerprint text not null, foreign_keys jsonb)`.execute(tx)
    await sql`create table tributary_move.parts (name text primary key, next_block bigint not null)`.execute(tx)
    await sql`insert into tributary_move.state (fingerprint) values (${fingerprint})`.execute(tx)
    return
  }
  if ((await readState(tx)).fingerprint === fingerprint) return
  const tables = (await tablesOf(tx)).filter((name) => name !== 'migrations')
  if (tables.length > 0) await sql`truncate ${sql.join(tables.map((name) => sql.table(`public.${name}`)))}`.execute(tx)
  await sql`delete from tributary_move.parts`.execute(tx)
  await sql`update tributary_move.state set fingerprint = ${fingerprint}`.execute(tx)
}

const readState = async (tx: Executor): Promise<State> =>
  (await sql<State>`select fingerprint, foreign_keys from tributary_move.state`.execute(tx)).rows[0]!

const eachTable = async (tx: Executor, change: 'disable' | 'enable'): Promise<void> => {
  for (const name of await tablesOf(tx)) {
    await sql`alter table ${sql.table(`public.${name}`)} ${sql.raw(change)} trigger user`.execute(tx)
  }
}

/** Removes foreign keys and disables triggers, so that tables can be copied in any order. */
export const setConstraintsAside = async (tx: Executor): Promise<void> => {
  if ((await readState(tx)).foreign_keys !== null) return
  const { rows } = await sql<ForeignKey>`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and conparentid = 0 and connamespace = 'public'::regnamespace`.execute(tx)
  await sql`update tributary_move.state set foreign_keys = ${JSON.stringify(rows)}`.execute(tx)
  for (const { table, name } of rows) {
    await sql`alter table ${sql.raw(table)} drop constraint ${sql.ref(name)}`.execute(tx)
  }
  await eachTable(tx, 'disable')
}

/** Restores the constraints, which checks all rows, and deletes the move's state. */
export const finishMove = async (tx: Executor): Promise<void> => {
  for (const { table, name, definition } of (await readState(tx)).foreign_keys ?? []) {
    await sql`alter table ${sql.raw(table)} add constraint ${sql.ref(name)} ${sql.raw(definition)}`.execute(tx)
  }
  await eachTable(tx, 'enable')
  await sql`drop schema tributary_move cascade`.execute(tx)
}

/** Returns the block at which the copy of a table continues. */
export const nextBlock = async (db: Executor, part: string): Promise<number> => {
  const { rows } = await sql<{ next: number }>`
    select next_block::float8 as next from tributary_move.parts where name = ${part}`.execute(db)
  return rows[0]?.next ?? 0
}

export const saveNextBlock = async (tx: Executor, part: string, next: number): Promise<void> => {
  await sql`insert into tributary_move.parts (name, next_block) values (${part}, ${next})
    on conflict (name) do update set next_block = excluded.next_block`.execute(tx)
}

/** Makes the next run copy a table again. */
export const forgetCopy = async (tx: Executor, name: string, parts: readonly string[]): Promise<void> => {
  await sql`truncate ${sql.table(`public.${name}`)}`.execute(tx)
  await sql`delete from tributary_move.parts where name = any(${[...parts]}::text[])`.execute(tx)
}
