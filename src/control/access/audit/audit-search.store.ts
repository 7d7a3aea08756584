import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { AuditResult } from '../../../domain/audit.ts'
import type { AuditEntryRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { type ChainedEntry, fromRow } from './audit.store.ts'

export interface StoredEntry extends ChainedEntry {
  /** For paging. */
  readonly id: number
  readonly actorName: string | null
  readonly objectName: string | null
  readonly address: string | null
}

export interface AuditFilter {
  /** Null for every organization. */
  readonly orgId: string | null
  /** Id or name. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** Id or name. */
  readonly object?: string | undefined
  readonly result?: AuditResult | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  /** Only entries that come later in their chain. */
  readonly afterSeq?: number | undefined
}

/** Finds entries and reads them together with their names. */
export const auditSearchStore = {
  /** Newest first. */
  async page(db: Executor, filter: AuditFilter, { before, limit }: { before: number | null; limit: number }) {
    const { rows } = await sql<NamedRow>`
      ${selectNamed} where ${matches(filter)} and (${before}::bigint is null or entry.id < ${before})
      order by entry.id desc limit ${limit}`.execute(db)
    return rows.map(named)
  },

  /** Oldest first. */
  async following(db: Executor, filter: AuditFilter, { after, limit }: { after: number; limit: number }) {
    const { rows } = await sql<NamedRow>`
      ${selectNamed} where ${matches(filter)} and entry.id > ${after} order by entry.id limit ${limit}`.execute(db)
    return rows.map(named)
  },

  async find(db: Executor, orgId: string | null, id: number): Promise<StoredEntry | null> {
    const { rows } = await sql<NamedRow>`${selectNamed} where ${matches({ orgId })} and entry.id = ${id}`.execute(db)
    return rows[0] === undefined ? null : named(rows[0])
  },
}

type NamedRow = Selectable<AuditEntryRow> & {
  readonly actor_name: string | null
  readonly object_name: string | null
  readonly address: string | null
}

const nameOf = (kind: RawBuilder<unknown>, id: string): RawBuilder<string | null> =>
  sql<string | null>`(select name from audit_names one where one.org_id = entry.org_id
    and one.kind = ${kind} and one.id = ${sql.ref(id)})`

const selectNamed = sql`select entry.*, ${nameOf(sql`entry.actor_kind`, 'entry.actor_id')} as actor_name,
  ${nameOf(sql`entry.object_kind`, 'entry.object_id')} as object_name,
  ${nameOf(sql`'address'`, 'entry.address_id')} as address from audit_entries entry`

const isNamed = (kind: string, id: string, word: string): RawBuilder<boolean> =>
  sql<boolean>`(${sql.ref(id)} = ${word} or exists (select from audit_names one where one.org_id = entry.org_id
    and one.kind = ${sql.ref(kind)} and one.id = ${sql.ref(id)} and one.name = ${word}))`

const matches = ({ orgId, actor, action, object, result, since, until, afterSeq }: AuditFilter): RawBuilder<boolean> =>
  sql.join(
    [
      sql`true`,
      ...(orgId === null ? [] : [sql`entry.org_id = ${orgId}`]),
      ...(actor === undefined
        ? []
        : [sql`(entry.credential_id = ${actor} or ${isNamed('entry.actor_kind', 'entry.actor_id', actor)})`]),
      ...(action === undefined ? [] : [sql`entry.action = ${action}`]),
      ...(object === undefined ? [] : [isNamed('entry.object_kind', 'entry.object_id', object)]),
      ...(result === undefined ? [] : [sql`entry.result = ${result}`]),
      ...(since === undefined ? [] : [sql`entry.at >= ${since}`]),
      ...(until === undefined ? [] : [sql`entry.at < ${until}`]),
      ...(afterSeq === undefined ? [] : [sql`entry.seq > ${afterSeq}`]),
    ],
    sql` and `,
  ) as RawBuilder<boolean>

const named = (row: NamedRow): StoredEntry => ({
  ...fromRow(row),
  id: row.id,
  actorName: row.actor_name,
  objectName: row.object_name,
  address: row.address,
})
