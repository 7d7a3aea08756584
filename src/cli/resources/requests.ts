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
  const response: Row | undefined = await connection.ask((client) => {
    const call = client.request as unknown as AnyRequest
    return call(method.toLowerCase(), address, { params: { path, query }, ...(body !== null && { body }) })
  })
  // A success may have no body (204).
  return response ?? {}
}

/** The service's maximum page size. */
const PAGE = 100

export interface Pages {
  readonly rows: readonly Row[]
  /** The total number; null if the service does not count them. */
  readonly total: number | null
  /** True if there are more than requested. */
  readonly more: boolean
  /** The first page, including its fields other than the rows. */
  readonly first: Row
}

/** Reads pages, by cursor or offset, until there are `limit` rows or no more. */
export const readPages = async (
  connection: Connection,
  parts: Parts,
  { field, limit, isPaged }: { readonly field: string; readonly limit: number; readonly isPaged: boolean },
): Promise<Pages> => {
  const rows: Row[] = []
  let first: Row | null = null
  let place: Row = {}
  for (;;) {
    const requested = isPaged ? { limit: Math.min(PAGE, limit - rows.length), ...place } : {}
    const page = await send(connection, { ...parts, query: { ...parts.query, ...requested } })
    first ??= page
    const got = page[field] as readonly Row[]
    rows.push(...got)
    const total = typeof first.total === 'number' ? first.total : null
    const next = typeof page.next === 'string' ? page.next : null
    const isByCursor = 'next' in page
    const more = isPaged && got.length > 0 && (isByCursor ? next !== null : rows.length < (total ?? 0))
    if (!more || rows.length >= limit) return { rows: rows.slice(0, limit), total, more, first }
    place = isByCursor ? { after: next } : { offset: rows.length }
  }
}
