import { setTimeout as sleep } from 'node:timers/promises'
import { requireWritable } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { PrivacyService } from '../../federations/privacy.service.ts'
import { readStateMetric, STATE_METRICS, type StateMetric } from './metrics.report.ts'
import type { Row } from './state-metric.report.ts'

/** What is not computed by then is absent until the next reading, for which the accounting keeps what it has computed. */
const MAX_ACCOUNTING_MS = 5000

/** Scrapes within this time read the database only once. */
const FRESH_MS = 15_000

/** Escapes a label for the Prometheus text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
const escaped = (value: unknown): string =>
  String(value).replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')

/** Prometheus waits 10 s by default. */
const MAX_WAIT_MS = 5000
const MAX_CHECK_MS = 2000

const up = (isUp: boolean): string =>
  `# HELP tributary_database_up Whether the database responded, and accepts writes, when these values were read
# TYPE tributary_database_up gauge
tributary_database_up ${isUp ? 1 : 0}
`

export const DATABASE_IS_DOWN = up(false)

/** Metrics of the database about rounds, devices, rollouts, and so on, for `GET /metrics`. */
export const createStateMetrics = (
  { database, now, log }: Context,
  { privacy }: { readonly privacy: Pick<PrivacyService, 'committed'> },
) => {
  /** Epsilons as in `GET /federations/{id}/privacy`; a federation whose accounting fails has no value. */
  const accounted = async (federations: readonly Row[]): Promise<Row[]> => {
    const signal = AbortSignal.timeout(MAX_ACCOUNTING_MS)
    const rows: Row[] = []
    for (const row of federations) {
      try {
        rows.push({ ...row, value: await privacy.committed({ orgId: null, signal }, String(row.federation_id)) })
      } catch (error) {
        log.warn({ err: error, federation_id: row.federation_id }, 'a metric of a privacy budget could not be computed')
      }
    }
    return rows
  }

  const rowsOf = async (metric: StateMetric, orgId: string | null, at: Date): Promise<readonly Row[]> => {
    const rows = await readStateMetric(database.sql, metric, at, orgId)
    return metric.isAccounted ? accounted(rows) : rows
  }

  const isUp = (): Promise<boolean> => {
    const responds = requireWritable(database.sql).then(
      () => true,
      () => false,
    )
    return Promise.race([responds, sleep(MAX_CHECK_MS, false, { ref: false })])
  }

  let readAt = Number.NEGATIVE_INFINITY
  let isServed = true
  let latest: Promise<string> = Promise.resolve('')

  const read = async (): Promise<string> => {
    await requireWritable(database.sql)
    const at = now()
    const started = performance.now()
    const lines: string[] = []
    for (const metric of STATE_METRICS) {
      lines.push(`# HELP ${metric.name} ${metric.help}`, `# TYPE ${metric.name} gauge`)
      for (const row of await rowsOf(metric, null, at)) {
        const labels = metric.labels.map((label) => `${label}="${escaped(row[label])}"`).join(',')
        lines.push(`${metric.name}${labels === '' ? '' : `{${labels}}`} ${row.value}`)
      }
    }
    lines.push(
      '# HELP tributary_state_read_seconds How long it took to read these values from the database',
      '# TYPE tributary_state_read_seconds gauge',
      `tributary_state_read_seconds ${((performance.now() - started) / 1000).toFixed(4)}`,
    )
    return `${lines.join('\n')}\n`
  }

  return {
    /** Returns the current metrics of one organization, or of all if it is null. */
    async samples(orgId: string | null) {
      const metrics = STATE_METRICS.filter(({ isShared }) => orgId === null || isShared !== true)
      const samples = []
      for (const metric of metrics) {
        const { name, help, labels } = metric
        for (const row of await rowsOf(metric, orgId, now())) {
          const named = Object.fromEntries(labels.map((label) => [label, String(row[label])]))
          samples.push({ name, help, labels: named, value: row.value })
        }
      }
      return samples
    },

    /**
     * Returns metrics that are at most 15 seconds old; if the database does not respond or is read-only, only that. If reading
     * them takes longer than a scrape, for example because of a lock, the next scrape may have them.
     */
    async text(): Promise<string> {
      // Values that came too late for the last scrape are served once, whatever their age: others may not be faster.
      if (isServed && performance.now() - readAt > FRESH_MS) {
        isServed = false
        readAt = Number.POSITIVE_INFINITY
        latest = read()
        latest.then(
          () => {
            readAt = performance.now()
          },
          () => {
            readAt = Number.NEGATIVE_INFINITY
            isServed = true
          },
        )
      }
      const text = await Promise.race([latest.catch(() => null), sleep(MAX_WAIT_MS, undefined, { ref: false })])
      if (text === undefined) return up(await isUp())
      isServed = true
      return `${text ?? ''}${up(text !== null)}`
    },
  }
}

export type StateMetrics = ReturnType<typeof createStateMetrics>
