import { constants, copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { COUNTED_TABLES, countStatement } from './count-statements.ts'
import type { RowCounts } from './thread-messages.ts'

const WAL_FOLDER = 'pg_wal'
const WAL_SEGMENT = /^[0-9A-F]{24}$/

const countRows = async (db: PGlite): Promise<RowCounts> => {
  const tables = (await db.query<{ name: string }>(COUNTED_TABLES)).rows.map(({ name }) => name)
  const { rows } = await db.query<{ name: string; rows: number }>(countStatement(tables))
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

const copyTree = (from: string, to: string, wanted: (folder: string, name: string) => boolean): void => {
  mkdirSync(to, { mode: 0o700 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory()) copyTree(join(from, entry.name), join(to, entry.name), wanted)
    // As a copy-on-write clone if the file system supports it, which takes no time or space.
    else if (entry.isFile() && wanted(from, entry.name)) {
      copyFileSync(join(from, entry.name), join(to, entry.name), constants.COPYFILE_FICLONE)
    }
  }
}

/**
 * Copies the folder of an open database to `target`, which must not exist. After the checkpoint the files contain all committed
 * data, and there is no other writer: the copy opens like a folder after a crash. Must not be called inside a transaction.
 */
export const copyFolder = async (db: PGlite, folder: string, target: string): Promise<RowCounts> => {
  await db.exec('checkpoint')
  const { rows } = await db.query<{ first: string; last: string }>(
    `select redo_wal_file as first, pg_walfile_name(pg_current_wal_insert_lsn()) as last from pg_control_checkpoint()`,
  )
  const { first, last } = rows[0]!
  const counts = await countRows(db)
  // PostgreSQL keeps earlier segments to overwrite them, and later ones are already recycled; neither kind is read again.
  copyTree(
    folder,
    target,
    (parent, name) => !parent.endsWith(WAL_FOLDER) || !WAL_SEGMENT.test(name) || (name >= first && name <= last),
  )
  return counts
}
