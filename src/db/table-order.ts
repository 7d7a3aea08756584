import { sql } from 'kysely'
import type { Executor } from './open.ts'

// What PostgreSQL's catalogue says about our tables, for export and import.

export interface Column {
  readonly name: string
  /** As SQL writes it: `timestamp with time zone`, `text[]`. */
  readonly type: string
}

/** Our tables, each after all tables that it refers to. The table of migrations is not among them. */
export const tablesInOrder = async (tx: Executor): Promise<readonly string[]> => {
  const { rows: tables } = await sql<{ name: string; needs: string[] }>`
    select t.relname as name, coalesce(array_agg(r.relname::text) filter (where r.oid <> t.oid), '{}') as needs
    from pg_class t
    left join pg_constraint c on c.conrelid = t.oid and c.contype = 'f'
    left join pg_class r on r.oid = c.confrelid
    where t.relkind = 'r' and t.relnamespace = 'public'::regnamespace and t.relname <> 'migrations'
    group by t.relname order by t.relname
  `.execute(tx)
  const ordered: string[] = []
  while (ordered.length < tables.length) {
    const next = tables.find(
      ({ name, needs }) => !ordered.includes(name) && needs.every((need) => ordered.includes(need)),
    )
    if (next === undefined) throw new Error('Tables refer to each other in a circle: no order of import fits.')
    ordered.push(next.name)
  }
  return ordered
}

/** A table's columns in their order, without those that the database computes. */
export const columnsOf = async (tx: Executor, table: string): Promise<readonly Column[]> => {
  const { rows } = await sql<Column>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = to_regclass(quote_ident(${table})) and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum
  `.execute(tx)
  return rows
}

/** Lets every identity column go on after the highest number in its table. */
export const restartSequences = async (tx: Executor): Promise<void> => {
  const { rows } = await sql<{ table: string; column: string; sequence: string }>`
    select c.relname as table, a.attname as column, pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where a.attidentity <> '' and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
  `.execute(tx)
  for (const { table, column, sequence } of rows) {
    const highest = sql`(select max(${sql.ref(column)}) from ${sql.table(table)})`
    await sql`select setval(${sequence}, coalesce(${highest}, 1), ${highest} is not null)`.execute(tx)
  }
}
