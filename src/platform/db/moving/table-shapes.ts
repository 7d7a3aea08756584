import { sql } from 'kysely'
import type { Executor } from '../open.ts'

export interface Column {
  readonly name: string
  /** As in `create table`: `timestamp with time zone`. */
  readonly type: string
  /** Computed from other columns, never written. */
  readonly isGenerated: boolean
}

export interface TableShape {
  readonly name: string
  readonly columns: readonly Column[]
  /** The tables that store its rows: itself, or its partitions. */
  readonly parts: readonly string[]
}

/** Returns all tables whose rows must be copied, except `migrations`, which each database writes itself. */
export const readShapes = async (db: Executor): Promise<readonly TableShape[]> => {
  const { rows } = await sql<TableShape>`
    select c.relname as name,
      (select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod),
          'isGenerated', attgenerated <> '') order by attnum)
        from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns,
      case c.relkind when 'r' then json_build_array(c.relname)
        else (select coalesce(json_agg(p.relid::regclass::text), '[]') from pg_partition_tree(c.oid) p where p.isleaf) end as parts
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relpersistence = 'p' and c.relname <> 'migrations'
    order by c.relname`.execute(db)
  return rows
}

export interface Partition {
  readonly name: string
  readonly parent: string
  /** `FOR VALUES FROM … TO …` */
  readonly bound: string
}

/** Returns the partitions, parents first; those missing on the target were created by the service, not by a migration. */
export const readPartitions = async (db: Executor): Promise<readonly Partition[]> => {
  const { rows } = await sql<Partition>`
    select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where c.relispartition and c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
    order by c.oid`.execute(db)
  return rows
}

export interface Sequence {
  readonly table: string
  readonly column: string
  readonly last: string
  readonly isCalled: boolean
}

/** Returns the current values of identity columns' sequences. */
export const readSequences = async (db: Executor): Promise<readonly Sequence[]> => {
  const { rows } = await sql<{ name: string; table: string; column: string }>`
    select s.relname as name, t.relname as table, a.attname as column
    from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
      join pg_class t on t.oid = d.refobjid
      join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    where d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i') and t.relnamespace = 'public'::regnamespace`.execute(
    db,
  )
  const sequences: Sequence[] = []
  for (const { name, table, column } of rows) {
    const state = await sql<{ last: string; called: boolean }>`
      select last_value::text as last, is_called as called from ${sql.table(`public.${name}`)}`.execute(db)
    sequences.push({ table, column, last: state.rows[0]!.last, isCalled: state.rows[0]!.called })
  }
  return sequences
}
