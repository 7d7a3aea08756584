import type { Generated } from 'kysely'
import type { Json } from './json-column.ts'

// Rows of the analytics module's tables; see rows.ts.

export interface AnalyticsQueryRow {
  id: string
  ordinal: Generated<number>
  federation_id: string
  org_id: string | null
  query_type: string
  variable: string
  request: Json<Record<string, unknown>>
  status: string
  result: Json<Record<string, unknown>> | null
  reason: string | null
  created_at: Date
}

export interface AnalyticsTables {
  analytics_queries: AnalyticsQueryRow
}
