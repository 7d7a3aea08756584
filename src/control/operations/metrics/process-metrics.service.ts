import { Counter, type Registry } from 'prom-client'
import type { DatabaseLoad } from '../../../platform/db/open.ts'
import { REFUSALS, type UpdateCounts } from '../../training/rounds/update-counts.service.ts'

/** Counters of `GET /metrics` that each process keeps separately. */
export const PROCESS_METRICS = [
  { name: 'tributary_updates_accepted_total', help: 'Accepted updates', labels: [] },
  {
    name: 'tributary_updates_refused_total',
    help: `Refused updates by reason: an error code, or ${Object.entries(REFUSALS)
      .map(([name, meaning]) => `${name} (${meaning})`)
      .join(', ')}`,
    labels: ['reason'],
  },
  { name: 'tributary_database_statements_total', help: 'Statements that the database has executed', labels: [] },
  {
    name: 'tributary_database_statement_seconds_total',
    help: 'Time that database statements took',
    labels: [],
  },
  {
    name: 'tributary_database_wait_seconds_total',
    help: 'Time that statements and transactions waited for a connection',
    labels: [],
  },
] as const
type Name = (typeof PROCESS_METRICS)[number]['name']

/** Adds them to `registry`, which requests their values whenever it is read. */
export const registerProcessMetrics = (
  registry: Registry,
  { load, updates }: { readonly load: Readonly<DatabaseLoad>; readonly updates: UpdateCounts },
): void => {
  const values: Readonly<Record<Name, () => number | ReadonlyMap<string, number>>> = {
    tributary_updates_accepted_total: updates.accepted,
    tributary_updates_refused_total: updates.refused,
    tributary_database_statements_total: () => load.statements,
    tributary_database_statement_seconds_total: () => load.statementSeconds,
    tributary_database_wait_seconds_total: () => load.waitSeconds,
  }
  for (const { name, help, labels } of PROCESS_METRICS) {
    new Counter({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        this.reset()
        const value = values[name]()
        if (typeof value === 'number') this.inc(value)
        else for (const [reason, count] of value) this.inc({ reason }, count)
      },
    })
  }
}
