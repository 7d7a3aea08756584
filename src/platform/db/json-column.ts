import type { ColumnType } from 'kysely'

/** A jsonb column: parsed when it is read, written as JSON text. */
export type Json<T> = ColumnType<T, string, string>
