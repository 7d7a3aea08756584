import type { Static } from '../../platform/http/wire.schema.ts'
import type { AnovaResult, ChiSquareResult, DescriptiveResult, TTestResult } from './analytics.schema.ts'
import type { StoredQuery } from './analytics.service.ts'

/** Returns the heading of a query and the fields of its result. */
export const toResponse = <
  Schema extends typeof DescriptiveResult | typeof TTestResult | typeof AnovaResult | typeof ChiSquareResult,
>(
  query: StoredQuery,
) =>
  ({
    query_id: query.id,
    federation_id: query.federationId,
    query_type: query.queryType,
    variable: query.variable,
    status: query.status,
    created_at: query.createdAt.toISOString(),
    ...query.result,
  }) as unknown as Static<Schema>

/** Returns a query with the API's field names. */
export const present = (query: StoredQuery) => ({
  id: query.id,
  federation_id: query.federationId,
  org_id: query.orgId,
  query_type: query.queryType,
  variable: query.variable,
  request: { ...query.request },
  ...(query.omitted && { omitted: [...query.omitted] }),
  status: query.status,
  result: query.result === null ? null : { ...query.result },
  reason: query.reason,
  created_at: query.createdAt.toISOString(),
})
