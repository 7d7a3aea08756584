import type { ColumnType, Generated } from 'kysely'

/** What somebody's machine measured. Neither who sent it nor from where is a column. */
export interface BenchmarkRow {
  id: string
  ordinal: Generated<number>
  engine: string
  /** As it came, its fields by their names on the wire. */
  report: ColumnType<object, string, never>
  /** The day is all that is kept of the time. */
  reported_on: ColumnType<Date, string, never>
}

export interface BenchmarkTables {
  benchmarks: BenchmarkRow
}
