/** The tables whose rows count: not the parts of partitioned tables, and not what is worth nothing after a crash. */
export const COUNTED_TABLES = `select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relpersistence = 'p'
  order by relname`

/** One statement that counts the rows of `tables`, as rows of `name` and `rows`. */
export const countStatement = (tables: readonly string[]): string =>
  tables.length === 0
    ? `select '' as name, 0::float8 as rows where false`
    : tables
        .map((name) => `select '${name}' as name, count(*)::float8 as rows from public."${name}"`)
        .join(' union all ')
