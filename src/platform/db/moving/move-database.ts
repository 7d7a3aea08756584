import { sql } from 'kysely'
import { type Migration, migrate } from '../migrate.ts'
import type { Database, Executor } from '../open.ts'
import { StartError } from '../start-error.ts'
import { BLOCKS, blocksOf, digestOf, readRows, writeRows } from './copy-rows.ts'
import { beginMove, finishMove, forgetCopy, nextBlock, saveNextBlock, setConstraintsAside } from './move-state.ts'
import { readPartitions, readSequences, readShapes, type TableShape } from './table-shapes.ts'

// An arbitrary number that nothing else in this database uses.
const ADVISORY_LOCK = 7_274_651_823_002

export interface Moved {
  readonly tables: number
  readonly rows: number
}

const withoutTimeouts = async (tx: Executor): Promise<void> => {
  await sql`set local statement_timeout = 0`.execute(tx)
  await sql`set local lock_timeout = 0`.execute(tx)
}

/** Returns the source's migrations, so that both databases get the same tables. */
const migrationsOf = async (source: Executor, all: readonly Migration[]): Promise<readonly Migration[]> => {
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(source)
  const unknown = rows.filter(({ name }) => !all.some((migration) => migration.name === name))
  if (unknown.length > 0) {
    throw new StartError(
      `The data folder has migrations that this program does not know (${unknown.map(({ name }) => name).join(', ')}): ` +
        'a newer version wrote it. Move it with that version or a later one.',
    )
  }
  return all.filter(({ name }) => rows.some((row) => row.name === name))
}

const createPartitions = async (source: Executor, target: Database): Promise<void> => {
  const there = new Set((await readPartitions(target.sql)).map(({ name }) => name))
  const missing = (await readPartitions(source)).filter(({ name }) => !there.has(name))
  await target.transaction(async (tx) => {
    for (const { name, parent, bound } of missing) {
      await sql`create table ${sql.table(`public.${name}`)} partition of ${sql.table(`public.${parent}`)} ${sql.raw(bound)}`.execute(
        tx,
      )
    }
  })
}

const copyTable = async (source: Executor, target: Database, shape: TableShape): Promise<void> => {
  for (const part of shape.parts) {
    const blocks = await blocksOf(source, part)
    for (let block = await nextBlock(target.sql, part); block < blocks; block += BLOCKS) {
      const rows = await readRows(source, shape, part, block)
      // Rows and progress in one transaction: if it is killed at any point, the copy continues from there.
      await target.transaction(async (tx) => {
        await withoutTimeouts(tx)
        await writeRows(tx, shape, rows)
        await saveNextBlock(tx, part, block + BLOCKS)
      })
    }
  }
}

const copySequences = async (source: Executor, target: Database): Promise<void> => {
  const sequences = await readSequences(source)
  await target.transaction(async (tx) => {
    for (const { table, column, last, isCalled } of sequences) {
      await sql`select setval(pg_get_serial_sequence(${`public.${table}`}, ${column}), ${last}::bigint, ${isCalled})`.execute(
        tx,
      )
    }
  })
}

/** @throws StartError naming the first table that differs; the next run copies it again */
const verify = async (source: Executor, target: Database, shapes: readonly TableShape[]): Promise<number> => {
  let total = 0
  for (const shape of shapes) {
    const [from, to] = [
      await digestOf(source, shape),
      await target.transaction(async (tx) => {
        await withoutTimeouts(tx)
        return digestOf(tx, shape)
      }),
    ]
    if (from.rows !== to.rows || from.hash !== to.hash) {
      await target.transaction((tx) => forgetCopy(tx, shape.name, shape.parts))
      throw new StartError(
        `The table ${shape.name} is not the same on both sides (${from.rows} and ${to.rows} rows). Does something else write to ` +
          'the target? Run svc migrate again.',
      )
    }
    total += from.rows
  }
  return total
}

/**
 * Copies all rows of the embedded database, which no other process has open, to an empty PostgreSQL server, and compares them.
 * If it is killed at any point, the next run continues.
 * @param fingerprint identifies the source's state; rows copied from another state are discarded
 * @throws StartError if the target has other data, or another process is moving to it
 */
export const moveDatabase = (
  source: Executor,
  target: Database,
  options: {
    readonly fingerprint: string
    readonly migrations: readonly Migration[]
    progress(words: string): void
    /** Further steps after copying rows; no service starts on the target until they are done. A resumed run repeats them. */
    beforeEnd(): Promise<void>
  },
): Promise<Moved> =>
  target.sql.connection().execute(async (held) => {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_lock(${ADVISORY_LOCK}) as mine`.execute(held)
    if (!rows[0]!.mine) throw new StartError('Another process is moving an installation to this database.')
    try {
      return await move(source, target, options)
    } finally {
      await sql`select pg_advisory_unlock(${ADVISORY_LOCK})`.execute(held).catch(() => undefined)
    }
  })

const move = async (
  source: Executor,
  target: Database,
  { fingerprint, migrations, progress, beforeEnd }: Parameters<typeof moveDatabase>[2],
): Promise<Moved> => {
  const applied = await migrationsOf(source, migrations)
  await target.transaction((tx) => beginMove(tx, fingerprint))
  await migrate(target, applied)
  await target.transaction(setConstraintsAside)
  await createPartitions(source, target)
  const shapes = await readShapes(source)
  for (const shape of shapes) {
    progress(`Copying ${shape.name}`)
    await copyTable(source, target, shape)
  }
  await copySequences(source, target)
  progress('Comparing')
  const total = await verify(source, target, shapes)
  await beforeEnd()
  await target.transaction(async (tx) => {
    await withoutTimeouts(tx)
    await finishMove(tx)
  })
  await migrate(target, migrations)
  await sql`analyze`.execute(target.sql)
  return { tables: shapes.length, rows: total }
}
