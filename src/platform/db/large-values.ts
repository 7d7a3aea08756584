import { type RawBuilder, sql } from 'kysely'

const MAX_LISTED = 8192

/**
 * True for a JSON column with more than about 8,000 characters, which lists leave out: a page of such values would take seconds
 * to send. The stored size, which is known without reading the value, is compared first.
 */
export const isLarge = (column: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`(pg_column_size(${column}) > ${MAX_LISTED} or length(${column}::text) > ${MAX_LISTED})`

/** What `unlessLarge` returns for a large value; small ones are objects. */
export const LARGE = 'large'

/** The JSON column, or LARGE. Reads large values once: selecting `isLarge` too would read them again. */
export const unlessLarge = <Value>(column: RawBuilder<Value>): RawBuilder<Value | typeof LARGE> =>
  sql`case when ${isLarge(column)} then to_jsonb(${LARGE}::text) else ${column} end`
