import type { Connection } from '../connection.ts'
import type { Row } from './resource.ts'

export interface Parts {
  /** Method and path: `GET /api/v1/devices/{device_id}`. */
  readonly request: string
  readonly path: Row
  readonly query: Row
  /** null if the request has no body. */
  readonly body: Row | null
}

/** The client's `request`, without its generated types, which are too narrow for requests from a table. */
type AnyRequest = (method: string, path: string, init: object) => Promise<{ data?: Row; response: Response }>

/**
 * Sends a request from a table (`GET /api/v1/...`) and returns the response. A test compares every request, with its parameters
 * and fields, with openapi.json.
 */
export const send = async (connection: Connection, { request, path, query, body }: Parts): Promise<Row> => {
  const [method, address] = request.split(' ') as [string, string]
  const response: Row | undefined = await connection.request((client) => {
    const call = client.request as unknown as AnyRequest
    return call(method.toLowerCase(), address, { params: { path, query }, ...(body !== null && { body }) })
  })
  // A success may have no body (204).
  return response ?? {}
}

/** The maximum page size of every list; most of them allow MAX_PAGE. */
const PAGE = 100
export const MAX_PAGE = 1000

export interface Pages<Item = Row, Page = Row> {
  readonly rows: readonly Item[]
  /** The total number; null if the service does not count them. */
  readonly total: number | null
  /** True if there are more than requested. */
  readonly more: boolean
  /** The first page, including its fields other than the rows. */
  readonly first: Page
}

interface PageQuery {
  readonly limit: number
  readonly offset?: number
  readonly after?: string
}

interface Paging {
  readonly limit?: number
  readonly pageSize?: number
  /** The service does not count the rows: one more than the limit shows that there are more. */
  readonly isUncounted?: boolean
}

/** Calls `read` with a cursor or an offset until there are `limit` rows or no more. */
export const readPages = async <Item, Page extends { readonly total?: unknown; readonly next?: unknown }>(
  read: (query: PageQuery) => Promise<Page>,
  rowsOf: (page: Page) => readonly Item[],
  { limit = Number.POSITIVE_INFINITY, pageSize = PAGE, isUncounted = false }: Paging = {},
): Promise<Pages<Item, Page>> => {
  const rows: Item[] = []
  let first: Page | null = null
  let place: Omit<PageQuery, 'limit'> = {}
  for (;;) {
    const wanted = Math.min(pageSize, limit - rows.length + (isUncounted ? 1 : 0))
    const page = await read({ limit: wanted, ...place })
    first ??= page
    const got = rowsOf(page)
    rows.push(...got)
    const total = typeof first.total === 'number' ? first.total : null
    const isLast = isUncounted ? got.length < wanted : rows.length >= (total ?? 0)
    const more = got.length > 0 && ('next' in page ? typeof page.next === 'string' : !isLast)
    if (!more || rows.length >= limit) return { rows: rows.slice(0, limit), total, more, first }
    place = typeof page.next === 'string' ? { after: page.next } : { offset: rows.length }
  }
}

/** Reads the rows of a list from a table, which may be in one response. */
export const readRows = (
  connection: Connection,
  parts: Parts,
  { field, isPaged, ...paging }: Paging & { readonly field: string; readonly isPaged: boolean },
): Promise<Pages> =>
  readPages(
    async (query) => {
      const page = await send(connection, { ...parts, query: { ...parts.query, ...(isPaged && query) } })
      return isPaged ? page : { ...page, next: null }
    },
    (page) => page[field] as readonly Row[],
    paging,
  )
