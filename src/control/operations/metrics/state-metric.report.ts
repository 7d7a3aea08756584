import { type RawBuilder, sql } from 'kysely'

export type Row = { readonly value: number } & Readonly<Record<string, string | number>>

/** A gauge of `GET /metrics` that is read from the database: the same in every process on it. */
export interface StateMetric {
  readonly name: string
  readonly help: string
  /** Columns of its rows other than `value`. */
  readonly labels: readonly string[]
  /** Of one organization, or with null of all of them. */
  readonly rows: (now: Date, orgId: string | null) => RawBuilder<Row>
  /** Of the installation as a whole: not sent to an organization's receivers. */
  readonly isShared?: true
}

/** Rows of one metric, at most: labels that users choose must not fill a monitoring system. */
export const MAX_SERIES = 50

/** Null: of every organization. */
export const isOf = (column: string, orgId: string | null): RawBuilder<boolean> =>
  orgId === null ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} = ${orgId}`
