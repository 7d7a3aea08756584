/** The tables whose rows are counted: not partitions, and not unlogged tables, which do not survive a crash. */
export const COUNTED_TABLES = `select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relpersistence = 'p'
  order by relname`

/** Returns one statement that counts the rows of `tables`, with columns `name` and `rows`. */
export const countStatement = (tables: readonly string[]): string =>
  tables.length === 0
    ? `select '' as name, 0::float8 as rows where false`
    : tables
        .map((name) => `select '${name}' as name, count(*)::float8 as rows from public."${name}"`)
        .join(' union all ')
