import type { ColumnType } from 'kysely'

/** A jsonb column: parsed when read, written as JSON text. */
export type Json<T> = ColumnType<T, string, string>
