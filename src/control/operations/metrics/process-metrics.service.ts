import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { BlobStore } from '../../../platform/blobs/blob-store.ts'
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

/** Less than Prometheus waits for a response. */
const MAX_CHECK_MS = 2000

export const STORAGE_UP = {
  name: 'tributary_storage_up',
  help: `Whether the storage of models and updates responded within ${MAX_CHECK_MS / 1000} s`,
} as const

/** No stored file has this hash. */
const NO_FILE = '0'.repeat(64)

/** Adds them to `registry`, which requests their values whenever it is read. */
export const registerProcessMetrics = (
  registry: Registry,
  {
    load,
    updates,
    blobs,
  }: { readonly load: Readonly<DatabaseLoad>; readonly updates: UpdateCounts; readonly blobs: Pick<BlobStore, 'has'> },
): void => {
  const values: Readonly<Record<Name, () => number | ReadonlyMap<string, number>>> = {
    tributary_updates_accepted_total: updates.accepted,
    tributary_updates_refused_total: updates.refused,
    tributary_database_statements_total: () => load.statements,
    tributary_database_statement_seconds_total: () => load.statementSeconds,
    tributary_database_wait_seconds_total: () => load.waitSeconds,
  }
  new Gauge({
    ...STORAGE_UP,
    registers: [registry],
    async collect() {
      const responds = blobs.has(NO_FILE).then(
        () => 1,
        () => 0,
      )
      this.set(await Promise.race([responds, sleep(MAX_CHECK_MS, 0, { ref: false })]))
    },
  })
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
