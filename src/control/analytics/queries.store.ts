import { type Selectable, sql } from 'kysely'
import type { AnalyticsQueryRow } from '../../platform/db/analytics-rows.ts'
import { LARGE, unlessLarge } from '../../platform/db/large-values.ts'
import type { Executor } from '../../platform/db/open.ts'
import type { QueryType } from './query-type.ts'

/** A query and its outcome. */
export interface StoredQuery {
  readonly id: string
  readonly federationId: string
  /** The organization that asked; null for a key that is bound to no organization. */
  readonly orgId: string | null
  readonly queryType: QueryType
  readonly variable: string
  /** The request's body. */
  readonly request: Readonly<Record<string, unknown>>
  /** In lists: which of `request` and `result` were too large, and are empty. */
  readonly omitted?: readonly string[]
  readonly status: 'completed' | 'failed'
  readonly result: Readonly<Record<string, unknown>> | null
  readonly reason: string | null
  readonly createdAt: Date
}

const REQUEST = sql<Record<string, unknown>>`analytics_queries.request`
const RESULT = sql<Record<string, unknown> | null>`analytics_queries.result`
const COLUMNS = ['id', 'federation_id', 'org_id', 'query_type', 'variable', 'status', 'reason', 'created_at'] as const

export const queriesStore = {
  async insert(db: Executor, query: StoredQuery): Promise<void> {
    await db
      .insertInto('analytics_queries')
      .values({
        id: query.id,
        federation_id: query.federationId,
        org_id: query.orgId,
        query_type: query.queryType,
        variable: query.variable,
        request: JSON.stringify(query.request),
        status: query.status,
        result: query.result === null ? null : JSON.stringify(query.result),
        reason: query.reason,
        created_at: query.createdAt,
      })
      .execute()
  },

  async find(db: Executor, federationId: string, id: string): Promise<StoredQuery | null> {
    const row = await db
      .selectFrom('analytics_queries')
      .selectAll()
      .where('federation_id', '=', federationId)
      .where('id', '=', id)
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Newest first. */
  async list(
    db: Executor,
    federationId: string,
    page: { limit: number; offset: number },
  ): Promise<{ queries: StoredQuery[]; total: number }> {
    const requested = db.selectFrom('analytics_queries').where('federation_id', '=', federationId)
    const rows = await requested
      .select([...COLUMNS, unlessLarge(REQUEST).as('request'), unlessLarge(RESULT).as('result')])
      .orderBy('ordinal', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute()
    const { total } = await requested.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
    const queries = rows.map(({ request, result, ...row }) => {
      const omitted = [...(request === LARGE ? ['request'] : []), ...(result === LARGE ? ['result'] : [])]
      const kept = { request: request === LARGE ? {} : request, result: result === LARGE ? {} : result }
      return { ...fromRow({ ...row, ...kept }), ...(omitted.length > 0 && { omitted }) }
    })
    return { queries, total }
  },
}

const fromRow = (
  row: Pick<Selectable<AnalyticsQueryRow>, (typeof COLUMNS)[number] | 'request' | 'result'>,
): StoredQuery => ({
  id: row.id,
  federationId: row.federation_id,
  orgId: row.org_id,
  queryType: row.query_type as QueryType,
  variable: row.variable,
  request: row.request,
  status: row.status as StoredQuery['status'],
  result: row.result,
  reason: row.reason,
  createdAt: row.created_at,
})
