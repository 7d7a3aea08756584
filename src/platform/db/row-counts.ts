import { sql } from 'kysely'
import { COUNTED_TABLES, countStatement } from './embedded/count-statements.ts'
import type { Executor } from './open.ts'

/** Returns the number of rows in each table. */
export const countRows = async (db: Executor): Promise<Readonly<Record<string, number>>> => {
  const tables = (await sql.raw<{ name: string }>(COUNTED_TABLES).execute(db)).rows.map(({ name }) => name)
  const { rows } = await sql.raw<{ name: string; rows: number }>(countStatement(tables)).execute(db)
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}
