import type { ColumnType, Generated } from 'kysely'

/** An anonymous benchmark result: no column says who sent it or from where. */
export interface BenchmarkRow {
  id: string
  ordinal: Generated<number>
  engine: string
  /** As received, with the field names of the API. */
  report: ColumnType<object, string, never>
  /** Only the day is stored. */
  reported_on: ColumnType<Date, string, never>
}

export interface BenchmarkTables {
  benchmarks: BenchmarkRow
}
