import { type RawBuilder, sql } from 'kysely'

export type Row = { readonly value: number } & Readonly<Record<string, string | number>>

/** A gauge of `GET /metrics` that is read from the database, so that it is the same in every process. */
export interface StateMetric {
  readonly name: string
  readonly help: string
  /** Columns of its rows other than `value`. */
  readonly labels: readonly string[]
  /** Of one organization, or of all if it is null. */
  readonly rows: (now: Date, orgId: string | null) => RawBuilder<Row>
  /** Labels of series that are 0 if no row has them: an alert cannot compare a series that does not exist. */
  readonly always?: readonly Readonly<Record<string, string>>[]
  /** The rows are federations, without a value: the privacy accounting computes it. */
  readonly isAccounted?: true
  /** For the installation as a whole: not sent to an organization's receivers. */
  readonly isShared?: true
}

/** A series for each of these values of one label. */
export const eachOf = (label: string, values: readonly string[]): readonly Readonly<Record<string, string>>[] =>
  values.map((value) => ({ [label]: value }))

/** The maximum number of rows of one metric: labels that users choose must not fill a monitoring system. */
export const MAX_SERIES = 50

/** Null matches every organization. */
export const isOf = (column: string, orgId: string | null): RawBuilder<boolean> =>
  orgId === null ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} = ${orgId}`
