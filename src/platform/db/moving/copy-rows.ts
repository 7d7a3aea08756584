import { type RawBuilder, sql } from 'kysely'
import type { Executor } from '../open.ts'
import type { Column, TableShape } from './table-shapes.ts'

/** How many blocks of 8 KiB are read at once. */
export const BLOCKS = 64

const isTransactionId = ({ type }: Column): boolean => type === 'xid8'

/**
 * Transaction numbers mean nothing on another server. The embedded database runs transactions one after another, so sorting
 * rows by transaction and number is the same as sorting by number: using one transaction number for all keeps the order, and 1
 * precedes every transaction of any server.
 */
const ONE_TRANSACTION = '1'

const textOf = (column: Column): RawBuilder<unknown> => {
  const name = sql.ref(column.name)
  return isTransactionId(column) ? sql`case when ${name} is not null then ${ONE_TRANSACTION} end` : sql`${name}::text`
}

const written = ({ columns }: TableShape): readonly Column[] => columns.filter(({ isGenerated }) => !isGenerated)

/** Returns how many blocks of 8 KiB a table has. */
export const blocksOf = async (db: Executor, part: string): Promise<number> => {
  const { rows } = await sql<{ blocks: number }>`
    select (pg_relation_size(${part}::regclass) / 8192)::float8 as blocks`.execute(db)
  return rows[0]!.blocks
}

/** Returns the rows in these blocks, as a list of texts per column. */
export const readRows = async (
  db: Executor,
  shape: TableShape,
  part: string,
  first: number,
): Promise<readonly (readonly (string | null)[])[]> => {
  const columns = written(shape)
  const lists = columns.map((column, at) => sql`array_agg(${textOf(column)}) as ${sql.ref(`c${at}`)}`)
  const { rows } = await sql<Record<string, readonly (string | null)[] | null>>`
    select ${sql.join(lists)} from only ${sql.table(`public.${part}`)}
    where ctid >= ${`(${first},0)`}::tid and ctid < ${`(${first + BLOCKS},0)`}::tid`.execute(db)
  return columns.map((_, at) => rows[0]![`c${at}`] ?? [])
}

export const writeRows = async (
  tx: Executor,
  shape: TableShape,
  values: readonly (readonly (string | null)[])[],
): Promise<void> => {
  if ((values[0]?.length ?? 0) === 0) return
  const columns = written(shape)
  const names = columns.map(({ name }) => sql.ref(name))
  const typed = columns.map(({ type }, at) => sql`${sql.ref(`c${at}`)}::${sql.raw(type)}`)
  const lists = values.map((list) => sql`${list}::text[]`)
  const aliases = columns.map((_, at) => sql.ref(`c${at}`))
  await sql`
    insert into ${sql.table(`public.${shape.name}`)} (${sql.join(names)}) overriding system value
    select ${sql.join(typed)} from unnest(${sql.join(lists)}) as source (${sql.join(aliases)})`.execute(tx)
}

/** Returns a table's row count and the sum of its rows' hashes: equal for the same rows in any order, on any server. */
export const digestOf = async (tx: Executor, shape: TableShape): Promise<{ rows: number; hash: string }> => {
  const texts = shape.columns
    .filter((column) => !isTransactionId(column))
    .map(({ name }) => sql`${sql.ref(name)}::text`)
  const { rows } = await sql<{ rows: number; hash: string }>`
    select count(*)::float8 as rows,
      coalesce(sum(('x' || substr(md5(row(${sql.join(texts)})::text), 1, 15))::bit(60)::bigint), 0)::text as hash
    from ${sql.table(`public.${shape.name}`)}`.execute(tx)
  return rows[0]!
}
